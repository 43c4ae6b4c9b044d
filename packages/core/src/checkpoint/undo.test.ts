import {
  call,
  collect,
  fail,
  respond,
  type ScriptedResponse,
  say,
  scriptedModel,
  wait,
} from '@meanwhile/assemble/testing'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { askAgain } from '../../test/again.ts'
import { sleep } from '../../test/clock.ts'
import { early, withdrawing } from '../../test/early-calls.ts'
import { toolOf } from '../../test/tools.ts'
import {
  type AgentOptions,
  type AgentRun,
  agentTool,
  type Checkpoint,
  type CheckpointStore,
  createAgent,
  type Middleware,
  map,
  memoryStore,
  type Tool,
  tool,
} from '../index.ts'

// A discarded call is undone once, also if a process ends while it is being undone.

unhandledRejections()

let did: string[] = []
let undo: () => unknown = () => undefined

beforeEach(() => {
  did = []
  undo = () => sleep(20)
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const input = z.object({ n: z.number() })

const hold = tool({
  name: 'hold',
  description: 'h',
  input,
  effect: 'reversible',
  execute({ n }, { idempotencyKey }) {
    did.push(`held ${n}`)
    return idempotencyKey
  },
  async compensate({ n }) {
    did.push(`undoes ${n}`)
    await undo()
    did.push(`undid ${n}`)
  },
}) as Tool

/** Makes a reservation through an inner call. */
const reserve = tool({
  name: 'reserve',
  description: 'r',
  input,
  effect: 'reversible',
  execute: async ({ n }, { run, callId }) =>
    (await run?.callTool({ type: 'tool-call', id: `${callId} holds`, name: 'hold', input: { n } }))?.isError,
  compensate: () => undefined,
}) as Tool

function agentOf(responses: readonly ScriptedResponse[], options: Partial<AgentOptions> = {}) {
  return createAgent({
    name: 'holder',
    model: scriptedModel(responses, { pace: { firstToken: 1, betweenTokens: 1 } }),
    tools: [hold, reserve],
    ...options,
  })
}

async function settled(run: AgentRun) {
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(10_000)
  return await reading
}

/** A store as a killed process has left it. */
async function storeOf(id: string, stored: unknown): Promise<CheckpointStore> {
  const store = memoryStore()
  if (stored !== undefined) await store.save(id, stored as Checkpoint, 0)
  return store
}

/** What is stored while the undo is running, as after a kill. */
async function killedWhileUndoing(
  responses: readonly ScriptedResponse[],
  options: Partial<AgentOptions>,
  disturb: (run: AgentRun, abort: AbortController) => void = () => undefined,
  from?: { readonly id: string; readonly store: CheckpointStore },
) {
  const checkpoints = from?.store ?? memoryStore()
  let left: unknown
  undo = async () => {
    await sleep(10)
    left ??= await checkpoints.load(run.id)
    await sleep(10)
  }
  const agent = agentOf(responses, { checkpoints, ...options })
  const abort = new AbortController()
  const { signal } = abort
  const run = from ? agent.resume(from.id, {}, { signal }) : agent.stream('Go', { signal })
  disturb(run, abort)
  await settled(run)
  expect(did.filter((deed) => deed.startsWith('undoes'))).toHaveLength(1)
  did = []
  if (left === undefined) throw new Error('nothing was stored while it was undone')
  return { id: run.id, checkpoints: await storeOf(run.id, left), left: left as Checkpoint }
}

/** Starts a call that the model has not requested yet; the final arguments are different. */
const guessing: Middleware = {
  name: 'guessing',
  wrapModel: (request, next, run) =>
    map(next(request), (event) => {
      if (event.type === 'tool-input-start')
        run.callTool({ type: 'tool-call', id: event.id, name: event.name, input: { n: 1 } }).catch(() => undefined)
      return event
    }),
}

const once = call('hold', { n: 1 }, { id: 'hold' })
const done = respond(say('Done'))

interface Discard {
  readonly responses: readonly ScriptedResponse[]
  readonly middleware: readonly Middleware[]
  readonly tools?: readonly Tool[]
  readonly disturb?: (run: AgentRun, abort: AbortController) => void
  /** Default `hold`. */
  readonly id?: string
}

const discards: Readonly<Record<string, Discard>> = {
  'a hook has removed it': { responses: [respond(once, say('so'))], middleware: [withdrawing('hold'), early] },
  'the next attempt does not request it': {
    responses: [respond(once, fail()), done],
    middleware: [askAgain, early],
  },
  'its arguments have changed': {
    responses: [respond(call('hold', { n: 2 }, { id: 'hold' }), wait(5), say('so')), done],
    middleware: [guessing],
  },
  'its response has failed': { responses: [respond(once, wait(5), fail())], middleware: [early] },
  'the run is aborted': {
    responses: [respond(once, wait(50), say('so'))],
    middleware: [early],
    disturb: (_, abort) => void setTimeout(() => abort.abort(), 20),
  },
  'an abort has replaced a cancel': {
    responses: [respond(once, wait(50), say('so'))],
    middleware: [early],
    disturb(run, abort) {
      setTimeout(() => {
        void run.cancel()
        abort.abort()
      }, 20)
    },
  },
  'the call that made it is discarded': {
    responses: [respond(call('reserve', { n: 1 }, { id: 'reserve' }), say('so'))],
    middleware: [withdrawing('reserve'), early],
    id: 'reserve holds',
  },
  'the call that made it is discarded by an abort': {
    responses: [respond(call('reserve', { n: 1 }, { id: 'reserve' }), wait(50), say('so'))],
    middleware: [early],
    disturb: (_, abort) => void setTimeout(() => abort.abort(), 20),
    id: 'reserve holds',
  },
  'its agent removes it': {
    responses: [respond(call('inner', { request: 'Go' }, { id: 'inner' })), done],
    middleware: [],
    tools: [
      agentTool(
        agentOf([respond(once, say('so'))], {
          name: 'inner',
          description: 'i',
          middleware: [withdrawing('hold'), early],
        }),
      ) as Tool,
    ],
    id: 'inner/hold',
  },
  'the run is aborted with its agent': {
    responses: [respond(call('inner', { request: 'Go' }, { id: 'inner' }), wait(50), say('so'))],
    middleware: [early],
    tools: [
      agentTool(
        agentOf([respond(once, wait(50), say('so')), done], { name: 'inner', description: 'i', middleware: [early] }),
        { effect: 'idempotent' },
      ) as Tool,
    ],
    disturb: (_, abort) => void setTimeout(() => abort.abort(), 20),
    id: 'inner/hold',
  },
}

const warned = (name: string) => ({
  code: 'compensation-failed',
  message: `${name}: the process ended while the call was being undone. It may or may not be undone; the undo is not repeated`,
  source: 'core',
})

test.each(Object.keys(discards))(
  'a call that is undone because %s, and whose process is killed meanwhile, is not undone again, and the resume reports it (P22)',
  async (why) => {
    const { [why]: { responses, middleware, tools, disturb, id = 'hold' } = { responses: [], middleware: [] } } =
      discards
    const killed = await killedWhileUndoing(responses, { middleware, ...(tools && { tools }) }, disturb)
    // The model requests the same again: that is another call, with another key.
    const script = [respond(call('hold', { n: 1 }, { id: 'again' })), done, done]
    const agent = agentOf(script, { checkpoints: killed.checkpoints, ...(tools && { tools: [hold, ...tools] }) })
    const { events, result } = await settled(agent.resume(killed.id))
    expect(did.filter((deed) => deed.startsWith('undo'))).toEqual([])
    expect(result?.warnings).toEqual([warned('hold')])
    expect(events.filter(({ type }) => type === 'warning')).toMatchObject([warned('hold')])
    expect(result?.unknown).toContain(id)
    const keys = result?.messages.flatMap((message) => (message.role === 'tool' ? [message.output] : []))
    expect(keys).not.toContain(killed.left.undos?.[0]?.key)
    expect(await killed.checkpoints.load(killed.id)).toMatchObject({ undos: [] })
  },
)

test('a call with an inner call whose undo had begun is made again, and makes the inner call again, with another key (P22, P5)', async () => {
  for (const effect of ['read', 'reversible'] as const) {
    did = []
    const tools = [hold, { ...reserve, effect }]
    const asked = call('reserve', { n: 1 }, { id: 'reserve' })
    const killed = await killedWhileUndoing([respond(asked, wait(5), fail())], { tools, middleware: [early] })
    const { result } = await settled(
      agentOf([respond(asked), done], { checkpoints: killed.checkpoints, tools }).resume(killed.id),
    )
    expect(did).toEqual(['held 1'])
    expect(result?.messages.flatMap((message) => (message.role === 'tool' ? [message.content] : []))).toEqual([
      [{ type: 'text', text: '' }],
    ])
    expect(result?.unknown).toEqual(['reserve holds'])
  }
})

test('the same holds for a resume that is killed while it undoes calls of its checkpoint (P22)', async () => {
  const checkpoints = memoryStore()
  const agent = agentOf([respond(once, wait(50), say('so'))], { checkpoints, middleware: [early] })
  const run = agent.stream('Go')
  setTimeout(() => void run.cancel(), 20)
  await settled(run)
  expect(did).toEqual(['held 1'])
  did = []
  const killed = await killedWhileUndoing([done], {}, undefined, { id: run.id, store: checkpoints })
  const { result } = await settled(agentOf([done], { checkpoints: killed.checkpoints }).resume(killed.id))
  expect(did).toEqual([])
  expect(result).toMatchObject({ status: 'completed', warnings: [warned('hold')], unknown: ['hold'] })
})

test('what a resume has reported about an undo is reported again if that resume is killed, too; nothing is undone then either (P22)', async () => {
  const { responses = [], middleware = [] } = discards['the run is aborted'] ?? {}
  const killed = await killedWhileUndoing(responses, { middleware }, discards['the run is aborted']?.disturb)
  for (const claimed of [false, true]) {
    const store = await storeOf(killed.id, killed.left)
    const slow: Middleware = {
      name: 'slow',
      beforeAgent: () => (claimed ? undefined : sleep(50)),
      async *wrapModel(request, next) {
        await sleep(50)
        return yield* next(request)
      },
    }
    const run = agentOf([done], { checkpoints: store, middleware: [slow] }).resume(killed.id)
    const reading = collect(run)
    await vi.advanceTimersByTimeAsync(20)
    const left = await store.load(killed.id)
    void run.cancel()
    await vi.advanceTimersByTimeAsync(1_000)
    const cancelled = (await reading).result
    for (const from of [left, cancelled?.checkpoint]) {
      const { result } = await settled(agentOf([done]).resume(from as Checkpoint))
      expect(result).toMatchObject({ status: 'completed', warnings: [warned('hold')], unknown: ['hold'] })
    }
  }
  expect(did).toEqual([])
})

test.each(['the run is aborted', 'its response has failed', 'a hook has removed it'])(
  'a call that was undone because %s is neither joined nor undone by a resume, which has nothing to report (P22, H23)',
  async (why) => {
    const { [why]: { responses, middleware, disturb } = { responses: [], middleware: [] } } = discards
    const checkpoints = memoryStore()
    const abort = new AbortController()
    const run = agentOf(responses, { checkpoints, middleware }).stream('Go', { signal: abort.signal })
    disturb?.(run, abort)
    await settled(run)
    expect(did).toEqual(['held 1', 'undoes 1', 'undid 1'])
    did = []
    const stored = (await checkpoints.load(run.id)) as Checkpoint
    const { result } = await settled(agentOf([respond(once), done], { checkpoints }).resume(run.id))
    expect(result).toMatchObject({ status: 'completed', warnings: [] })
    expect(result?.unknown).toBeUndefined()
    expect(did).toEqual(stored.status === 'completed' ? [] : ['held 1'])
  },
)

/** What a kill leaves of a call that has held and that no later response requests. `wrapped`: its wrap is still running. */
async function killedAfterHolding(output: unknown, wrapped: boolean) {
  const tools = [
    {
      ...toolOf('keep', () => output, {
        effect: 'reversible',
        compensate: (_, given) => void did.push(`undid ${String(given)}`),
        toContent: () => [{ type: 'text', text: 'kept' }],
      }),
      input: z.object({}),
    },
    toolOf('look', () => sleep(20)),
  ]
  const slowly: Middleware = {
    name: 'slowly',
    async *wrapToolCall(asked, next) {
      const message = yield* next(asked)
      if (wrapped && asked.name === 'keep') await sleep(1_000)
      return message
    },
  }
  const options = { tools, middleware: [slowly, early] }
  const checkpoints = memoryStore()
  // The end of the second call has saved that the first one's function is over.
  const responses = [respond(call('keep', {}), call('look', {}), wait(5_000)), done]
  const run = agentOf(responses, { ...options, checkpoints }).stream('Go')
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(300)
  const left = structuredClone(await checkpoints.load(run.id)) as Checkpoint
  await vi.advanceTimersByTimeAsync(10_000)
  await reading
  did = []
  return { left, options }
}

test.each([
  ['a text while its wrap was running', 'held', true],
  ['a text and had settled', 'held', false],
  ['nothing while its wrap was running', undefined, true],
  ['nothing and had settled', undefined, false],
])(
  'a call that returned %s when its process was killed, is undone by a resume that discards it (H23, H27)',
  async (_, output, wrapped) => {
    const { left, options } = await killedAfterHolding(output, wrapped)
    const { result } = await settled(agentOf([done], options).resume(left))
    expect(did).toEqual([`undid ${String(output)}`])
    expect(result).toMatchObject({ status: 'completed', warnings: [] })
  },
)

test('it is also undone if that resume is aborted, even after a cancel (H23, K11)', async () => {
  for (const isCancelled of [false, true]) {
    const { left, options } = await killedAfterHolding('held', true)
    const abort = new AbortController()
    const slow = [respond(wait(500), say('Done'))]
    const run = agentOf(slow, { ...options, checkpoints: await storeOf(left.runId, left) }).resume(
      left.runId,
      {},
      { signal: abort.signal },
    )
    setTimeout(() => {
      if (isCancelled) void run.cancel()
      abort.abort()
    }, 100)
    const { error } = await settled(run)
    expect(error).toMatchObject({ name: 'AbortError' })
    expect(did).toEqual(['undid held'])
  }
})

test('a call that returned a value that is not JSON is not undone after a resume, which reports that (H23)', async () => {
  const { left, options } = await killedAfterHolding(new Map([[1, 2]]), true)
  const cancelled = agentOf([respond(wait(500))], options).resume(left)
  setTimeout(() => void cancelled.cancel(), 100)
  const { checkpoint } = (await settled(cancelled)).result ?? {}
  for (const from of [left, checkpoint as Checkpoint]) {
    const { result } = await settled(agentOf([done], options).resume(from))
    const message = 'keep: it is not undone, because the checkpoint lacks its input or output, which is not JSON'
    expect(result?.warnings).toEqual([{ code: 'compensation-failed', message, source: 'core' }])
  }
  expect(did).toEqual([])
})

test.each([
  { ms: 1_000, isTakenOver: false, undoes: ['undoes 1', 'undid 1'], saves: 1 },
  { ms: 1_001, isTakenOver: false, undoes: ['undoes 1', 'undid 1'], saves: 2 },
  { ms: 1_001, isTakenOver: true, undoes: [], saves: 1 },
])(
  'an undo whose save is $ms ms old when it is about to begin is saved $saves times, and is not made if another process has taken over the run, which is $isTakenOver (DU3, P22)',
  async ({ ms, isTakenOver, undoes, saves }) => {
    const inner = memoryStore()
    let begun = 0
    const checkpoints: CheckpointStore = {
      ...inner,
      async save(id, checkpoint, expected) {
        const isUndo = (checkpoint as Checkpoint).undos.some(({ hasEnded }) => !hasEnded)
        if (isUndo) begun++
        await inner.save(id, checkpoint, expected)
        if (!isUndo || begun > 1) return
        if (isTakenOver) await agentOf([done], { checkpoints: inner }).resume(id).result
        vi.setSystemTime(Date.now() + ms)
      },
    }
    const { responses = [], middleware = [], disturb } = discards['the run is aborted'] ?? {}
    const abort = new AbortController()
    const run = agentOf(responses, { checkpoints, middleware }).stream('Go', { signal: abort.signal })
    disturb?.(run, abort)
    await settled(run)
    expect(did).toEqual(['held 1', ...undoes])
    expect(begun).toBe(saves)
  },
)

test('an undo that fails is not repeated by a resume of an aborted run, which reports it (P22, H23)', async () => {
  undo = () => {
    throw new Error('no way back')
  }
  const { responses = [], middleware = [], disturb } = discards['the run is aborted'] ?? {}
  const checkpoints = memoryStore()
  const abort = new AbortController()
  const run = agentOf(responses, { checkpoints, middleware }).stream('Go', { signal: abort.signal })
  disturb?.(run, abort)
  const { events } = await settled(run)
  expect(events).toContainEqual(expect.objectContaining({ message: 'hold: no way back' }))
  did = []
  const { result } = await settled(agentOf([done], { checkpoints }).resume(run.id))
  expect(result).toMatchObject({ warnings: [warned('hold')], unknown: ['hold'] })
  expect(did).toEqual([])
})

test('an undo that fails is over: a process that is killed in a later step leaves none that may be running (P22)', async () => {
  undo = () => {
    throw new Error('no way back')
  }
  const { responses: [first = done] = [], middleware = [] } = discards['its arguments have changed'] ?? {}
  const checkpoints = memoryStore()
  const run = agentOf([first, respond(wait(1_000), say('Done'))], { checkpoints, middleware }).stream('Go')
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(500)
  const left = structuredClone(await checkpoints.load(run.id)) as Checkpoint
  await vi.advanceTimersByTimeAsync(1_000)
  await reading
  const { result } = await settled(agentOf([done]).resume(left))
  const failure = { code: 'compensation-failed', message: 'hold: no way back', source: 'core' }
  expect(result).toMatchObject({ status: 'completed', warnings: [failure] })
})

test.each([
  [
    'fails',
    () => Promise.reject(new Error('disk full')),
    'it is not undone, because the checkpoint could not be saved:',
  ],
  ['hangs', () => new Promise<never>(() => undefined), 'it did not end within the grace time'],
] as const)(
  'a call is not undone while a store %s in which that has to be noted first; a resume undoes it (P22, L16)',
  async (_, act, problem) => {
    const { responses = [], middleware = [], disturb } = discards['the run is aborted'] ?? {}
    const inner = memoryStore()
    const abort = new AbortController()
    const checkpoints: CheckpointStore = {
      ...inner,
      save: (...saved) => (abort.signal.aborted ? act() : inner.save(...saved)),
    }
    const run = agentOf(responses, { checkpoints, middleware, grace: 100 }).stream('Go', { signal: abort.signal })
    disturb?.(run, abort)
    const { error, events } = await settled(run)
    expect(error).toMatchObject({ name: 'AbortError' })
    expect(did).toEqual(['held 1'])
    const problems = events.flatMap((event) => (event.type === 'warning' ? [event.message] : []))
    expect(problems).toEqual([expect.stringContaining(problem)])
    const { result } = await settled(agentOf([done], { checkpoints: inner }).resume(run.id))
    expect(result).toMatchObject({ status: 'completed', warnings: [] })
    expect(did).toEqual(['held 1', 'undoes 1', 'undid 1'])
  },
)

test.each(['reversible', 'idempotent'] as const)(
  'whenever the process is killed while a discarded %s call is being stopped, the resume reports that it may have happened (H23, L20, L21)',
  async (effect) => {
    const slowHold = tool({
      name: 'hold',
      description: 'h',
      input,
      effect,
      async execute() {
        did.push('held')
        // It ignores the stop.
        await sleep(150)
      },
      ...(effect === 'reversible' && {
        async compensate() {
          await sleep(50)
          did.push('undid')
        },
      }),
    }) as Tool
    const look = toolOf('look', () => sleep(10), { effect: 'idempotent' })
    const options = { tools: [slowHold, look], middleware: [withdrawing('hold'), early] }
    const looks = respond(call('look', { n: 1 }), call('look', { n: 2 }))
    const inner = memoryStore()
    const kills: { readonly left: Checkpoint; readonly hasHappened: boolean; readonly isUndone: boolean }[] = []
    const checkpoints: CheckpointStore = {
      ...inner,
      async save(id, checkpoint, expected) {
        await sleep(3)
        await inner.save(id, checkpoint, expected)
        const left = structuredClone(await inner.load(id)) as Checkpoint
        kills.push({ left, hasHappened: did.includes('held'), isUndone: did.includes('undid') })
      },
    }
    const responses = [respond(once, call('look', { n: 0 }), wait(20)), looks, looks, done]
    await settled(agentOf(responses, { ...options, checkpoints }).stream('Go'))
    const outcomes: (readonly string[])[] = []
    for (const { left, hasHappened, isUndone } of kills) {
      if (left.status !== 'running' || !hasHappened || isUndone) continue
      did = []
      const agent = agentOf([looks, done, done], { ...options, checkpoints: await storeOf(left.runId, left) })
      const { result } = await settled(agent.resume(left.runId))
      outcomes.push([...did, ...(result?.unknown ?? [])].filter((one) => one === 'undid' || one === 'hold'))
    }
    expect(outcomes.filter(([one, ...more]) => one === undefined || more.length > 0)).toEqual([])
    expect(new Set(outcomes.flat())).toEqual(new Set(['hold']))
    expect(outcomes.length).toBeGreaterThan(5)
  },
)

test('another process that has resumed an aborted run meanwhile decides on its calls: nothing else is undone (P22, L19)', async () => {
  const { responses = [], middleware = [] } = discards['the run is aborted'] ?? {}
  const checkpoints = memoryStore()
  const abort = new AbortController()
  const run = agentOf(responses, { checkpoints, middleware }).stream('Go', { signal: abort.signal })
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(20)
  const other = await settled(agentOf([respond(once), done], { checkpoints }).resume(run.id))
  abort.abort()
  await vi.advanceTimersByTimeAsync(1_000)
  await reading
  expect(other.result?.status).toBe('completed')
  expect(did).toEqual(['held 1'])
})
