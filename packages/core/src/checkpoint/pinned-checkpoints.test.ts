import { beforeEach, expect, test } from 'vitest'
import { difference } from '../../test/compare/difference.ts'
import { FORMATS, pinnedCheckpoints, resumedTrace } from '../../test/reentrant-checkpoints.ts'
import { StandingClock } from '../../test/standing-clock.ts'

// Checkpoints of runs that were called back in the midst of what they did, of each format: they are pinned, and never written anew. What comes
// of their resumes is pinned, too. It was written anew where inner calls wait for their keys (decision 47), a stop ends the wait for a save,
// nothing joins once a run halts, an execution that has not begun is no attempt, and a call is made that a settled call had made and that was
// never entered (L20).

const clock = new StandingClock()

beforeEach(() => clock.install())

test.each(FORMATS)(
  'a resume of each of 500 pinned checkpoints of format %i comes to the same result, with the same executions and events (L18, L8, L20, L21, K15)',
  async (format) => {
    const pinned = pinnedCheckpoints(format)
    expect(pinned).toHaveLength(500)
    const differences: string[] = []
    for (const [index, one] of pinned.entries()) {
      expect(one.checkpoint.format).toBe(format)
      const found = difference(one.trace, await resumedTrace(one, clock))
      if (found) differences.push(`checkpoint ${index}, ${found.text}`)
    }
    expect(differences).toEqual([])
  },
  60_000,
)
