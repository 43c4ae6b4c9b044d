import { call, collect, respond, type ScriptedResponse, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import { early } from '../../test/early-calls.ts'
import {
  type AgentOptions,
  type AgentRun,
  agentTool,
  type Checkpoint,
  CheckpointConflictError,
  type CheckpointStore,
  createAgent,
  type Effect,
  interrupt,
  ModelError,
  memoryStore,
  type Tool,
  tool,
} from '../index.ts'

// Time passes between the save that announces a call and the moment in which its function is entered.

unhandledRejections()

let did: string[] = []

beforeEach(() => {
  did = []
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

type Save = CheckpointStore['save']

/** A store whose saves go through `save`, which may wait or throw before or after the real one. */
function storeWith(save: (real: Save, ...saved: Parameters<Save>) => Promise<void>): CheckpointStore {
  const inner = memoryStore()
  return { ...inner, save: (...saved) => save(inner.save.bind(inner), ...saved) }
}

const input = z.object({ ms: z.number().default(0), ask: z.boolean().default(false) })

function worker(name: string, effect: Effect, act: (ms: number, callId: string, attempt: number) => unknown): Tool {
  return tool({
    name,
    description: name,
    input,
    effect,
    ...(effect === 'reversible' && { compensate: () => void did.push(`undid ${name}`) }),
    execute({ ms, ask }, { callId, attempt, answers }) {
      if (ask && answers.length === 0) interrupt('Well?')
      return act(ms, callId, attempt)
    },
  }) as Tool
}

const noting = (name: string) => async (ms: number, _: string, attempt: number) => {
  did.push(`${name} ${attempt}`)
  if (ms > 0) await sleep(ms)
  return `${name} done`
}

const EFFECTS = { look: 'read', put: 'idempotent', hold: 'reversible', send: 'external' } as const
const tools = Object.entries(EFFECTS).map(([name, effect]) => worker(name, effect, noting(name)))

function agentOf(responses: readonly ScriptedResponse[], options: Partial<AgentOptions> = {}) {
  const model = scriptedModel(responses, { pace: { firstToken: 1, betweenTokens: 1 } })
  return createAgent({ model, tools, grace: 100, ...options })
}

async function settled(run: AgentRun) {
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(10_000)
  return await reading
}

const isAnnounced = (checkpoint: unknown, tool = 'send') =>
  (checkpoint as Checkpoint).calls.some(({ call: { name }, effect, message }) => name === tool && effect && !message)

const done = respond(say('Done'))

test('however long each save takes, there is one at a time, and a call that is not a read is entered only when the stored checkpoint contains that it has begun (MA4, L15)', async () => {
  const calls = fc.record({ name: fc.constantFrom(...Object.keys(EFFECTS)), ms: fc.nat({ max: 40 }) })
  const scenarios = fc.record({
    steps: fc.array(fc.array(calls, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 }),
    saves: fc.array(fc.nat({ max: 60 }), { minLength: 1, maxLength: 8 }),
    toolConcurrency: fc.constantFrom(1, 2, Number.POSITIVE_INFINITY),
    isEarly: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(scenarios, async ({ steps, saves, toolConcurrency, isEarly }) => {
      vi.clearAllTimers()
      let stored: Checkpoint | undefined
      let [count, open, most] = [0, 0, 0]
      const checkpoints = storeWith(async (save, id, checkpoint, expected) => {
        most = Math.max(most, ++open)
        await sleep(saves[count++ % saves.length] ?? 0)
        await save(id, checkpoint, expected)
        stored = JSON.parse(JSON.stringify(checkpoint)) as Checkpoint
        open--
      })
      const unannounced: string[] = []
      const entered: string[] = []
      const checked = Object.entries(EFFECTS).map(([name, effect]) =>
        worker(name, effect, async (ms, callId) => {
          entered.push(callId)
          const saved = stored?.calls.find(({ id }) => id === callId)
          if (effect !== 'read' && (saved?.effect !== effect || saved.attempts !== 1)) unannounced.push(callId)
          await sleep(ms)
          return callId
        }),
      )
      const responses = steps.map((calls, step) =>
        respond(...calls.map(({ name, ms }, index) => call(name, { ms }, { id: `c${step}_${index}` }))),
      )
      const ids = steps.flatMap((calls, step) => calls.map((_, index) => `c${step}_${index}`))
      const options = { tools: checked, checkpoints, toolConcurrency, ...(isEarly && { middleware: [early] }) }
      const { result } = await settled(agentOf([...responses, done], options).stream('Go'))
      expect(unannounced).toEqual([])
      expect(entered.toSorted()).toEqual(ids.toSorted())
      expect(most).toBe(1)
      expect(result?.messages.flatMap((message) => (message.role === 'tool' ? [message.output] : []))).toEqual(ids)
    }),
    propertyRuns({ small: 6, middle: 9, whole: 10_000 }),
  )
})

test('a save that was running when a call was announced does not let it start: the next one does, which contains it (MA4, L15)', async () => {
  const saved: boolean[] = []
  const checkpoints = storeWith(async (save, id, checkpoint, expected) => {
    await sleep(100)
    await save(id, checkpoint, expected)
    saved.push(isAnnounced(checkpoint))
  })
  const reading = collect(agentOf([respond(call('send')), done], { checkpoints }).stream('Go'))
  await vi.advanceTimersByTimeAsync(199)
  expect([saved, did]).toEqual([[false], []])
  await vi.advanceTimersByTimeAsync(2)
  expect([saved, did]).toEqual([[false, true], ['send 1']])
  await vi.advanceTimersByTimeAsync(1_000)
  expect((await reading).result?.text).toBe('Done')
})

interface Stop {
  readonly stop: (run: AgentRun, abort: AbortController) => unknown
  /** The outcome of the run, and what happens to the call then. */
  readonly comesTo: string
  readonly resumed?: readonly string[]
  readonly beside?: ScriptedResponse
}

const STOPS: Readonly<Record<string, Stop>> = {
  'the run is cancelled now': { stop: (run) => run.cancel(), comesTo: 'cancelled', resumed: ['send 1'] },
  'the run is cancelled after the model call': {
    stop: (run) => run.cancel({ at: 'after-model' }),
    comesTo: 'cancelled',
    resumed: ['send 1'],
  },
  'the run is cancelled in the end': {
    stop: (run) => run.cancel({ at: 'after-tools', escalateAfter: 50 }),
    comesTo: 'cancelled',
    resumed: ['send 1'],
  },
  'the run is aborted': { stop: (_, abort) => abort.abort(), comesTo: 'AbortError' },
  'the call is cancelled': { stop: (run) => run.cancelTool('c'), comesTo: 'completed' },
}

test.each(Object.keys(STOPS))(
  'a call whose announcement is being stored when %s is not entered; a resume makes it as its first attempt (MA4, C14, L15, K14)',
  async (which) => {
    const { stop, comesTo, resumed } = STOPS[which] as Stop
    const checkpoints = storeWith(async (save, id, checkpoint, expected) => {
      if (isAnnounced(checkpoint)) await sleep(500)
      await save(id, checkpoint, expected)
    })
    const abort = new AbortController()
    const agent = agentOf([respond(call('send', {}, { id: 'c' })), done], { checkpoints })
    const run = agent.stream('Go', { signal: abort.signal })
    const reading = collect(run)
    await vi.advanceTimersByTimeAsync(100)
    void stop(run, abort)
    await vi.advanceTimersByTimeAsync(5_000)
    const { result, error } = await reading
    expect([result?.status ?? (error as Error).name, did]).toEqual([comesTo, []])
    if (!resumed) return
    expect(result?.checkpoint?.calls).toMatchObject([{ id: 'c', attempts: 0 }])
    const later = await settled(agent.resume(run.id))
    expect([later.result?.text, later.result?.unknown, did]).toEqual(['Done', undefined, resumed])
  },
)

test('a call whose announcement is being stored when another call asks is not lost: it is made once, by the run or by its resume (MA4, L3)', async () => {
  const checkpoints = storeWith(async (save, id, checkpoint, expected) => {
    if (isAnnounced(checkpoint)) await sleep(500)
    await save(id, checkpoint, expected)
  })
  const calls = [call('send', {}, { id: 'c' }), call('look', { ask: true, ms: 0 }, { id: 'asks' })]
  const agent = agentOf([respond(...calls), done], { checkpoints })
  const run = agent.stream('Go')
  const { result } = await settled(run)
  expect(result?.status).toBe('interrupted')
  const answers = Object.fromEntries((result?.interrupts ?? []).map(({ id }) => [id, 'Yes']))
  const later = await settled(agent.resume(run.id, answers))
  expect([later.result?.text, later.result?.unknown]).toEqual(['Done', undefined])
  expect(did.toSorted()).toEqual(['look 2', 'send 1'])
})

test('a call whose announcement cannot be stored has not begun: the run fails, and a resume makes it as its first attempt (MA4, L16)', async () => {
  let fails = true
  const checkpoints = storeWith(async (save, id, checkpoint, expected) => {
    await sleep(10)
    if (fails && isAnnounced(checkpoint)) throw new Error('disk full')
    await save(id, checkpoint, expected)
  })
  // The stored checkpoint is from before the model call: the resume calls the model again.
  const agent = agentOf([respond(call('send')), respond(call('send')), done], { checkpoints })
  const run = agent.stream('Go')
  const { error } = await settled(run)
  expect([(error as Error).name, did]).toEqual(['CheckpointStoreError', []])
  fails = false
  const { result } = await settled(agent.resume(run.id))
  expect([result?.text, result?.unknown, did]).toEqual(['Done', undefined, ['send 1']])
})

test('a conflict at the announcement of a call ends the run: the call is not entered, nothing more is saved, and nothing is undone (MA4, L19)', async () => {
  let saves = 0
  let conflicted = 0
  const checkpoints = storeWith(async (save, id, checkpoint, expected) => {
    saves++
    await sleep(20)
    if (!isAnnounced(checkpoint, 'put')) return await save(id, checkpoint, expected)
    conflicted = saves
    throw new CheckpointConflictError(id, expected, 99)
  })
  // `hold` is done when `put` is announced, and their model call has not succeeded.
  const responses = [respond(call('hold'), wait(200), call('put'), call('look', { ms: 10 }), wait(1_000))]
  const { error } = await settled(agentOf(responses, { checkpoints, middleware: [early] }).stream('Go'))
  expect(error).toBeInstanceOf(CheckpointConflictError)
  expect(did).toEqual(['hold 1', 'look 1'])
  expect(saves).toBe(conflicted)
})

test('a process that ends after a call was announced and before it is entered leaves a call that may have happened (MA4, L21)', async () => {
  let left: Checkpoint | undefined
  const checkpoints = storeWith(async (save, id, checkpoint, expected) => {
    await save(id, checkpoint, expected)
    if (!isAnnounced(checkpoint)) return
    left = JSON.parse(JSON.stringify(checkpoint)) as Checkpoint
    await new Promise(() => undefined)
  })
  const abort = new AbortController()
  const agent = agentOf([respond(call('send', {}, { id: 'c' }))], { checkpoints })
  const reading = collect(agent.stream('Go', { signal: abort.signal }))
  await vi.advanceTimersByTimeAsync(100)
  expect([did, left?.calls[0]?.attempts]).toEqual([[], 1])
  const { result } = await settled(agentOf([done]).resume(left as Checkpoint))
  expect([result?.text, result?.unknown, did]).toEqual(['Done', ['c'], []])
  abort.abort()
  await vi.advanceTimersByTimeAsync(1_000)
  await reading
})

/** How a tool may end when it is stopped. */
const ENDS: Readonly<Record<string, (signal: AbortSignal) => Promise<unknown>>> = {
  'gives a result': () => Promise.resolve('tidied up'),
  throws: () => Promise.reject(new Error('broken')),
  'throws a question': async () => interrupt('Really?'),
  'ends the run': () => Promise.reject(new ModelError('no', { code: 'x', retryable: false })),
  'goes on': () => sleep(60),
  'never ends': () => new Promise(() => undefined),
}

test.each(['in the run', 'in a nested run'])(
  'the checkpoint of a cancel is the same whatever happens to the running calls %s: later facts change only the result (MA3, K4, K15)',
  async (where) => {
    const ends: [how: string, checkpoint: unknown, result: unknown][] = []
    for (const [how, end] of Object.entries(ENDS)) {
      const slow = tool({
        name: 'slow',
        description: 'slow',
        input,
        effect: 'read',
        execute: (_, { signal }) =>
          new Promise((resolve, reject) => {
            signal.addEventListener('abort', () => void end(signal).then(resolve, reject), { once: true })
          }),
      }) as Tool
      const asked = [
        call('slow', { ms: 1 }, { id: 'a' }),
        call('slow', { ms: 2 }, { id: 'b' }),
        call('look', {}, { id: 'c' }),
      ]
      const inner = agentOf([respond(...asked)], { tools: [slow, ...tools] })
      const isNested = where === 'in a nested run'
      const outer = respond(call('child', { request: 'Go' }, { id: 'outer' }))
      const child = agentTool(inner, { name: 'child', description: 'child' }) as Tool
      const agent = isNested ? agentOf([outer], { tools: [child] }) : inner
      const run = agent.stream('Go')
      const reading = collect(run)
      await vi.advanceTimersByTimeAsync(50)
      void run.cancel()
      await vi.advanceTimersByTimeAsync(5_000)
      const { result } = await reading
      expect([how, result?.status]).toEqual([how, 'cancelled'])
      const text = JSON.stringify(result?.checkpoint, (name, value: unknown) => (OWN.has(name) ? undefined : value))
      ends.push([how, JSON.parse(text.replace(UUID, 'run')), result?.messages])
    }
    const [[, first] = []] = ends
    expect(first).toMatchObject({ status: 'cancelled' })
    expect(ends.map(([how, checkpoint]) => [how, checkpoint])).toEqual(ends.map(([how]) => [how, first]))
    // Otherwise nothing happened that could have changed it.
    if (where === 'in the run')
      expect(new Set(ends.map(([, , result]) => JSON.stringify(result))).size).toBeGreaterThan(1)
  },
)

const OWN: ReadonlySet<string> = new Set(['checksum', 'trace'])
const UUID = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g

test('nothing is undone after a cancel: a resume that does not request the call again undoes it, once (MA3, H23)', async () => {
  const agent = agentOf([respond(call('hold'), wait(1_000)), done], { middleware: [early] })
  const run = agent.stream('Go')
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(100)
  void run.cancel()
  await vi.advanceTimersByTimeAsync(5_000)
  const { result } = await reading
  expect([result?.status, did]).toEqual(['cancelled', ['hold 1']])
  const later = await settled(agent.resume(result?.checkpoint as Checkpoint))
  expect([later.result?.text, did]).toEqual(['Done', ['hold 1', 'undid hold']])
})

test('an abort that replaces a cancel drops its checkpoint: nothing is saved, and what is discarded is undone once (MA3, K11, H23)', async () => {
  const saved: string[] = []
  const checkpoints = storeWith(async (save, id, checkpoint, expected) => {
    saved.push((checkpoint as Checkpoint).status)
    await save(id, checkpoint, expected)
  })
  const stubborn = worker('stubborn', 'read', () => sleep(80))
  const responses = [respond(call('stubborn'), call('hold'), wait(1_000))]
  const agent = agentOf(responses, { checkpoints, middleware: [early], tools: [stubborn, ...tools], grace: 500 })
  const abort = new AbortController()
  const run = agent.stream('Go', { signal: abort.signal })
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(20)
  void run.cancel()
  await vi.advanceTimersByTimeAsync(20)
  expect(did).toEqual(['hold 1'])
  abort.abort()
  await vi.advanceTimersByTimeAsync(5_000)
  expect(((await reading).error as Error).name).toBe('AbortError')
  expect(did).toEqual(['hold 1', 'undid hold'])
  expect(new Set(saved)).toEqual(new Set(['running']))
})
