/** The AI SDK has fixed it: a call of a response that the token limit has ended is not executed. */

import { call, end, respond, say } from '@meanwhile/assemble/testing'
import { ai } from '../../peers/drivers/ai.ts'
import { playedTrial } from '../played.ts'
import type { Row } from '../row.ts'

const input = {
  wire: 'openai-chat',
  script: [respond(call('send', { to: 'Bo', text: 'Hi.' }), end({ finishReason: 'length' })), respond(say('Done.'))],
} as const

export const wholeCall: Row = {
  title: 'A whole call of a response that the token limit has ended',
  library: 'AI SDK',
  thread: { name: 'vercel/ai#19063', status: '2026-08, closed' },
  test: {
    file: 'packages/core/src/run/finish-reasons.test.ts',
    title: 'calls of a response cut off at its length do not run; the model reads why and goes on',
  },
  trial: playedTrial({
    folder: 'libraries',
    packages: ['ai', '@ai-sdk/openai'],
    right: 'both',
    input,
    driver: ai,
    effect: 'external',
    expected: {
      theirs: 'no tool ran; the run ended without an answer',
      ours: 'no tool ran; the answer is "Done."',
    },
  }),
}
