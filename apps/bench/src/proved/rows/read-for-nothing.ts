/** A read that started early, of a response that then has no end: ours has run it for nothing, the AI SDK has not. */

import { call, cut, respond } from '@meanwhile/assemble/testing'
import { ai } from '../../peers/drivers/ai.ts'
import { playedTrial } from '../played.ts'
import type { Row } from '../row.ts'

const input = { wire: 'openai-responses', script: [respond(call('send', { to: 'Bo', text: 'Hi.' }), cut())] } as const

export const readForNothing: Row = {
  title: 'A read of a response whose end is missing',
  library: 'AI SDK',
  thread: { name: 'vercel/ai#19063', status: '2026-08, closed' },
  note: 'Ours starts a tool that is declared `read` while the response is streaming; its result is dropped with the response.',
  test: {
    file: 'packages/eager-tools/src/discard.test.ts',
    title: 'a read of a response whose end is missing has run for nothing: its result is dropped with the response',
  },
  trial: playedTrial({
    folder: 'libraries',
    packages: ['ai', '@ai-sdk/openai'],
    right: 'theirs',
    input,
    driver: ai,
    effect: 'read',
    expected: {
      theirs: 'no tool ran; the run ended without an answer',
      ours: 'the tool ran with {"to":"Bo","text":"Hi."}; the run failed: the response was cut off: its stream had no terminal event',
    },
  }),
}
