/** The AI SDK, and the AI SDK with our `eager()`: a read whose schema fills in something new each time is executed twice. */

import { call, respond, say } from '@meanwhile/assemble/testing'
import { serveModels } from '@meanwhile/harness/server'
import { z } from 'zod'
import { load } from '../../../proved/libraries/load.ts'
import { exportsOf, type Load } from '../../peers/driver.ts'
import { aiSdkModels } from '../../peers/drivers/ai-sdk-models.ts'
import type { Row } from '../row.ts'

interface AiModule {
  streamText(settings: object): { readonly text: PromiseLike<string> }
  tool(settings: object): object
  stepCountIs(steps: number): object
}

interface Options {
  /** Without names in the type: the AI SDK's types are not among our dependencies. */
  readonly tools: Readonly<Record<string, object>>
}

const script = [respond(call('search', { query: 'fares' }), say('I am looking.')), respond(say('Done.'))]

async function searched(load: Load, wrap: (options: Options) => object): Promise<string> {
  const { streamText, tool, stepCountIs } = await exportsOf<AiModule>(load, 'ai', ['streamText', 'tool', 'stepCountIs'])
  const modelOf = await aiSdkModels(load)
  await using server = await serveModels({ script })
  let searches = 0
  let checks = 0
  const search = tool({
    description: 'Searches.',
    inputSchema: z.object({ query: z.string(), id: z.number().default(() => ++checks) }),
    execute: async () => `result ${++searches}`,
  })
  const options = {
    model: modelOf({ wire: 'openai-chat', url: server.url }),
    tools: { search },
    prompt: 'Fares?',
    stopWhen: stepCountIs(5),
    maxRetries: 0,
  }
  const text = await streamText(wrap(options)).text
  return `the tool ran ${searches === 1 ? 'once' : `${searches} times`}; the answer is "${text}"`
}

async function withEager(): Promise<string> {
  const { eager } = await import('@meanwhile/eager-tools/ai-sdk')
  return await searched(load, (options) => eager(options, { search: 'read' }, { onWarning: () => undefined }))
}

export const executedTwice: Row = {
  title: 'A read whose schema fills in a new id, with eager()',
  library: 'AI SDK',
  note: 'Ours is the same loop with `eager()`. It happens once for each tool, with a warning, and in few other cases; [all of them](drop-ins.md#when-your-library-executes-a-call-again).',
  test: {
    file: 'packages/eager-tools/src/ai-sdk/schemas.test.ts',
    title: 'a read whose schema returns something new each time is executed twice once, and then starts early no more',
  },
  trial: {
    folder: 'libraries',
    packages: ['ai', '@ai-sdk/openai'],
    right: 'theirs',
    theirs: async (load) => await searched(load, (options) => options),
    ours: withEager,
    expected: {
      theirs: 'the tool ran once; the answer is "Done."',
      ours: 'the tool ran 2 times; the answer is "Done."',
    },
  },
}
