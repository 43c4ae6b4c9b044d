import { BaseCallbackHandler } from '@langchain/core/callbacks/base'
import { ToolMessage } from '@langchain/core/messages'
import { AsyncLocalStorageProviderSingleton } from '@langchain/core/singletons'
import { Command, interrupt, MemorySaver, RunControl } from '@langchain/langgraph'
import {
  createMiddleware,
  humanInTheLoopMiddleware,
  tool,
  toolCallLimitMiddleware,
  toolEmulatorMiddleware,
} from 'langchain'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import {
  type Agent,
  answer,
  begin,
  human,
  later,
  looks,
  more,
  type Options,
  type Played,
  plainAndEager,
  played,
  Scripted,
  shown,
  text,
  wait,
} from '../../test/langchain.ts'
import { eager } from './index.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

// With `exactOptionalPropertyTypes` their parameters are `never`.
const guard = (interruptOn: object) => humanInTheLoopMiddleware(Object({ interruptOn }) as never)
const limit = (options: object) => toolCallLimitMiddleware(options as never)

/** Middleware that is added to the options which `eager()` has returned. */
const added =
  (...middleware: readonly object[]) =>
  (options: Options): Options =>
    ({ ...options, middleware, checkpointer: new MemorySaver() }) as Options

/** A run in its own thread per decision: each is paused, then resumed after `pause` ms. */
const deciding =
  (
    decisions: readonly (object | string)[],
    { context, pause = 0 }: { readonly context?: object; readonly pause?: number } = {},
  ) =>
  async (agent: Agent): Promise<unknown> => {
    const results: unknown[] = []
    for (const [at, decision] of decisions.entries()) {
      const config = { configurable: { thread_id: `${at}` }, ...(context && { context }) } as object
      let state = await agent.invoke(human(), config)
      if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause))
      if ('__interrupt__' in state) state = await agent.invoke(new Command({ resume: decision }), config)
      results.push(shown(state))
    }
    return results
  }

const approve = { decisions: [{ type: 'approve' }] }
const reject = { decisions: [{ type: 'reject' }] }
/** Each thread asks for one call. */
const threads = (...ids: readonly string[]) => ids.flatMap((id) => [looks(id), answer])

/** Both runs with these middlewares, in the eager one added later. */
async function both(
  middleware: readonly object[],
  one: Omit<Played, 'responses'> & Partial<Pick<Played, 'responses'>>,
) {
  const responses = one.responses ?? threads('1', '2', '3')
  const said: string[] = []
  const onWarning = ({ code, message }: { readonly code: string; readonly message: string }) =>
    void said.push(`${code}: ${message}`)
  const options = () => ({ middleware, checkpointer: new MemorySaver() })
  const plain = await played({ ...one, responses, options }, false)
  const settings = { ...one.settings, onWarning }
  const eager = await played({ ...one, responses, settings, cut: added(...middleware) }, true)
  return { plain, eager, said }
}

const addedLater: Readonly<Record<string, () => object>> = {
  HumanInTheLoopMiddleware: () => guard({ look: true }),
  ToolCallLimitMiddleware: () => limit({ runLimit: 1 }),
  'ToolCallLimitMiddleware[look]': () => limit({ toolName: 'look', runLimit: 1 }),
}

test.for(Object.keys(addedLater))(
  '%s that is added to the options of eager(): nothing starts early, with one warning (W47)',
  async (name) => {
    const decisions = [approve, reject, approve]
    const { plain, eager: came, said } = await both([addedLater[name]?.() ?? {}], { go: deciding(decisions) })
    expect(came).toEqual({ ...plain, warnings: [] })
    expect(said).toEqual([
      `approval-unknown: no tool starts early: ${name} may prevent calls and does not expose for which tools. It was added after eager(). Middleware that may prevent calls belongs into the options that eager() gets: createAgent(eager({ ...options, middleware }, …)), and list these tools in \`approval\``,
    ])
  },
)

