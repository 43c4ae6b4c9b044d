import { call, collect, respond, type ScriptedResponse, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { sized } from '@meanwhile/tests/size'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import {
  type AgentOptions,
  type AgentResult,
  type AgentRun,
  agentTool,
  type Checkpoint,
  CheckpointConflictError,
  type CheckpointStore,
  createAgent,
  type Effect,
  interrupt,
  type Model,
  ModelError,
  memoryStore,
  type StoredCheckpoint,
  tool,
} from '../index.ts'

// When a run is saved, and what happens if a store fails, hangs or is slow.

let did: string[] = []

beforeEach(() => {
  did = []
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const never = () => new Promise<never>(() => undefined)

const worker = (name: string, effect: Effect) =>
  tool({
    name,
    description: name,
    input: z.looseObject({ ms: z.number().default(0) }),
    effect,
    ...(effect === 'reversible' && { compensate: () => undefined }),
    async execute({ ms, ask }, { answers }) {
      did.push(name)
      if (ms > 0) await sleep(ms)
      if (ask && answers.length === 0) throw interrupt('ask')
      return `${name} done`
    },
  })

const tools = [
  worker('read', 'read'),
  worker('put', 'idempotent'),
  worker('hold', 'reversible'),
  worker('send', 'external'),
]

/** What each save contained, in short: status, phase, and whether each call had started or settled. */
function inShort({ status, steps: { current }, calls }: Checkpoint): string {
  const ofCalls = calls.map(({ call: { name }, effect, message }) =>
    message ? `${name} settled` : effect ? `${name} started` : `${name} open`,
  )
  return [status, current ? `${current.number} ${current.phase}` : 'between', ...ofCalls].join(', ')
}

/** A store that logs each save, and may do something before it saves. */
function storeThat(act: (save: string, count: number) => unknown = () => undefined) {
  const saves: string[] = []
  const inner = memoryStore()
  const store: CheckpointStore = {
    ...inner,
    async save(id: string, checkpoint: StoredCheckpoint, expected: number) {
      const save = inShort(checkpoint as Checkpoint)
      saves.push(save)
      await act(save, saves.length)
      await inner.save(id, checkpoint, expected)
    },
  }
  return { store, saves }
}

function agentOf(responses: readonly ScriptedResponse[], options: Omit<AgentOptions, 'model'> = {}) {
  const model = scriptedModel(responses)
  return { model, agent: createAgent({ model, tools, ...options }) }
}

async function settled(run: AgentRun) {
  const reading = collect(run)
  await vi.runAllTimersAsync()
  return await reading
}

/** What the model reads for the first call. */
function textOf(result: AgentResult | undefined): string | undefined {
  const part = result?.messages.find(({ role }) => role === 'tool')?.content[0]
  return typeof part === 'object' && part.type === 'text' ? part.text : undefined
}

const saysNo = () => {
  throw new Error('disk full')
}

test('a run is saved when a model call has succeeded, a call is about to start or has settled, a step is complete, and at its end (L15)', async () => {
  const { store, saves } = storeThat(() => sleep(1))
  const responses = [respond(call('read', { ms: 50 }), call('send', { ms: 100 })), respond(say('Done'), wait(20))]
  const { agent } = agentOf(responses, { checkpoints: store })
  await settled(agent.stream('Go'))
  expect(saves).toEqual([
    'running, 1 before-model',
    'running, 1 calls, read started, send started',
    'running, 1 calls, read settled, send started',
    'running, between',
    'running, 2 model',
    'completed, between',
  ])
})

test('the checkpoints of a run share the messages that they have in common, as frozen JSON (L13, W62)', async () => {
  const inner = memoryStore()
  const checkpoints: Checkpoint[] = []
  const store: CheckpointStore = {
    ...inner,
    async save(id, checkpoint, expected) {
      checkpoints.push(checkpoint as Checkpoint)
      await inner.save(id, checkpoint, expected)
    },
  }
  const { agent } = agentOf([respond(call('send')), respond(say('Done'))], { checkpoints: store })
  const { result } = await settled(
    agent.stream([
      {
        role: 'user',
        content: [{ type: 'text', text: 'Go', providerMetadata: { at: new Date(0) as never, no: undefined } }],
      },
    ]),
  )
  const last = checkpoints.at(-1)
  expect(last?.messages).toHaveLength(4)
  expect(last).toStrictEqual(JSON.parse(JSON.stringify(last)))
  for (const { messages } of checkpoints) {
    for (const [index, message] of messages.entries()) expect(message).toBe(last?.messages[index])
    expect(messages.every((message) => Object.isFrozen(message.content))).toBe(true)
  }
  expect(result?.messages[0]?.content[0]).toMatchObject({ providerMetadata: { at: new Date(0) } })
})

test('however often a run is saved, each message is read once for the checksums of its checkpoints (W62)', async () => {
  const saved = new Set<unknown>()
  const inner = memoryStore()
  const store: CheckpointStore = {
    ...inner,
    async save(id, checkpoint, expected) {
      for (const message of (checkpoint as Checkpoint).messages) saved.add(message)
      await inner.save(id, checkpoint, expected)
    },
  }
  const read = vi.spyOn(Object, 'entries')
  const input = Array.from({ length: 50 }, (_, n) => ({ role: 'user', content: `${n}` }) as const)
  const steps = Array.from({ length: 10 }, () => respond(call('send')))
  const { agent } = agentOf([...steps, respond(say('Done'))], { checkpoints: store })
  await settled(agent.stream(input))
  const times = new Map([...saved].map((message) => [message, 0]))
  for (const [one] of read.mock.calls) if (times.has(one)) times.set(one, (times.get(one) ?? 0) + 1)
  read.mockRestore()
  expect([...times.values()]).toEqual(Array.from({ length: 71 }, () => 1))
})

test('a save that nobody waits for begins 10 ms after the first call asked for it, and contains what has settled since (W33, L15)', async () => {
  const times: number[] = []
  const begun = Date.now()
  const { store, saves } = storeThat(() => times.push(Date.now() - begun))
  const calls = [100, 105, 109, 111, 500].map((ms) => call('read', { ms }))
  const { agent } = agentOf([respond(...calls), respond(say('Done'), wait(50))], { checkpoints: store })
  await settled(agent.stream('Go'))
  const settledIn = saves.map((save) => save.match(/settled/g)?.length ?? 0)
  // At the end of a step, and of the run, a save begins at once.
  expect(times.map((time, index) => [time, settledIn[index]])).toEqual([
    [0, 0],
    [10, 0],
    [110, 3],
    [121, 4],
    [500, 0],
    [510, 0],
    [550, 0],
  ])
})

test.each(['aborted', 'cancelled', 'failing'])(
  'if a run is %s while a save waits, the save begins at once: the calls that have settled keep their results (W33, K1)',
  async (how) => {
    const stored: Checkpoint[] = []
    const { store } = storeThat()
    const save: CheckpointStore['save'] = async (id, checkpoint, expected) => {
      if ((checkpoint as Checkpoint).status === 'running') stored.push(checkpoint as Checkpoint)
      await store.save(id, checkpoint, expected)
    }
    const fail = tool({
      ...worker('fail', 'read'),
      execute: async () => {
        await sleep(105)
        throw new ModelError('no', { code: 'x', retryable: false })
      },
    })
    const named = [call('read', { ms: 100 }, { id: 'a' }), call('send', { ms: 500 }, { id: 'b' })]
    const calls = how === 'failing' ? [...named, call('fail', {}, { id: 'c' })] : named
    const { agent } = agentOf([respond(...calls)], { checkpoints: { ...store, save }, tools: [...tools, fail] })
    const abort = new AbortController()
    const run = agent.stream('Go', { signal: abort.signal })
    const reading = collect(run)
    await vi.advanceTimersByTimeAsync(105)
    if (how === 'aborted') abort.abort()
    if (how === 'cancelled') void run.cancel()
    await vi.advanceTimersByTimeAsync(5_000)
    await reading
    const last = stored.at(-1)
    expect(last?.calls.map(({ id, message, effect }) => [id, message !== undefined, effect]).slice(0, 2)).toEqual([
      ['a', true, 'read'],
      ['b', false, 'external'],
    ])
  },
)

test.each(['read', 'external'] as const)(
  'a step with very many calls that are %s is saved at most 40 times (W33)',
  async (effect) => {
    vi.useRealTimers()
    const { store, saves } = storeThat()
    const many = tool({
      name: 'many',
      description: 'many',
      input: z.object({ n: z.number() }),
      effect,
      execute: async () => 'x',
    })
    const calls = Array.from({ length: sized({ small: 250, middle: 1_000, whole: 1_000 }) }, (_, n) =>
      call('many', { n }),
    )
    const { agent } = agentOf([respond(...calls), respond(say('Done'))], { checkpoints: store, tools: [many] })
    expect((await agent.run('Go')).text).toBe('Done')
    expect(saves.length).toBeLessThanOrEqual(40)
  },
)

test.each(['idempotent', 'reversible', 'external'] as const)(
  'a call that is %s starts only once its entry is saved; a read does not wait (L15)',
  async (effect) => {
    const name = tools.find((one) => one.effect === effect)?.name ?? ''
    const { store } = storeThat((save) => (save.includes(`${name} started`) ? sleep(500) : undefined))
    const { agent } = agentOf([respond(call(name), call('read')), respond(say('Done'))], { checkpoints: store })
    const reading = collect(agent.stream('Go'))
    await vi.advanceTimersByTimeAsync(499)
    expect(did).toEqual(['read'])
    await vi.advanceTimersByTimeAsync(2)
    expect(did).toEqual(['read', name])
    await vi.runAllTimersAsync()
    expect((await reading).result?.text).toBe('Done')
  },
)

test('a call that is aborted while its entry is saved does not start (L15, I4)', async () => {
  const { store } = storeThat((save) => (save.includes('send started') ? sleep(500) : undefined))
  const { agent } = agentOf([respond(call('send', {}, { id: 'c' })), respond(say('Done'))], {
    checkpoints: store,
    middleware: [
      {
        name: 'cancels',
        async *wrapToolCall(call, next, run) {
          setTimeout(() => run.cancelTool(call.id), 100)
          return yield* next(call)
        },
      },
    ],
  })
  const { result } = await settled(agent.stream('Go'))
  expect(did).toEqual([])
  expect(result).toMatchObject({ text: 'Done', messages: [{}, {}, { role: 'tool', isError: true }, {}] })
})

test.each(['now', 'after-model'] as const)(
  'a call whose entry is being saved as the run is cancelled %s has not started: its resume makes it, as its first attempt (L15, L20, C14, K14)',
  async (at) => {
    const { store } = storeThat((save) => (save.includes('send started') ? sleep(500) : undefined))
    const { agent } = agentOf([respond(call('send')), respond(say('Done'))], { checkpoints: store })
    const run = agent.stream('Go')
    const reading = collect(run)
    await vi.advanceTimersByTimeAsync(100)
    void run.cancel({ at })
    await vi.runAllTimersAsync()
    const { result } = await reading
    expect(textOf(result)).toBe('Not run: the run ended before this call started.')
    expect(result?.checkpoint?.calls).toMatchObject([{ call: { name: 'send' }, attempts: 0 }])

    const resumed = await settled(agent.resume(run.id))
    expect(did).toEqual(['send'])
    expect(resumed.result).toMatchObject({ text: 'Done', messages: [{}, {}, { output: 'send done' }, {}] })
    expect(resumed.result).not.toHaveProperty('unknown')
  },
)

test('a call whose entry is being saved as the run is aborted has not started: its resume makes it, as its first attempt (L15, L20, K1)', async () => {
  const { store, saves } = storeThat((save) => (save.includes('send started') ? sleep(500) : undefined))
  const { agent } = agentOf([respond(call('send'), call('read', { ms: 50 }))], { checkpoints: store })
  const abort = new AbortController()
  const run = agent.stream('Go', { signal: abort.signal })
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(100)
  abort.abort()
  await vi.runAllTimersAsync()
  expect((await reading).error).toMatchObject({ name: 'AbortError' })
  expect(saves.at(-1)).toBe('running, 1 calls, send open, read settled')

  const mended = agentOf([respond(say('Done'))], { checkpoints: store })
  const { result } = await settled(mended.agent.resume(run.id))
  expect(did).toEqual(['read', 'send'])
  expect(result).toMatchObject({ text: 'Done', messages: [{}, {}, { output: 'send done' }, {}, {}] })
  expect(result).not.toHaveProperty('unknown')
})

/** A store after one of whose saves the process is suspended for this many milliseconds, while `meanwhile` runs elsewhere. */
function standingStill(after: string, ms: number, meanwhile: (id: string) => unknown = () => undefined) {
  const { store, saves } = storeThat()
  let stoodStill = false
  const standing: CheckpointStore = {
    ...store,
    async save(id, checkpoint, expected) {
      await store.save(id, checkpoint, expected)
      if (stoodStill || !saves.at(-1)?.includes(after)) return
      stoodStill = true
      await meanwhile(id)
      vi.setSystemTime(Date.now() + ms)
    },
  }
  return { store: standing, saves }
}

test.each(['idempotent', 'reversible', 'external'] as const)(
  'a process that was suspended after a call that is %s was saved, and was taken over, does not start it (DU3, L15)',
  async (effect) => {
    const name = tools.find((one) => one.effect === effect)?.name ?? ''
    let elsewhere: AgentResult | undefined
    const { store } = standingStill(`${name} started`, 1_001, async (id) => {
      const other = createAgent({ model: scriptedModel([respond(say('Done'))]), tools, checkpoints: store })
      elsewhere = await other.resume(id).result
    })
    const { agent } = agentOf([respond(call(name, {}, { id: 'c' }))], { checkpoints: store })
    const { error } = await settled(agent.stream('Go'))
    expect(did).toEqual([])
    expect(error).toMatchObject({ name: 'CheckpointConflictError' })
    expect(elsewhere).toMatchObject({ status: 'completed', unknown: ['c'] })
  },
)

test.each([
  { ms: 1_000, started: 1 },
  { ms: 1_001, started: 2 },
])(
  'a save that is $ms ms old when its call is about to start is made $started times, and the call once (DU3)',
  async ({ ms, started }) => {
    const { store, saves } = standingStill('send started', ms)
    const { agent } = agentOf([respond(call('send')), respond(say('Done'))], { checkpoints: store })
    const { result } = await settled(agent.stream('Go'))
    expect(result).toMatchObject({ status: 'completed', text: 'Done' })
    expect(did).toEqual(['send'])
    expect(saves.filter((save) => save.endsWith('send started'))).toHaveLength(started)
  },
)

test('a store that takes two seconds for each save does not delay a call forever (DU3)', async () => {
  const { store, saves } = storeThat(() => sleep(2_000))
  const { agent } = agentOf([respond(call('send')), respond(say('Done'))], { checkpoints: store })
  const { result } = await settled(agent.stream('Go'))
  expect([result?.text, did]).toEqual(['Done', ['send']])
  expect(saves.filter((save) => save.endsWith('send started'))).toHaveLength(2)
})

test('if that save fails the call does not start, and the run fails (L16)', async () => {
  const { store } = storeThat((save) => (save.includes('send started') ? saysNo() : undefined))
  const { agent, model } = agentOf([respond(call('read'), call('send'))], { checkpoints: store })
  const { error } = await settled(agent.stream('Go'))
  expect(error).toMatchObject({
    name: 'CheckpointStoreError',
    id: expect.stringMatching(/./),
    operation: 'save',
    cause: { message: 'disk full' },
    messages: [{}, {}, { role: 'tool' }, { role: 'tool' }],
  })
  expect(did).toEqual(['read'])
  expect(model.requests).toHaveLength(1)
})

test('if other saves fail the run goes on, and the next save contains everything (L16)', async () => {
  const { store, saves } = storeThat((_, count) => (count < 3 ? saysNo() : undefined))
  const { agent } = agentOf([respond(call('read')), respond(call('read')), respond(say('Done'))], {
    checkpoints: store,
  })
  const { result, events } = await settled(agent.stream('Go'))
  expect(result).toMatchObject({ status: 'completed', text: 'Done' })
  expect(result?.checkpointError).toBeUndefined()
  expect(await store.load(events[0]?.runId ?? '')).toMatchObject({ status: 'completed' })
  expect(saves.at(-1)).toBe('completed, between')
})

test.each<['interrupted' | 'cancelled' | 'completed', ScriptedResponse]>([
  ['interrupted', respond(call('read', { ask: true }))],
  ['cancelled', respond(wait(500), say('late'))],
  ['completed', respond(say('Done'))],
])('if the save of a run that is %s fails, its result contains the error (L16)', async (status, response) => {
  const { store } = storeThat((save) => (save.startsWith(status) ? saysNo() : undefined))
  const { agent } = agentOf([response], { checkpoints: store })
  const run = agent.stream('Go')
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(100)
  if (status === 'cancelled') void run.cancel()
  await vi.runAllTimersAsync()
  const { result, events } = await reading
  expect(result).toMatchObject({ status, checkpointError: { name: 'CheckpointStoreError' } })
  expect(JSON.parse(JSON.stringify(events.at(-1)))).toMatchObject({ result: { checkpointError: {} } })
  if (status === 'completed') return
  // From the caller's checkpoint the run continues, and replaces what is stored.
  const { checkpoint, interrupts = [] } = result ?? {}
  const answers = Object.fromEntries(interrupts.map(({ id }) => [id, 1]))
  const mended = agentOf([respond(say('Done'))], { checkpoints: store })
  expect((await settled(mended.agent.resume(checkpoint as Checkpoint, answers))).result?.text).toBe('Done')
})

test.each<[string, (save: string) => boolean, ScriptedResponse]>([
  ['of its end', (save) => save.startsWith('completed'), respond(say('Done'))],
  ['of an interrupt', (save) => save.startsWith('interrupted'), respond(call('read', { ask: true }))],
  ['before a call', (save) => save.includes('send started'), respond(call('send'))],
  ['of its first step', (save) => save.includes('before-model'), respond(call('send'))],
])('an abort ends the wait for a store that hangs at the save %s (K1, L16)', async (_, hangs, response) => {
  const { store } = storeThat((save) => (hangs(save) ? never() : undefined))
  const { agent } = agentOf([response], { checkpoints: store })
  const controller = new AbortController()
  const reading = collect(agent.stream('Go', { signal: controller.signal }))
  await vi.advanceTimersByTimeAsync(100)
  controller.abort()
  await vi.advanceTimersByTimeAsync(1_001)
  expect((await reading).error).toMatchObject({ name: 'AbortError', usage: {} })
  expect(did).not.toContain('send')
  expect(vi.getTimerCount()).toBe(0)
})

test('an abort ends the wait for a store that hangs when it is read (K1)', async () => {
  const { agent } = agentOf([], { checkpoints: { ...memoryStore(), load: never } })
  const controller = new AbortController()
  const reading = collect(agent.resume('x', {}, { signal: controller.signal }))
  await vi.advanceTimersByTimeAsync(100)
  controller.abort()
  await vi.advanceTimersByTimeAsync(1_001)
  expect((await reading).error).toMatchObject({ name: 'AbortError' })
})

test('a slow store gets one save at a time, each of the newest state, and delays no read and no model call (L15)', async () => {
  let open = 0
  let most = 0
  const { store, saves } = storeThat(async () => {
    most = Math.max(most, ++open)
    await sleep(1_000)
    open--
  })
  const responses = [1, 2, 3, 4, 5].map(() => respond(call('read', { ms: 10 })))
  const { agent, model } = agentOf([...responses, respond(say('Done'))], { checkpoints: store })
  const reading = collect(agent.stream('Go'))
  await vi.advanceTimersByTimeAsync(60)
  expect(model.requests).toHaveLength(6)
  await vi.runAllTimersAsync()
  expect((await reading).result?.text).toBe('Done')
  expect(most).toBe(1)
  expect(saves).toEqual(['running, 1 before-model', 'completed, between'])
})

test('an abort writes no checkpoint, and leaves the earlier one (K1)', async () => {
  const { store, saves } = storeThat(() => sleep(5))
  const { agent } = agentOf([respond(call('read', { ms: 100 }), call('send', { ms: 100 }), call('put', { ms: 5 }))], {
    checkpoints: store,
  })
  const controller = new AbortController()
  const run = agent.stream('Go', { signal: controller.signal })
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(50)
  const before = [saves.length, await store.load(run.id)]
  controller.abort()
  await vi.runAllTimersAsync()
  expect((await reading).error).toMatchObject({ name: 'AbortError' })
  expect([saves.length, await store.load(run.id)]).toEqual(before)
})

test.each(['reacts to', 'ignores'])(
  'a call whose tool %s the abort, as its run fails, has no result: a resume reads that it may have happened (L21, A12)',
  async (what) => {
    const { store } = storeThat()
    const slow = tool({
      ...worker('send', 'external'),
      execute: (_, { signal }) =>
        new Promise<string>((_, reject) => {
          if (what === 'reacts to') signal.addEventListener('abort', () => reject(new Error('stopped')))
        }),
    })
    const failing = tool({
      ...worker('read', 'read'),
      execute: async () => {
        await sleep(50)
        throw new ModelError('no', { code: 'x', retryable: false })
      },
    })
    const { agent } = agentOf([respond(call('send'), call('read'))], { checkpoints: store, tools: [slow, failing] })
    const { events, error } = await settled(agent.stream('Go'))
    expect(error).toMatchObject({ name: 'ModelError' })
    const mended = agentOf([respond(say('Done'))], { checkpoints: store })
    const { result } = await settled(mended.agent.resume(events[0]?.runId ?? ''))
    expect(result).toMatchObject({ text: 'Done', unknown: ['call_1_1'] })
    expect(did).toEqual(['read'])
  },
)

test('without a store nothing is saved, and nothing waits (L1, L15)', async () => {
  const { agent } = agentOf([respond(call('send')), respond(say('Done'))])
  const { result } = await settled(agent.stream('Go'))
  expect(result).toMatchObject({ text: 'Done' })
  expect(result).not.toHaveProperty('checkpoint')
})

test('a store that has reported a conflict receives no further save of the run (L19)', async () => {
  const { store, saves } = storeThat(async (_, count) => {
    await sleep(20)
    if (count === 3) throw new CheckpointConflictError('r', 2, 5)
  })
  const calls = [call('read', { ms: 5 }), call('read', { ms: 50, n: 2 }), call('read', { ms: 100, n: 3 })]
  const { agent } = agentOf([respond(...calls), respond(say('Done'))], { checkpoints: store })
  const { error } = await settled(agent.stream('Go'))
  expect(error).toBeInstanceOf(CheckpointConflictError)
  expect(saves).toHaveLength(3)
})

/** A model that fails after this time. */
const failing = (untilThen: () => Promise<unknown>): Model => ({
  provider: 'p',
  id: 'm',
  async *stream() {
    await untilThen()
    throw new ModelError('no', { code: 'no', retryable: false })
  },
})

test.each([25, 30, 35, 40, 45])(
  'no save replaces a newer one: an agent inside fails after %i ms while a save waits, and a call begins (L16, W33)',
  async (after) => {
    const begin = performance.now()
    const until = (ms: number) => sleep(ms - (performance.now() - begin))
    const inner = memoryStore()
    const saved: string[] = []
    const checkpoints: CheckpointStore = {
      ...inner,
      async save(id, checkpoint, revision) {
        saved.push(inShort(checkpoint as Checkpoint))
        await sleep(200)
        await inner.save(id, checkpoint, revision)
      },
    }
    const clerk = createAgent({ name: 'clerk', description: 'Fails.', model: failing(() => until(2_000 + after)) })
    const late = tool({
      name: 'late',
      description: 'Sends late.',
      input: z.object({}),
      effect: 'calls',
      async execute(_, { run }) {
        await until(2_005 + after)
        return (await run?.callTool({ type: 'tool-call', id: 'x', name: 'send', input: { ms: 5_000 } }))?.isError
      },
    })
    const calls = [
      call('read', { ms: 2_000 }),
      call('read', { ms: 2_012 }),
      call('clerk', { request: 'x' }),
      call('late', {}),
    ]
    const agent = createAgent({
      model: scriptedModel([respond(...calls), respond(say('Done.'))]),
      tools: [...tools, agentTool(clerk), late],
      checkpoints,
    })
    const running = agent.run('Go')
    await vi.runAllTimersAsync()
    await running
    const begun = saved.findIndex((one) => one.includes('send started'))
    expect(begun).toBeGreaterThan(0)
    expect(saved.slice(begun).filter((one) => one.includes('1 calls') && !one.includes('send'))).toEqual([])
    expect(did.filter((name) => name === 'send')).toEqual(['send'])
  },
)

test('work that was handed over and begins after the end of its run changes nothing in the store (L15, L16)', async () => {
  const { store, saves } = storeThat()
  const send = { ...worker('send', 'external'), background: { atEnd: 'detach' }, concurrency: 1 } as const
  const calls = [call('send', { ms: 100 }), call('send', { ms: 100 })]
  const { agent } = agentOf([respond(...calls), respond(say('Done'))], { checkpoints: store, tools: [send] })
  const { result } = await settled(agent.stream('Go'))
  expect(result?.status === 'completed' && result.background).toHaveLength(2)
  expect(did).toEqual(['send', 'send'])
  expect(saves.findIndex((save) => save.startsWith('completed'))).toBe(saves.length - 1)
  expect(saves.filter((save) => save.startsWith('completed'))).toHaveLength(1)
})

test('background work that ends within the grace time of a failed run is stored with its result (W33, L15)', async () => {
  const inner = memoryStore()
  const saved: string[] = []
  const checkpoints: CheckpointStore = {
    ...inner,
    save(id, checkpoint, revision) {
      saved.push(inShort(checkpoint as Checkpoint))
      return inner.save(id, checkpoint, revision)
    },
  }
  const first = scriptedModel([respond(call('send', { ms: 60 }))])
  let asked = 0
  const model: Model = {
    ...first,
    stream: (request) => (++asked === 1 ? first : failing(() => sleep(20))).stream(request),
  }
  const send = { ...worker('send', 'external'), background: true } as const
  const running = createAgent({ model, tools: [send], checkpoints, grace: 500 }).run('Go')
  const error = running.catch((error: unknown) => error)
  await vi.runAllTimersAsync()
  expect(await error).toBeInstanceOf(ModelError)
  expect(did).toEqual(['send'])
  expect(saved.at(-1)).toContain('send settled')
})
