import { sized } from '@meanwhile/tests/size'
import { beforeEach, expect, test } from 'vitest'
import { difference } from '../../test/compare/difference.ts'
import { FORMATS, pinnedCheckpoints, resumedTrace } from '../../test/reentrant-checkpoints.ts'
import { StandingClock } from '../../test/standing-clock.ts'

// Checkpoints of runs that were stopped while they were running, in each format. They are pinned and never rewritten. The outcomes of their
// resumes are pinned, too. Those were rewritten when inner calls began to wait for their keys (decision 11), when a stop ended the wait for
// a save, when joins ended with the halt of a run, when an execution that has not begun no longer counted as an attempt, when calls
// were made that a settled call had made and that were never entered (L20), when no event
// was lost any more at the end of a loop inside a `wrapAgent` (W1), when the limits of an early start held after a resume, too (W4), when
// the result of a call that was cut off told what had run inside it, when a call that only asked a question was no longer said to have
// happened (L7), when the id of a new question began to contain the run, the address and the number as they are (L5), and when the keys of new
// calls began to have the SHA-256 of their input (H25); calls of these checkpoints keep their keys. The random part of an id is left out of the outcomes.

const clock = new StandingClock()

/** Of this many checkpoints one is resumed. */
const EVERY = sized({ small: 10, middle: 5, whole: 1 })

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