test('with `approval`, tools that an added middleware does not guard start early (W47)', async () => {
  const {
    plain,
    eager: came,
    said,
  } = await both([guard({ send: true })], {
    go: deciding([approve, approve, approve]),
    settings: { approval: ['send'] },
  })
  expect(came.result).toEqual(plain.result)
  expect(came.log).toHaveLength(3)
  expect(came.log).not.toEqual(plain.log)
  expect(said).toEqual([])
})

/** An approval of somebody's own, of which nothing can be known before. */
const ownApproval = createMiddleware({
  name: 'own',
  afterModel: {
    canJumpTo: ['model'],
    hook({ messages }) {
      const calls: readonly { readonly id?: string }[] = Reflect.get(Object(messages.at(-1)), 'tool_calls') ?? []
      if (calls.length === 0 || interrupt('may it?') === 'yes') return undefined
      const answers = calls.map(({ id = '' }) => new ToolMessage({ content: 'no', tool_call_id: id }))
      return { messages: answers, jumpTo: 'model' }
    },
  },
})

test.for([
  ['approved', 'yes', 0],
  ['approved after `hold`', 'yes', 300],
  ['denied', 'no', 0],
  ['denied after `hold`', 'no', 300],
] as const)(
  'the first call that had started early and is %s ends early starts of its tool, with one warning (W47)',
  async ([, decision, pause]) => {
    const {
      plain,
      eager: came,
      said,
    } = await both([ownApproval], { settings: { hold: 150 }, go: deciding([decision, decision, decision], { pause }) })
    expect(came.result).toEqual(plain.result)
    const isTwice = decision === 'no' || pause > 0
    expect(came.log.filter((line) => !line.endsWith('aborted'))).toHaveLength(plain.log.length + (isTwice ? 1 : 0))
    const what =
      decision === 'yes'
        ? 'one of its calls had started early, and the run was then paused, perhaps for an approval'
        : 'one of its calls had started early, and an approval, a limit or a middleware answered or removed it'
    expect(said).toEqual([
      `call-prevented: look does not start early any more: ${what}. List look in \`approval\`. Middleware that may prevent calls belongs into the options that eager() gets: createAgent(eager({ ...options, middleware }, …))`,
    ])
  },
)

test('a pause before the tools is found in the same way (W47)', async () => {
  const go = async (agent: Agent) => {
    const results: unknown[] = []
    for (const thread_id of ['1', '2', '3']) {
      const config = { configurable: { thread_id }, interruptBefore: ['tools'] } as object
      await agent.invoke(human(), config)
      results.push(shown(await agent.invoke(null as never, config)))
    }
    return results
  }
  const { plain, eager: came, said } = await both([], { go })
  expect(came.result).toEqual(plain.result)
  expect(came.log).toHaveLength(plain.log.length)
  expect(said).toEqual([expect.stringMatching(/^call-prevented: look .*paused/)])
})

/** A middleware that takes 100 ms after each answer. */
const pausing = createMiddleware({ name: 'pausing', afterModel: () => later(100) })

/** Each stops the run of a thread between its model and its tools. */
const stops: Readonly<Record<string, (agent: Agent, config: object) => Promise<unknown>>> = {
  'that is cancelled': (agent, config) => {
    const controller = new AbortController()
    setTimeout(() => controller.abort(), 150)
    return agent.invoke(human(), { ...config, signal: controller.signal })
  },
  'that is drained': (agent, config) => {
    const control = new RunControl()
    setTimeout(() => control.requestDrain(), 150)
    return agent.invoke(human(), { ...config, control } as object)
  },
}

/** Goes on with the thread of a run that was stopped. */
const goesOn: Readonly<Record<string, (agent: Agent, config: object) => Promise<unknown>>> = {
  'and is resumed': async (agent, config) => agent.invoke(null as never, config),
  'and its call is answered': (agent, config) =>
    agent.invoke({ messages: [new ToolMessage({ content: 'stopped', tool_call_id: '1' })] }, config),
}

