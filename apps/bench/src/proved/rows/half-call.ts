/** pi has fixed it: a call whose response has no end is not executed with the arguments so far. */

import { call, cut, respond, say } from '@meanwhile/assemble/testing'
import { playedTrial } from '../played.ts'
import type { Row } from '../row.ts'
import { PI, pi } from './pi.ts'

const input = {
  wire: 'openai-responses',
  script: [respond(call('send', '{"to":"Bo","text":"Do not pay bef'), cut()), respond(say('Done.'))],
} as const

export const halfCall: Row = {
  title: 'A call whose stream ends in the middle of its arguments',
  library: 'pi',
  thread: { name: 'earendil-works/pi#9897', status: '2026-09, closed as no-action' },
  note: 'The thread also has a stream that goes on with `response.completed`, which was not tried.',
  test: {
    file: 'packages/assemble/src/response-ends.test.ts',
    title: 'without a terminal event nothing more is sealed, and what arrived is partial',
  },
  trial: playedTrial({
    folder: 'libraries',
    packages: PI,
    right: 'both',
    input,
    driver: (load) => pi(load),
    effect: 'external',
    expected: {
      theirs: 'no tool ran; the run failed: OpenAI Responses stream ended before a terminal response event',
      ours: 'no tool ran; the run failed: the response was cut off: its stream had no terminal event',
    },
  }),
}
