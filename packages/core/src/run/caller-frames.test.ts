import { call, collect, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import {
  AgentError,
  type AgentOptions,
  type AgentRun,
  createAgent,
  type Middleware,
  type Tool,
  tool,
} from '../index.ts'

/** How often the stack names this file in a frame of the function. */
function framesOf(error: unknown, name: string): number {
  const stack = error instanceof Error ? String(error.stack) : ''
  return stack
    .split('\n')
    .filter((line) => new RegExp(`\\b${name}\\b`).test(line) && line.includes('caller-frames.test.ts')).length
}

const thrown = (promise: PromiseLike<unknown>): Promise<unknown> =>
  Promise.resolve(promise).then(
    () => expect.unreachable('the run has ended with a result'),
    (error: unknown) => error,
  )

const agentOf = (options: Partial<AgentOptions> = {}) =>
  createAgent({ model: scriptedModel([respond(say('Hello'))]), ...options })

/** Throws this in a hook, long after the run was started. */
const throws = (error: unknown): Middleware => ({
  name: 'throws',
  async beforeModel() {
    await Promise.resolve()
    throw error
  },
})

const look = tool({ name: 'look', description: '.', input: z.object({}), execute: () => 'seen' }) as Tool
const looking = () => scriptedModel([respond(call('look')), respond(call('look'))])

const WRONG: Readonly<Record<string, (input?: string) => PromiseLike<unknown>>> = {
  'an invalid input': function startsRun() {
    return agentOf().run('')
  },
  'an invalid option': function startsRun() {
    return agentOf().run('Go', { id: 7 as never })
  },
  'an error of a hook': function startsRun() {
    return agentOf({ middleware: [throws(new Error('broken'))] }).run('Go')
  },
  'an error of the model': function startsRun() {
    return agentOf({ model: scriptedModel([]) }).run('Go')
  },
  'a limit of steps': function startsRun() {
    return agentOf({ model: looking(), tools: [look], maxSteps: 1 }).run('Go')
  },
  'an abort': function startsRun() {
    return agentOf().run('Go', { signal: AbortSignal.abort() })
  },
  'the result of a stream': function startsRun() {
    return agentOf({ middleware: [throws(new Error('broken'))] }).stream('Go').result
  },
  'the events of a stream': function startsRun() {
    return collect(agentOf({ middleware: [throws(new Error('broken'))] }).stream('Go')).then(({ error }) => {
      throw error
    })
  },
  'a resume': function startsRun() {
    return agentOf().resume('nothing').result
  },
}

test.for(Object.keys(WRONG))(
  '%s ends a run with an error whose stack has the code that started the run (C17)',
  async (what) => {
    const error = await thrown(WRONG[what]?.() ?? Promise.resolve())
    expect(framesOf(error, 'startsRun')).toBe(1)
    expect((error as Error).stack).toMatch(/^\w*Error: /)
  },
)

test('an error that ends many runs has the frames of each start once (C17)', async () => {
  const shared = new AgentError('the account is closed')
  const agent = agentOf({ middleware: [throws(shared)] })
  const lengths: unknown[] = []
  for (let time = 0; time < 50; time++) {
    expect(await thrown(agent.run('Go'))).toBe(shared)
    expect(await thrown(agent.stream('Go').result)).toBe(shared)
    lengths.push(shared.stack?.length)
  }
  expect(new Set(lengths.slice(1)).size).toBe(1)
})

test('a run in a tool adds its start, and the run around it adds its own (C17)', async () => {
  const inner = agentOf({ middleware: [throws(new Error('broken'))] })
  const asks = tool({
    name: 'ask',
    description: '.',
    input: z.object({}),
    execute: function startsInner() {
      return inner.run('Go')
    },
  }) as Tool
  const outer = agentOf({ model: scriptedModel([respond(call('ask'))]), tools: [asks] })
  function startsOuter(): Promise<unknown> {
    return outer.run('Go')
  }
  const error = await thrown(startsOuter())
  expect([framesOf(error, 'startsInner'), framesOf(error, 'startsOuter')]).toEqual([1, 1])
})

class NoStack extends AgentError {
  override get stack(): string {
    throw new TypeError('no stack')
  }
}

test('an error is passed on as it is if its stack cannot be read or changed (C17)', async () => {
  for (const error of [
    Object.freeze(new AgentError('frozen')),
    Object.defineProperty(new AgentError('hidden'), 'stack', {
      get: () => {
        throw new TypeError('no stack')
      },
    }),
    Object.defineProperty(new AgentError('none'), 'stack', { value: undefined }),
    new NoStack('of a class'),
  ])
    expect(await thrown(agentOf({ middleware: [throws(error)] }).run('Go'))).toBe(error)
})

test('if stack traces are not text, an error ends the run and its events as before (C17)', async () => {
  const { prepareStackTrace } = Error
  Error.prepareStackTrace = () => ({ frames: 0 })
  try {
    const error = new AgentError('broken')
    const run = agentOf({ middleware: [throws(error)] }).stream('Go')
    await collect(run)
    expect(await thrown(run.result)).toBe(error)
  } finally {
    if (prepareStackTrace) Error.prepareStackTrace = prepareStackTrace
    else Reflect.deleteProperty(Error, 'prepareStackTrace')
  }
})

test('without stack traces, an error ends the run as before (C17)', async () => {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    const run: AgentRun = agentOf({ middleware: [throws(new AgentError('broken'))] }).stream('Go')
    expect(await thrown(run.result)).toMatchObject({ message: 'broken' })
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
})
