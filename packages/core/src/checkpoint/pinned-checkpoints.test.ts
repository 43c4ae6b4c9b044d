import { sized } from '@meanwhile/tests/size'
import { beforeEach, expect, test } from 'vitest'
import { difference } from '../../test/compare/difference.ts'
import { FORMATS, pinnedCheckpoints, resumedTrace } from '../../test/reentrant-checkpoints.ts'
import { StandingClock } from '../../test/standing-clock.ts'

// Checkpoints of runs that were stopped while they were running, in each format. They are pinned, and so are the outcomes of their resumes. The
// checkpoints of a released format are never rewritten. The random part of an id is left out of the outcomes.

const clock = new StandingClock()

/** Of this many checkpoints one is resumed. */
const EVERY = sized({ small: 50, middle: 35, whole: 1 })

beforeEach(() => clock.install())

test.each(FORMATS)(
  'a resume of each pinned checkpoint of format %i has the same result, with the same executions and events (L18, L8, L20, L21, K15)',
  async (format) => {
    const pinned = pinnedCheckpoints(format)
    expect(pinned).toHaveLength(500)
    const differences: string[] = []
    for (const [index, one] of pinned.entries()) {
      if (index % EVERY !== 0) continue
      expect(one.checkpoint.format).toBe(format)
      const found = difference(one.trace, await resumedTrace(one, clock))
      if (found) differences.push(`checkpoint ${index}, ${found.text}`)
    }
    expect(differences).toEqual([])
  },
)
