import { call, collect, respond, type ScriptResponse, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { startingEarly, withdrawing } from '../../test/early-calls.ts'
import {
  type Agent,
  type AgentEvent,
  type AgentOptions,
  type AgentResult,
  type AgentRun,
  agentTool,
  type Checkpoint,
  createAgent,
  type Effect,
  interrupt,
  type Middleware,
  type Model,
  map,
  type ResumeOptions,
  type Run,
  type Tool,
  type ToolCall,
  type ToolContext,
  tool,
} from '../index.ts'

// A run that is interrupted or cancelled while its early calls wait for something that only their commit can bring.

unhandledRejections()

let did: string[] = []
beforeEach(() => {
  did = []
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const input = z.object({ n: z.number() })

const toolOf = (name: string, effect: Effect, execute: (context: ToolContext) => unknown): Tool =>
  tool({ name, description: name, input, effect, execute: (_, context) => execute(context) }) as Tool

const sending = (id: string, name = 'send', n = 0): ToolCall => ({ type: 'tool-call', id, name, input: { n } })

const send = toolOf('send', 'external', () => void did.push('sent'))

/** It makes a call that may do more than its own maker may. */
const relay = toolOf('relay', 'read', async ({ run, callId }) => {
  await run?.callTool(sending(`${callId} sends`))
})

const later = tool({
  name: 'later',
  description: 'l',
  input,
  background: true,
  execute: () => void did.push('sent'),
}) as Tool

/** Requested in the same response; it has settled when the model call succeeds. */
const other = toolOf('other', 'read', () => 'seen, too')

/** An agent that, after this many milliseconds, makes a call that may do more than its caller may yet. */
const expertOf = (name: string, ms: number): Tool => {
  const model = modelOf(respond(wait(ms), call('send', { n: 4 })))
  return agentTool(createAgent({ name, description: name, model, tools: [send] }), { input, effect: 'calls' }) as Tool
}

/** What an early call does. It returns what it would return otherwise or, if the pause reaches it, something else. */
interface Waiting {
  /** Default `read`. */
  readonly effect?: Effect
  readonly execute?: (run: Run, callId: string) => Promise<unknown>
  readonly wrap?: NonNullable<Middleware['wrapToolCall']>
  readonly sends?: number
  /** Whether the response itself requests a call with a stronger effect. */
  readonly third?: boolean
}

const sends = { sends: 1 }

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))

const waitings: Readonly<Record<string, Waiting>> = {
  'for its commit': { execute: (run, callId) => run.stood(callId) },
  'for its commit, and catches the error': {
    execute: async (run, callId) => await run.stood(callId).catch(() => did.push('a pause is heard of')),
  },
  'for its commit, and fails': {
    execute: (run, callId) =>
      run.stood(callId).catch(() => {
        throw new Error('a pause was heard of')
      }),
  },
  'for its commit, and asks then': {
    execute: (run, callId) => run.stood(callId).catch(() => interrupt('Why?')),
  },
  'for its commit, and never leaves its catch': {
    execute: (run, callId) => run.stood(callId).catch(() => new Promise(() => undefined)),
  },
  'for its commit, and then for its abort': {
    execute: (run, callId) => run.stood(callId).catch(() => aborted(run.signal)),
  },
  'for an inner call that must wait, and never leaves its catch': {
    ...sends,
    execute: (run, callId) => run.callTool(sending(`${callId} sends`)).catch(() => new Promise(() => undefined)),
  },
  'for the commit of another call': { execute: (run) => run.stood('other') },
  'for an inner call that must wait': { ...sends, execute: (run, callId) => run.callTool(sending(`${callId} sends`)) },
  'for a graver call, as one that only makes calls': {
    ...sends,
    effect: 'calls',
    execute: (run, callId) => run.callTool(sending(`${callId} sends`)),
  },
  'for an agent that makes a graver call': {
    ...sends,
    execute: (run, callId) => run.callTool(sending(`${callId} asks`, 'expert')),
  },
  'for an agent that makes a graver call later': {
    ...sends,
    execute: (run, callId) => run.callTool(sending(`${callId} asks`, 'slow')),
  },
  'for a graver call, and catches what it hears': {
    ...sends,
    execute: (run, callId) => run.callTool(sending(`${callId} sends`)).catch(() => undefined),
  },
  'for a call that makes a graver one': {
    ...sends,
    execute: (run, callId) => run.callTool(sending(`${callId} relays`, 'relay')),
  },
  'for a graver call in the background': {
    ...sends,
    execute: (run, callId) => run.callTool(sending(`${callId} sends`, 'later')),
  },
  'for another call of the response': { execute: (run) => run.callTool(sending('other', 'other', 2)) },
  'for another call of the response, which may not start yet': {
    ...sends,
    third: true,
    execute: (run) => run.callTool(sending('third', 'send', 3)),
  },
  'in a wrap in front of it': {
    ...sends,
    async *wrap(one, next, run) {
      await run.callTool(sending(`${one.id} sends`))
      return yield* next(one)
    },
  },
  'in a wrap behind it': {
    ...sends,
    async *wrap(one, next, run) {
      const message = yield* next(one)
      await run.callTool(sending(`${one.id} sends`))
      return message
    },
  },
  'in a wrap behind it, for its commit': {
    async *wrap(one, next, run) {
      const message = yield* next(one)
      await run.stood(one.id)
      return message
    },
  },
}

/** What stops the run, and how. */
interface Stopping {
  readonly middleware?: Omit<Middleware, 'name'>
  readonly act?: (run: AgentRun, abort: AbortController) => void
  /** Default `interrupted`. */
  readonly status?: 'cancelled' | 'completed' | 'AbortError' | 'MiddlewareError'
}

const asks = (run: Run) => {
  if (run.answers.length === 0) throw interrupt('May I?')
}

const stoppings: Readonly<Record<string, Stopping>> = {
  afterModel: { middleware: { afterModel: (_, run) => void (run.step === 1 && asks(run)) } },
  'afterModel, later': {
    middleware: {
      async afterModel(_, run) {
        await new Promise((resolve) => setTimeout(resolve, 20))
        if (run.step === 1) asks(run)
      },
    },
  },
  'a wrapModel behind its next': {
    middleware: {
      async *wrapModel(request, next, run) {
        const message = yield* next(request)
        if (run.step === 1) asks(run)
        return message
      },
    },
  },
  'a wrapModel in the middle of the response': {
    middleware: {
      wrapModel: (request, next, run) =>
        map(next(request), (event) => {
          if (event.type === 'text-delta' && run.step === 1) asks(run)
          return event
        }),
    },
  },
  'a wrapAgent in the middle of the response': {
    middleware: {
      wrapAgent: (setup, next, run) =>
        map(next(setup), (event) => {
          if (event.type === 'text-delta' && event.step === 1) asks(run)
          return event
        }),
    },
  },
  'a wrap of another early call': {
    middleware: {
      async *wrapToolCall(one, next, run) {
        if (one.name === 'other') asks(run)
        return yield* next(one)
      },
    },
  },
  'a cancel after-model': { status: 'cancelled', act: (run) => void run.cancel({ at: 'after-model' }) },
  'a cancel after-tools': { status: 'cancelled', act: (run) => void run.cancel({ at: 'after-tools' }) },
  'a cancel now': { status: 'cancelled', act: (run) => void run.cancel() },
  'an abort': { status: 'AbortError', act: (_, abort) => abort.abort() },
  'a hook that throws': {
    status: 'MiddlewareError',
    middleware: {
      afterModel() {
        throw new Error('broken')
      },
    },
  },
}

/** The response to each request depends on its history. */
function modelOf(first: ScriptResponse): Model {
  return {
    provider: 'p',
    id: 'm',
    stream(request) {
      const isFirst = request.messages.every(({ role }) => role === 'user')
      const pace = { firstToken: 1, betweenTokens: 1 }
      return scriptedModel([isFirst ? first : respond(say('Done'))], { pace }).stream(request)
    },
  }
}

interface Settled {
  readonly events: readonly AgentEvent[]
  readonly result?: AgentResult
  readonly error?: unknown
}

/** A run to its end, which must come within ten seconds. */
async function settled(run: AgentRun): Promise<Settled> {
  let over: Settled | undefined
  void collect(run).then((collected) => {
    over = collected
  })
  await vi.advanceTimersByTimeAsync(10_000)
  if (!over) throw new Error('it hangs')
  return over
}

function agentOf(
  { effect = 'read', execute, wrap, third }: Waiting,
  { middleware }: Stopping,
  isEager: boolean,
  more: Partial<AgentOptions> = {},
) {
  const look = toolOf('look', effect, async ({ run, callId }) => {
    did.push('looked')
    if (run) await execute?.(run, callId)
    return 'seen'
  })
  const calls = [call('other', { n: 2 }, { id: 'other' }), call('look', { n: 1 }, { id: 'look' })]
  if (third) calls.unshift(call('send', { n: 3 }, { id: 'third' }))
  return createAgent({
    model: modelOf(respond(...calls, wait(5), say('so'))),
    tools: [look, other, relay, send, later, expertOf('expert', 0), expertOf('slow', 60)],
    grace: 100,
    middleware: [
      { name: 'stopping', ...middleware },
      ...(wrap ? [{ name: 'waits', wrapToolCall: onlyFor('look', wrap) }] : []),
      ...(isEager ? [startingEarly({ ceiling: 'read' })] : []),
    ],
    ...more,
  })
}

function onlyFor(name: string, wrap: NonNullable<Middleware['wrapToolCall']>): typeof wrap {
  return (one, next, run) => (one.name === name ? wrap(one, next, run) : next(one))
}

const textsOf = ({ messages = [] }: Partial<AgentResult> = {}) =>
  messages.map(({ role, content }) =>
    typeof content === 'string'
      ? [role, content]
      : [role, ...content.map((part) => ('text' in part ? part.text : part.type))],
  )

const copyOf = (checkpoint: Checkpoint | undefined) => JSON.parse(JSON.stringify(checkpoint)) as Checkpoint

const answersTo = ({ interrupts = [] }: AgentResult) => Object.fromEntries(interrupts.map(({ id }) => [id, 'Yes']))

const sentTimes = () => did.filter((one) => one === 'sent').length

/** The outcome of a resume of that result. */
async function resumed(agent: Agent, result: AgentResult | undefined, options?: ResumeOptions): Promise<Settled> {
  if (!result) throw new Error('there is nothing to resume')
  return await settled(agent.resume(copyOf(result.checkpoint), answersTo(result), options))
}

const table = Object.keys(waitings).flatMap((waits) => Object.keys(stoppings).map((stops) => [waits, stops] as const))

test.each(table)('an early call that waits %s delays no run that is stopped by %s (P7, Q1)', async (waits, stops) => {
  const { [waits]: waiting = {} } = waitings
  const { [stops]: stopping = {} } = stoppings
  const calm = await settled(agentOf(waiting, {}, false).stream('Go'))
  expect(did.toSorted()).toEqual(['looked', ...Array(waiting.sends ?? 0).fill('sent')])

  for (const isEager of [true, false]) {
    did = []
    const agent = agentOf(waiting, stopping, isEager)
    const abort = new AbortController()
    const run = agent.stream('Go', { signal: abort.signal })
    setTimeout(() => stopping.act?.(run, abort), 7)
    const { result, error } = await settled(run)
    const { status = 'interrupted' } = stopping
    expect(result?.status ?? (error as Error).name).toBe(status)
    if (!result) {
      expect(sentTimes()).toBe(0)
      continue
    }
    expect(result.interrupts ?? []).toHaveLength(status === 'interrupted' ? 1 : 0)
    expect(copyOf(result.checkpoint)).toEqual(result.checkpoint)
    const later = (await resumed(agent, result)).result
    expect(later?.status).toBe('completed')
    expect(textsOf(later)).toEqual(textsOf(calm.result))
    expect(later?.unknown).toBeUndefined()
    expect(sentTimes()).toBe(waiting.sends ?? 0)
  }
})

const { afterModel = {} } = stoppings

/** The events of a call, in short. */
const told = (events: readonly AgentEvent[], id: string) =>
  events.flatMap((event): unknown[] => {
    if (!('callId' in event) || event.callId !== id) return []
    if (event.type === 'tool-start')
      return [[event.type, ...(event.provisional ? ['provisional'] : []), ...(event.rerun ? ['rerun'] : [])]]
    return event.type === 'tool-discarded' ? [[event.type, event.cause]] : [[event.type]]
  })

test('a call that a pause has cut off is reported as made again, and its next attempt counts (P7, L20)', async () => {
  const attempts: number[] = []
  const look = toolOf('look', 'read', async ({ attempt, callId, run }) => {
    attempts.push(attempt)
    await run?.stood(callId)
    return 'seen'
  })
  const agent = agentOf({}, afterModel, true, { tools: [look, other] })
  const first = await settled(agent.stream('Go'))
  expect(told(first.events, 'look')).toEqual([
    ['tool-start', 'provisional'],
    ['tool-entered'],
    ['tool-discarded', 'run_aborted'],
  ])
  const second = await resumed(agent, first.result)
  expect(told(second.events, 'look')).toEqual([['tool-start', 'rerun'], ['tool-entered'], ['tool-end']])
  expect(attempts).toEqual([1, 2])
})

test.each([
  ['is not made again, and may have happened', undefined, ['looked'], ['look']],
  ['is made again if the resume says so', ['idempotent'] as const, ['looked', 'looked'], undefined],
] as const)(
  'a call that is not a read and that a pause has cut off %s (P7, L20, L21)',
  async (_, rerun, entered, unknown) => {
    const look = toolOf('look', 'idempotent', async ({ callId, run }) => {
      did.push('looked')
      return await run?.stood(callId).catch(() => 'a pause is heard of')
    })
    const agent = agentOf({}, afterModel, false, {
      tools: [look, other],
      middleware: [{ name: 'stopping', ...afterModel.middleware }, startingEarly({ ceiling: 'idempotent' })],
    })
    const first = await settled(agent.stream('Go'))
    const { result } = await resumed(agent, first.result, rerun && { rerun })
    expect(did).toEqual(entered)
    expect(result?.unknown).toEqual(unknown)
    const message = result?.messages.find((one) => one.role === 'tool' && one.callId === 'look')
    expect(message).toMatchObject(unknown ? { isError: true } : { content: [{ text: 'look' }] })
  },
)

test.each([
  ['forever', undefined, ['look'], 113],
  ['until its signal aborts', aborted, undefined, 13],
] as const)(
  'an early call that a pause has stopped and that continues %s is aborted with the stop and abandoned after the grace time (P7, K12)',
  async (_, until, abandoned, over) => {
    const reasons: unknown[] = []
    const look = toolOf('look', 'read', async ({ callId, run, signal }) => {
      signal.addEventListener('abort', () => reasons.push((signal.reason as Error).name))
      await run?.stood(callId).catch(() => until?.(signal) ?? new Promise(() => undefined))
      return 'never seen'
    })
    const begin = performance.now()
    const run = agentOf({}, afterModel, true, { tools: [look, other] }).stream('Go')
    const took = run.result.then(() => performance.now() - begin)
    const { result } = await settled(run)
    expect(result).toMatchObject({ status: 'interrupted', interrupts: [{ payload: 'May I?' }] })
    expect(result?.abandoned).toEqual(abandoned)
    expect(reasons).toEqual(['Interrupt'])
    expect(await took).toBe(over)
    expect(JSON.stringify(result)).not.toContain('never seen')
  },
)

test('a wrap that waits after its tool when the run pauses is entered again, and its tool is not (P7, L8)', async () => {
  const { 'in a wrap behind it, for its commit': waiting = {} } = waitings
  const agent = agentOf(waiting, afterModel, true)
  const first = await settled(agent.stream('Go'))
  const { result } = await resumed(agent, first.result)
  expect(result?.status).toBe('completed')
  expect(did).toEqual(['looked'])
})

test('a call that has settled before a pause keeps its result, and its inner call that waits for its commit is made after the resume (P7, L3, L20)', async () => {
  const waiting: Waiting = {
    async execute(run, callId) {
      run.callTool(sending(`${callId} sends`)).catch(() => undefined)
    },
  }
  const agent = agentOf(waiting, afterModel, true)
  const first = await settled(agent.stream('Go'))
  expect(first.result?.status).toBe('interrupted')
  const { result } = await resumed(agent, first.result)
  expect(result?.status).toBe('completed')
  expect(did).toEqual(['looked', 'sent'])
})

test('an early call of a nested agent that waits for its commit delays neither run when a hook of that agent asks (P7, L9)', async () => {
  const waiting: Waiting = { execute: (run, callId) => run.stood(callId) }
  const inner = agentOf(waiting, afterModel, true, { name: 'inner', description: 'i' })
  const outer = createAgent({
    model: modelOf(respond(call('inner', { request: 'Go' }, { id: 'inner' }))),
    tools: [agentTool(inner)],
    middleware: [startingEarly()],
  })
  const first = await settled(outer.stream('Go'))
  expect(first.result?.interrupts).toMatchObject([{ address: [{}, { callId: 'inner' }, {}, { hook: 'afterModel' }] }])
  const { result } = await resumed(outer, first.result)
  expect(result?.status).toBe('completed')
  expect(did).toEqual(['looked', 'looked'])
})

test('the same holds for the calling run, whose nested agent goes on to its end meanwhile (P7, L3)', async () => {
  const slow = toolOf('look', 'read', async () => {
    await new Promise((resolve) => setTimeout(resolve, 50))
    did.push('looked')
    return 'seen'
  })
  const inner = agentOf({}, {}, false, { name: 'inner', description: 'i', tools: [slow, other] })
  const patient = toolOf('patient', 'read', async ({ run, callId }) => (await run?.stood(callId)) && 'patient')
  const outer = createAgent({
    model: modelOf(
      respond(call('inner', { request: 'Go' }, { id: 'inner' }), call('patient', { n: 1 }, { id: 'patient' })),
    ),
    tools: [agentTool(inner, { effect: 'read' }) as Tool, patient],
    middleware: [{ name: 'stopping', ...afterModel.middleware }, startingEarly()],
  })
  const first = await settled(outer.stream('Go'))
  expect(first.result?.status).toBe('interrupted')
  expect(did).toEqual(['looked'])
  const { result } = await resumed(outer, first.result)
  expect(textsOf(result)).toContainEqual(['tool', 'Done'])
  expect(textsOf(result)).toContainEqual(['tool', 'patient'])
  expect(did).toEqual(['looked'])
})

test('waiting for the commit of a call that has settled and is then discarded throws that (P7)', async () => {
  const heard: unknown[] = []
  const look = toolOf('look', 'read', async ({ run }) => {
    await run?.stood('other').catch((error: Error) => heard.push(error.name))
    return 'seen'
  })
  const agent = agentOf({}, {}, true, {
    tools: [look, other],
    middleware: [withdrawing('look'), startingEarly()],
  })
  const { result } = await settled(agent.stream('Go'))
  expect(result?.status).toBe('completed')
  expect(heard).toEqual(['ToolDiscardedError'])
})

test('a started call that passes on the stop of one that it waits for is not made again (P7, L7, L21)', async () => {
  const write = toolOf('write', 'external', async ({ run }) => {
    did.push('written')
    return await run?.callTool(sending('second', 'other', 2))
  })
  const busy: Tool = {
    ...toolOf('other', 'read', () => new Promise((resolve) => setTimeout(resolve, 500))),
    concurrency: 1,
  }
  const calls = [call('other', { n: 1 }, { id: 'first' }), call('write', { n: 1 }, { id: 'write' })]
  const agent = createAgent({
    model: modelOf(respond(...calls, call('other', { n: 2 }, { id: 'second' }))),
    tools: [write, busy],
  })
  const run = agent.stream('Go')
  setTimeout(() => void run.cancel({ at: 'after-model' }), 20)
  const first = await settled(run)
  expect(first.result?.status).toBe('cancelled')
  const { result } = await resumed(agent, first.result)
  expect(result?.unknown).toEqual(['write'])
  expect(did).toEqual(['written'])
})