/** Runs that are stopped and go on, each in its own thread, and then one that is not. */
async function stopped(times: number, stop: string, next: string) {
  let last = 0
  const go = async (agent: Agent) => {
    const began = performance.now()
    for (let thread = 0; thread < times; thread++) {
      const config = { configurable: { thread_id: `${thread}` } }
      await stops[stop]?.(agent, config).catch(() => undefined)
      await goesOn[next]?.(agent, config)
    }
    last = Math.round(performance.now() - began)
    return agent.invoke(human(), { configurable: { thread_id: 'last' } })
  }
  const options = () => ({ middleware: [pausing], checkpointer: new MemorySaver() })
  const responses = threads(...Array.from({ length: times + 1 }, () => '1'))
  const { log, warnings } = await played({ responses, go, options }, true)
  return { isEarly: log.at(-1)?.startsWith(`${last} `), warnings }
}

test.for(Object.keys(stops).flatMap((stop) => Object.keys(goesOn).map((next) => [stop, next] as const)))(
  'a run %s %s: its tool still starts early, without a warning (W47)',
  async ([stop, next]) => {
    expect(await stopped(1, stop, next)).toEqual({ isEarly: true, warnings: [] })
  },
)

test.for(Object.keys(goesOn))(
  'a second run that is cancelled %s ends early starts of its tool, because a pause may have come first (W47)',
  async (next) => {
    expect(await stopped(2, 'that is cancelled', next)).toEqual({ isEarly: false, warnings: ['call-prevented'] })
  },
)

type Configured = Parameters<MemorySaver['getTuple']>[0]

