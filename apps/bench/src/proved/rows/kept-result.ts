/** Mastra: a call has run early, the connection breaks, and another model takes over. It reads the call and its result. */

import { call, respond, say, wait } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { serveModels } from '@meanwhile/harness/server'
import { fallbackModel } from '@meanwhile/middleware'
import { z } from 'zod'
import { modelOf } from '../../agents.ts'
import { exportsOf, type Load } from '../../peers/driver.ts'
import { aiSdkModels } from '../../peers/drivers/ai-sdk-models.ts'
import type { Row } from '../row.ts'

interface AgentModule {
  readonly Agent: new (
    settings: object,
  ) => {
    stream(prompt: string, options: object): Promise<{ consumeStream(): Promise<void> }>
  }
}

type ToolsModule = Readonly<Record<'createTool', (settings: object) => object>>

/** The wait lets the tool end before the connection breaks. */
const script = [
  {
    ...respond(
      call('search', { query: 'fares' }),
      wait(1_000),
      say('I am looking, and shall tell you.', { deltas: 2 }),
    ),
    fault: { after: { events: 12 }, end: 'reset' },
  },
  respond(say('Done.')),
] as const

const RESULT = 'It costs 30.'

/** Runs on a server that breaks off once, and says what the second model reads. */
async function read(run: (url: string, search: () => string) => Promise<unknown>): Promise<string> {
  await using server = await serveModels({ script })
  let searches = 0
  await run(server.url, () => {
    searches++
    return RESULT
  })
  const [, second] = await server.requests()
  if (second === undefined) throw new Error('no other model has taken over')
  const isTold = JSON.stringify(second.body).includes(RESULT)
  return `the tool ran ${searches === 1 ? 'once' : `${searches} times`}; the other model reads ${isTold ? 'its result' : 'nothing of it'}`
}

async function theirs(load: Load): Promise<string> {
  const { Agent } = await exportsOf<AgentModule>(load, '@mastra/core/agent', ['Agent'])
  const { createTool } = await exportsOf<ToolsModule>(load, '@mastra/core/tools', ['createTool'])
  const models = await aiSdkModels(load)
  return await read(async (url, search) => {
    const inputSchema = { type: 'object', properties: { query: { type: 'string' } } }
    const model = { model: models({ wire: 'anthropic', url }), maxRetries: 0 }
    const agent = new Agent({
      id: 'search',
      name: 'search',
      instructions: 'Search.',
      model: [model, model],
      tools: {
        search: createTool({ id: 'search', description: 'Searches.', inputSchema, execute: async () => search() }),
      },
    })
    const run = await agent.stream('Fares?', { maxSteps: 5 })
    await run.consumeStream()
  })
}

async function ours(): Promise<string> {
  return await read(async (url, search) => {
    const input = z.strictObject({ query: z.string() })
    const tools = [tool({ name: 'search', description: 'Searches.', input, effect: 'read', execute: search })]
    const model = modelOf('anthropic', { url })
    const middleware = [fallbackModel({ models: [modelOf('anthropic', { url })] }), eagerTools()]
    await createAgent({ model, tools, middleware }).run('Fares?')
  })
}

export const keptResult: Row = {
  title: 'A call that has run, when another model takes over',
  library: 'Mastra',
  thread: { name: 'mastra-ai/mastra#24211' },
  note: 'The thread is the change that brought early tools. Ours keeps a result only for a response that makes the same call; if the other model does, the tool is not executed again.',
  test: {
    file: 'packages/eager-tools/src/retry.test.ts',
    title: 'calls that no later attempt contains are discarded when the model call has succeeded, and not before',
  },
  trial: {
    folder: 'libraries',
    packages: ['@mastra/core', '@ai-sdk/anthropic'],
    right: 'theirs',
    theirs,
    ours,
    expected: {
      theirs: 'the tool ran once; the other model reads its result',
      ours: 'the tool ran once; the other model reads nothing of it',
    },
  },
}
