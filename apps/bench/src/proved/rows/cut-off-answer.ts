/** The AI SDK: an answer whose stream ended without its last event. Its finish reason says that now. */

import { cut, respond, say } from '@meanwhile/assemble/testing'
import { serveModels } from '@meanwhile/harness/server'
import { exportsOf, type Load } from '../../peers/driver.ts'
import { ai } from '../../peers/drivers/ai.ts'
import { aiSdkModels } from '../../peers/drivers/ai-sdk-models.ts'
import { own, played } from '../played.ts'
import type { Row } from '../row.ts'

interface AiModule {
  streamText(settings: object): { readonly finishReason: PromiseLike<string> }
}

const input = { wire: 'openai-chat', script: [respond(say('Bo knows: do not pay'), cut())] } as const

async function finishReason(load: Load): Promise<string> {
  const { streamText } = await exportsOf<AiModule>(load, 'ai', ['streamText'])
  const modelOf = await aiSdkModels(load)
  await using server = await serveModels({ script: input.script })
  const model = modelOf({ wire: input.wire, url: server.url })
  return await streamText({ model, prompt: 'Tell Bo.', maxRetries: 0 }).finishReason
}

export const cutOffAnswer: Row = {
  title: 'An answer whose stream ends cleanly, without its last event',
  library: 'AI SDK',
  thread: { name: 'vercel/ai#19165', status: '2026-08, closed', isRelated: true },
  note: 'The thread is about a sibling, `@ai-sdk/openai-compatible`. An application has to look at the finish reason; ours fails. If the connection is reset, the AI SDK fails, too.',
  test: {
    file: 'packages/assemble/src/response-ends.test.ts',
    title: 'without a terminal event nothing more is sealed, and what arrived is partial',
  },
  trial: {
    folder: 'libraries',
    packages: ['ai', '@ai-sdk/openai'],
    right: 'both',
    theirs: async (load) => `${await played(await ai(load), input)}; its finish reason is ${await finishReason(load)}`,
    ours: async () => await played(own('read'), input),
    expected: {
      theirs: 'no tool ran; the answer is "Bo knows: do not pay"; its finish reason is interrupted',
      ours: 'no tool ran; the run failed: the response was cut off: its stream had no terminal event',
    },
  },
}