/** Takes numbers, too, and stores them as strings, like the checkpointers of databases. */
class DatabaseSaver extends MemorySaver {
  #named({ configurable, ...config }: Configured): Configured {
    return { ...config, configurable: { ...configurable, thread_id: `${configurable?.thread_id}` } }
  }

  override getTuple(config: Configured): ReturnType<MemorySaver['getTuple']> {
    return super.getTuple(this.#named(config))
  }

  override put(config: Configured, ...rest: Tail<MemorySaver['put']>): ReturnType<MemorySaver['put']> {
    return super.put(this.#named(config), ...rest)
  }

  override putWrites(config: Configured, ...rest: Tail<MemorySaver['putWrites']>): Promise<void> {
    return super.putWrites(this.#named(config), ...rest)
  }
}

type Tail<Method> = Method extends (first: Configured, ...rest: infer Rest) => unknown ? Rest : never

test.for([
  [5, 5],
  [5, '5'],
  ['5', 5],
])(
  'a run of the thread %j that was paused is resumed as %j, and its early call is used (W47)',
  async ([first, then]) => {
    const go = async (agent: Agent) => {
      await agent.invoke(human(), { configurable: { thread_id: first } } as object)
      return shown(await agent.invoke(new Command({ resume: 'yes' }), { configurable: { thread_id: then } } as object))
    }
    const options = () => ({ middleware: [ownApproval], checkpointer: new DatabaseSaver() })
    const came = await played({ responses: threads('1'), go, options }, true)
    expect(came).toEqual({
      log: ['0 1 {"q":"a"}'],
      result: ['human: go', 'ai: x', 'tool 1: ok a', 'ai: done'],
      warnings: ['call-prevented'],
    })
  },
)

/** What the node of an agent does in the last step of a thread. */
const answered = ({ model, tools }: Options, thread_id: string) => {
  const node = { metadata: { langgraph_checkpoint_ns: 'model_request:1' }, configurable: { thread_id } }
  return AsyncLocalStorageProviderSingleton.runWithConfig(node, async () => model.bindTools?.(tools).invoke([], node))
}

test('a thread that was paused is resumed after a thousand other threads have got their answers (W47)', async () => {
  let other: (thread: number) => Promise<unknown> = () => Promise.reject(new Error('there is no agent'))
  const cut = (options: Options) => {
    other = (thread) => answered(options, `${thread}`)
    return added(ownApproval)(options)
  }
  const go = async (agent: Agent) => {
    const config = { configurable: { thread_id: 'paused' } } as object
    await agent.invoke(human(), config)
    for (let thread = 0; thread < 1_000; thread++) await other(thread)
    return shown(await agent.invoke(new Command({ resume: 'yes' }), config))
  }
  const came = await played({ responses: [looks(), answer], go, cut }, true)
  expect(came).toEqual({
    log: ['0 1 {"q":"a"}'],
    result: ['human: go', 'ai: x', 'tool 1: ok a', 'ai: done'],
    warnings: ['call-prevented'],
  })
})

test('a tool that a middleware emulates starts early once, then no more (W47)', async () => {
  const emulator = toolEmulatorMiddleware({ tools: ['look'], model: new Scripted([[text('emulated')]]) })
  const { plain, eager: came, said } = await both([emulator], { go: deciding([approve, approve, approve]) })
  expect(came.result).toEqual(plain.result)
  expect(came.log.filter((line) => !line.endsWith('aborted'))).toHaveLength(1)
  expect(said).toEqual([expect.stringMatching(/^call-prevented: look /)])
})

const approvals: readonly (readonly [where: string, one: Partial<Played>])[] = [
  ['`interruptOn` in the options', { options: () => ({ interruptOn: { look: true, send: false } }) }],
  [
    '`interruptOn` with a condition',
    { options: () => ({ interruptOn: { look: { allowedDecisions: ['approve'], when: () => true } } }) },
  ],
]

test.for(approvals)('%s: the tool does not start early, and the others do (W47)', async ([, { options }]) => {
  // As createDeepAgent does.
  const deep = (given: Options): Options => {
    const { interruptOn } = Object(given)
    return { ...given, middleware: [guard(interruptOn)], checkpointer: new MemorySaver() } as Options
  }
  const responses = [looks(), answer, [begin(0, '2', 'send'), more(0, '{"q":"b"}'), wait(100), text('x')], answer]
  const go = deciding([approve, approve])
  const effects = { look: 'read', send: 'read' }
  const one = { responses, go, effects, ...(options && { options }) }
  const plain = await played({ ...one, options: () => deep(options?.() as Options) }, false)
  const came = await played({ ...one, cut: deep }, true)
  expect(came.result).toEqual(plain.result)
  expect(came.warnings).toEqual([])
  expect(came.log[0]).toBe(plain.log[0])
  expect([came.log.length, came.log[1] !== plain.log[1]]).toEqual([2, true])
})

test('an `interruptOn` in the context of a run counts, too (W47)', async () => {
  const go = deciding([reject], { context: { interruptOn: { look: true } } })
  const options = () => ({ middleware: [guard({ send: true })], checkpointer: new MemorySaver() })
  const one = { responses: threads('1'), options, settings: { approval: ['send'] } }
  const came = await plainAndEager({ ...one, go })
  expect(came.eager).toEqual(came.plain)
  expect(came.plain.log).toEqual([])
  expect((await played({ ...one, go: deciding([reject]) }, true)).log).toEqual(['0 1 {"q":"a"}'])
})

const schema = z.object({ q: z.string() })

test('subagents: each has its own approvals, and gets tools, model and approvals that it lacks from the deep agent (W47)', () => {
  const [look, find] = ['look', 'find'].map((name) => tool(({ q }) => q, { name, description: name, schema }))
  const model = new Scripted([answer])
  const other = new Scripted([answer])
  const runnable: Given & { name: string; runnable: object } = { name: 'ready', runnable: {} }
  interface Given {
    readonly model?: unknown
    readonly tools?: readonly unknown[]
    readonly middleware?: readonly { readonly name: string }[]
    readonly interruptOn?: object
  }
  const given: Given & { readonly interruptOn: object; readonly subagents: readonly (Given & { name: string })[] } = {
    model,
    tools: [look],
    interruptOn: { look: true },
    subagents: [
      { name: 'own', tools: [look, find], model: other, interruptOn: {} },
      { name: 'inherits' },
      { name: 'named', model: 'openai:gpt-5', middleware: [guard({ look: true })], tools: [find] },
      runnable,
    ],
  }
  const said: string[] = []
  const changed = eager<object>(given as object, { look: 'read', find: 'read' } as object, {
    onWarning: ({ message }) => void said.push(message),
  }) as typeof given
  const [own, inherits, named, ready] = changed.subagents
  expect(own?.tools?.map((one, at) => one === given.subagents[0]?.tools?.[at])).toEqual([false, false])
  expect([own?.model === other, inherits?.model === model, named?.model, ready === runnable]).toEqual([
    false,
    false,
    'openai:gpt-5',
    true,
  ])
  expect(inherits?.tools).toBeUndefined()
  expect(named?.middleware?.map(({ name }) => name)).toEqual(['HumanInTheLoopMiddleware', 'eager-tools'])
  expect(said).toEqual([
    expect.stringContaining('no tool of the subagent named starts early: HumanInTheLoopMiddleware'),
  ])
})

test('the options of createReactAgent are refused (W47)', () => {
  expect(() => eager({ llm: new Scripted([answer]), tools: [] } as object, {})).toThrow(
    expect.objectContaining({ name: 'ConfigError', option: 'llm' }),
  )
})

class Refusing extends BaseCallbackHandler {
  override readonly name = 'refusing'
  override raiseError = true
  override awaitHandlers = true
  override handleToolStart(): never {
    throw new Error('not now')
  }
}

test('a callback whose error refuses a call is asked before the tool starts (W47)', async () => {
  vi.spyOn(console, 'error').mockReturnValue()
  const config = () => ({ callbacks: [new Refusing()] })
  const came = await plainAndEager({ responses: [looks(), answer], config })
  expect(came.eager).toEqual(came.plain)
  expect(came.plain.log).toEqual([])
  expect((await played({ responses: [looks(), answer] }, true)).log).toEqual(['0 1 {"q":"a"}'])
})

const lateTools: Readonly<Record<string, object>> = {
  'with callbacks of its own': {
    callbacks: [
      new (class extends BaseCallbackHandler {
        override readonly name = 'own'
      })(),
    ],
  },
  'that a search loads': { extras: { defer_loading: true } },
}

/** Each tool notes when it starts, from the beginning of the run. */
const noting = (log: string[], more: object) => {
  const began = performance.now()
  const work = ({ q }: { readonly q: string }) => void log.push(`${Math.round(performance.now() - began)} ${q}`)
  return tool(work, { name: 'look', description: 'looks', schema, ...more })
}

test.for(Object.keys(lateTools))('a tool %s does not start early (W47)', async (which) => {
  const starts = async (more: object | undefined, isEager: boolean) => {
    const log: string[] = []
    const options = () => ({ tools: [noting(log, { ...more })] })
    const { result } = await played({ responses: [looks(), answer], options }, isEager)
    return { log, result }
  }
  const plain = await starts(lateTools[which], false)
  expect(await starts(lateTools[which], true)).toEqual(plain)
  expect([plain.log, (await starts(undefined, true)).log]).toEqual([['100 a'], ['0 a']])
})

test('if `tools` are replaced after eager(), each call is executed once, with one warning (W47, W48)', async () => {
  const starts = async (isReplaced: boolean) => {
    const log: string[] = []
    const tools = [noting(log, {})]
    const cut = (options: Options): Options => ({ ...options, tools })
    const one = { responses: threads('1', '2'), go: (agent: Agent) => agent.invoke(human()) }
    const came = await played(isReplaced ? { ...one, cut } : { ...one, options: () => ({ tools }) }, true)
    return [log, came.log, came.warnings]
  }
  expect(await starts(true)).toEqual([['100 a'], [], ['tool-replaced']])
  expect(await starts(false)).toEqual([['0 a'], [], []])
})
