import { ChatOpenAI } from '@langchain/openai'
import { call, respond, say, wait } from '@meanwhile/assemble/testing'
import { mockModels } from '@meanwhile/harness'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { type Agent, human, type Played, played, shown } from '../../test/langchain.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** In blocks: a finished block seals the call in it. */
const go = async (agent: Agent): Promise<unknown> => {
  const run = await agent.streamEvents(human(), { version: 'v3' })
  return shown(await run.output)
}

/** Schemas that do not return the arguments `{"q":"a"}` as they are. Each is made again for each run. */
const schemas = {
  id: () => z.object({ q: z.string(), id: z.string().default(() => crypto.randomUUID()) }),
  'a default of today': () => z.object({ q: z.string(), day: z.string().default('today') }),
  'a counter': (count = 0) => z.object({ q: z.string().transform((q) => `${q}${count++}`) }),
}

/** The executions of five calls in one response, each sealed at once, without `eager()` and with each effect. The response ends after 100 ms. */
async function logsOf(
  schema: () => z.ZodObject,
  effects: readonly ('read' | 'idempotent')[],
  settings: Played['settings'] = {},
) {
  const logs: (readonly string[])[] = []
  for (const effect of [undefined, ...effects]) {
    const calls = ['1', '2', '3', '4', '5'].map((id) => call('look', { q: 'a' }, { id }))
    using mock = mockModels({ script: [respond(...calls, wait(100), say('x')), respond(say('done'))] })
    mock.listen()
    const model = new ChatOpenAI({
      apiKey: 'none',
      model: 'gpt',
      useResponsesApi: true,
      configuration: { baseURL: 'http://models.test/v1', fetch: mock.fetch },
    })
    const { log, warnings } = await played(
      {
        responses: [],
        effects: { look: effect },
        options: () => ({ model }),
        settings: { independent: ['look'], ...settings },
        schema,
        go,
      },
      effect !== undefined,
    )
    expect(warnings).toEqual([])
    logs.push(log)
  }
  return logs
}

async function timesOf(...given: Parameters<typeof logsOf>): Promise<number[][]> {
  return (await logsOf(...given)).map((log) => log.map((line) => Number(line.split(' ')[0])))
}

const LATE: readonly number[] = [100, 100, 100, 100, 100]
const EARLY: readonly number[] = [0, 0, 0, 0, 0]

test.for(Object.entries(schemas))(
  'a call whose schema has %s is executed once: an idempotent one when LangChain executes it, a read early (W4)',
  async ([, schema]) => {
    expect(await timesOf(schema, ['idempotent', 'read'])).toEqual([LATE, LATE, EARLY])
  },
)

test('an idempotent call starts early if its schema leaves the arguments as they are, or is fixed (W4)', async () => {
  const plain = () => z.object({ q: z.string() })
  expect(await timesOf(plain, ['idempotent'])).toEqual([LATE, EARLY])
  const settings = { schemas: { look: 'fixed' } } as const
  expect(await timesOf(schemas['a default of today'], ['idempotent'], settings)).toEqual([LATE, EARLY])
})

test('an idempotent call that starts early is executed with its arguments, although the schema changes them the second time (W4)', async () => {
  const schema = (count = 0) => z.object({ q: z.string().transform((q) => (count++ === 0 ? q : `${q} again`)) })
  const [plain, eager] = await logsOf(schema, ['idempotent'])
  expect([plain?.[0], eager?.[0]]).toEqual(['100 1 {"q":"a"}', '0 1 {"q":"a"}'])
})
