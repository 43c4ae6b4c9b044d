import { setTimeout as sleep } from 'node:timers/promises'
import { ChatOpenAI } from '@langchain/openai'
import { call, fail, respond, say, wait } from '@meanwhile/assemble/testing'
import { mockModels } from '@meanwhile/harness'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { createAgent, modelRetryMiddleware, type ToolRuntime, tool } from 'langchain'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { eager } from './index.ts'

unhandledRejections()

type Script = NonNullable<NonNullable<Parameters<typeof mockModels>[0]>['script']>

interface Case {
  readonly script: Script
  readonly middleware?: readonly unknown[]
  readonly signal?: () => AbortSignal
  readonly work?: (runtime: ToolRuntime) => unknown
}

const retrying = [modelRetryMiddleware({ maxRetries: 1, initialDelayMs: 5, jitter: false })]
const slow = ({ signal }: ToolRuntime) => sleep(100, 'sunny', { signal })

/** The tool events of `streamEvents` v3, and the end of the run. */
async function streamed({ script, middleware = [], signal, work = slow }: Case, isEager: boolean) {
  using mock = mockModels({ script })
  mock.listen()
  const model = new ChatOpenAI({
    apiKey: 'none',
    model: 's',
    maxRetries: 0,
    configuration: { baseURL: 'http://models.test/v1', fetch: mock.fetch },
  })
  const schema = z.object({ q: z.string() })
  const look = tool((_, runtime: ToolRuntime) => work(runtime), { name: 'look', description: 'looks', schema })
  const given: object = { model, tools: [look], middleware }
  const options = isEager ? eager<object>(given, { look: 'read' }, { onWarning: () => undefined }) : given
  const agent = createAgent(options as Parameters<typeof createAgent>[0])
  const events: string[] = []
  const config = { version: 'v3' as const, ...(signal && { signal: signal() }) }
  let result: unknown
  try {
    const run = await agent.streamEvents({ messages: [{ role: 'user', content: 'go' }] }, config)
    for await (const { method, params } of run) {
      if (method !== 'tools') continue
      const { event, tool_call_id } = Object(params.data)
      events.push(`${event} ${tool_call_id}`)
    }
    result = (await run.output).messages.at(-1)?.text
  } catch (error) {
    result = String(error)
  }
  // Long enough for discarded calls to settle.
  await sleep(150)
  return { events, result }
}

const look = call('look', { q: 'a' }, { id: '1' })
const asked = respond(look, say('x y z'), wait(30))
const broken = respond(look, say('x y z'), wait(30), fail())
const done = respond(say('done'))
const finished = ['tool-started 1', 'tool-finished 1']

const cases: Readonly<Record<string, Case & { readonly events: readonly string[] }>> = {
  'a response that breaks, and is asked for again without the call': {
    script: [broken, done],
    middleware: retrying,
    events: [],
  },
  'a response that breaks, and with it the run': { script: [broken], events: [] },
  'a read that has failed before its response breaks': {
    script: [broken, done],
    middleware: retrying,
    work: () => {
      throw new Error('broken')
    },
    events: [],
  },
  'a run that is aborted while the model streams': {
    script: [respond(look, say('x y z'), wait(200))],
    signal: () => AbortSignal.timeout(50),
    events: [],
  },
  'a tool that the agent executes itself, as it reads the state': {
    script: [asked, done],
    work: ({ state }) => `${Object(state).messages.length} messages`,
    events: finished,
  },
  'a read that is joined': { script: [asked, done], events: finished },
}

test.for(Object.entries(cases))(
  'streamEvents v3: %s: the same tool events, and no unhandled rejection (R7, R12)',
  async ([, { events, ...one }]) => {
    const plain = await streamed(one, false)
    const early = await streamed(one, true)
    expect(plain.events).toEqual(events)
    expect(early).toEqual(plain)
  },
)
