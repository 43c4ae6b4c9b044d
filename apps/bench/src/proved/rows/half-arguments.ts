/** LangChain: a call whose arguments the token limit has cut off is executed with a part of them. */

import { call, end, respond, say } from '@meanwhile/assemble/testing'
import { langchain } from '../../peers/drivers/langchain.ts'
import { playedTrial } from '../played.ts'
import type { Row } from '../row.ts'

const input = {
  wire: 'openai-chat',
  script: [
    respond(call('send', '{"to":"Bo","text":"Do not pay bef'), end({ finishReason: 'length' })),
    respond(say('Done.')),
  ],
} as const

export const halfArguments: Row = {
  title: 'A call whose arguments are cut off by the token limit',
  library: 'LangChain',
  thread: { name: 'langchain-ai/langchainjs#11469', status: '2026-08, open' },
  note: 'Only if the model streams: of the same answer as a whole response (`invoke`) no tool ran, tried once without a script.',
  test: {
    file: 'packages/core/src/run/finish-reasons.test.ts',
    title: 'calls of a response cut off at its length do not run; the model reads why and goes on',
  },
  trial: playedTrial({
    folder: 'libraries',
    packages: ['langchain', '@langchain/core', '@langchain/langgraph', '@langchain/openai'],
    right: 'ours',
    input,
    driver: langchain,
    effect: 'external',
    expected: {
      theirs: 'the tool ran with {"to":"Bo","text":"Do not pay bef"}; the answer is "Done."',
      ours: 'no tool ran; the answer is "Done."',
    },
  }),
}
