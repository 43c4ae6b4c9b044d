import { call, collect, respond, type ScriptResponse, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import {
  AgentError,
  type AgentEvent,
  type AgentRun,
  type Checkpoint,
  type CheckpointStore,
  createAgent,
  interrupt,
  type Message,
  type Middleware,
  memoryStore,
  type Run,
  type Tool,
  type ToolCall,
  type ToolContext,
  type ToolMessage,
  tool,
} from '../index.ts'

class OwnError extends AgentError {}

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const anything = z.record(z.string(), z.unknown())

interface Build {
  readonly ms: number
  readonly atEnd?: 'wait' | 'cancel' | 'detach'
  readonly effect?: 'read' | 'external'
  readonly log?: string[]
}

function build({ ms, atEnd, effect = 'external', log = [] }: Build): Tool {
  return tool({
    name: 'build',
    description: 'Builds.',
    input: anything,
    effect,
    background: atEnd ? { atEnd } : true,
    async *execute(_, { signal }) {
      log.push('started')
      yield { progress: 0.5, message: 'half' }
      await new Promise<void>((resolve, reject) => {
        const timer = setTimeout(resolve, ms)
        signal.addEventListener('abort', () => {
          clearTimeout(timer)
          log.push('aborted')
          reject(signal.reason as Error)
        })
      })
      log.push('built')
      return 'built'
    },
  })
}

function agentOf(responses: readonly ScriptResponse[], tools: readonly Tool[], more: object = {}) {
  const model = scriptedModel(responses)
  return { model, agent: createAgent({ model, tools, ...more }) }
}

async function settled<Result>(work: Promise<Result>): Promise<Result> {
  work.catch(() => undefined)
  await vi.runAllTimersAsync()
  return await work
}

const text = (message: Message | undefined) => JSON.stringify(message?.content)
const endText = (event: AgentEvent) => (event.type === 'background-end' ? text(event.message) : undefined)

test('a background call has a result at once, and the result of its work reaches the model at the next safe point (I15, B19)', async () => {
  const pause = tool({
    name: 'pause',
    description: 'p',
    input: anything,
    execute: () => new Promise((resolve) => setTimeout(() => resolve('rested'), 500)),
  })
  const { agent } = agentOf(
    [respond(call('build')), respond(call('pause')), respond(say('Built and rested.'))],
    [build({ ms: 100 }), pause as Tool],
  )
  const { result, events } = await settled(collect(agent.stream('Go')))
  expect(result?.messages.slice(2)).toMatchObject([
    { role: 'tool', callId: 'call_1_1', output: { callId: 'call_1_1', state: 'running' } },
    { role: 'assistant' },
    { role: 'tool', output: 'rested' },
    {
      role: 'user',
      origin: 'background',
      content: [{ text: 'The background call call_1_1 of build has finished:' }, { text: 'built' }],
    },
    { role: 'assistant' },
  ])
  expect(events.filter((event) => event.type === 'tool-end' && event.callId === 'call_1_1')).toHaveLength(1)
  expect(events.filter((event) => event.type === 'tool-progress')).toMatchObject([
    { callId: 'call_1_1', progress: 0.5 },
  ])
})

test('an answer waits for open work by default, and the model gets one more step (I17)', async () => {
  const { agent } = agentOf(
    [respond(call('build')), respond(say('It is being built.')), respond(say('It is built.'))],
    [build({ ms: 5_000 })],
  )
  const result = await settled(agent.run('Go'))
  expect(result.text).toBe('It is built.')
  expect(result.steps).toBe(3)
  expect(result.background).toBeUndefined()
})

test('background-end reports the result or the abort of background work, and nothing about work that goes on after the run (I15, I17)', async () => {
  const told = async (atEnd: Build['atEnd']) => {
    const { agent } = agentOf(
      [respond(call('build')), respond(say('It is being built.')), respond(say('It is built.'))],
      [build({ ms: 5_000, ...(atEnd && { atEnd }) })],
    )
    const { events } = await settled(collect(agent.stream('Go')))
    return events.flatMap((event) => {
      if (event.type === 'tool-end') return `tool-end ${event.callId}: ${text(event.message)}`
      if (event.type === 'background-end') return `background-end ${event.callId}: ${text(event.message)}`
      return ['step-end', 'run-end'].includes(event.type) ? event.type : []
    })
  }
  const answered = `tool-end call_1_1: [{"type":"text","text":"{\\"callId\\":\\"call_1_1\\",\\"state\\":\\"running\\"}"}]`
  const built = 'background-end call_1_1: [{"type":"text","text":"built"}]'
  const aborted = expect.stringMatching(/^background-end call_1_1: .*cut off/)
  expect(await told('wait')).toEqual([answered, 'step-end', built, 'step-end', 'step-end', 'run-end'])
  expect(await told('cancel')).toEqual([answered, 'step-end', 'step-end', aborted, 'run-end'])
  expect(await told('detach')).toEqual([answered, 'step-end', 'step-end', 'run-end'])
})

test('with `cancel` open work is aborted when the model answers (I17)', async () => {
  const log: string[] = []
  const { agent } = agentOf(
    [respond(call('build')), respond(say('Never mind.'))],
    [build({ ms: 5_000, atEnd: 'cancel', log })],
  )
  const result = await settled(agent.run('Go'))
  expect(result.text).toBe('Never mind.')
  expect(log).toEqual(['started', 'aborted'])
  expect(result.background).toBeUndefined()
})

test('with `detach` open work goes on, and the result has a handle of it (I17, B2)', async () => {
  const log: string[] = []
  const { agent } = agentOf(
    [respond(call('build')), respond(say('Later.'))],
    [build({ ms: 5_000, atEnd: 'detach', log })],
  )
  const running = agent.run('Go')
  await vi.advanceTimersByTimeAsync(100)
  const result = await running
  expect(JSON.stringify(result.background)).toBe('[{"callId":"call_1_1","name":"build"}]')
  expect(log).toEqual(['started'])
  const [handle] = result.background ?? []
  expect(await settled(handle?.result ?? Promise.reject())).toMatchObject({ output: 'built' })
})

test('without a further step an answer still waits, and undelivered results are in the result of the run (I18)', async () => {
  const { agent } = agentOf([respond(call('build')), respond(say('It is being built.'))], [build({ ms: 5_000 })], {
    maxSteps: 2,
  })
  const result = await settled(agent.run('Go'))
  expect(result.text).toBe('It is being built.')
  expect(await result.background?.[0]?.result).toMatchObject({ output: 'built' })
})

test('an abort stops background work that was not handed over (I18)', async () => {
  const log: string[] = []
  const controller = new AbortController()
  const { agent } = agentOf(
    [respond(call('build')), respond(wait(60_000), say('…'))],
    [build({ ms: 50_000, atEnd: 'detach', log })],
  )
  setTimeout(() => controller.abort(), 1_000)
  await expect(settled(agent.run('Go', { signal: controller.signal }))).rejects.toMatchObject({ name: 'AbortError' })
  expect(log).toEqual(['started', 'aborted'])
})

test('an agent with background tools offers tool_status; a result read through it is not delivered again (I16)', async () => {
  const pause = tool({
    name: 'pause',
    description: 'p',
    input: anything,
    execute: () => new Promise((resolve) => setTimeout(() => resolve('rested'), 500)),
  })
  const { agent, model } = agentOf(
    [
      respond(call('build')),
      respond(call('tool_status', { callId: 'call_1_1' }), call('tool_status', { callId: 'nonsense' }), call('pause')),
      respond(call('pause')),
      respond(say('Done.')),
    ],
    [build({ ms: 100 }), pause as Tool],
  )
  const result = await settled(agent.run('Go'))
  expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(['build', 'pause', 'tool_status'])
  const statuses = result.messages.filter((message) => message.role === 'tool' && message.name === 'tool_status')
  expect(statuses).toMatchObject([
    { output: { callId: 'call_1_1', state: 'running', progress: 0.5, message: 'half' } },
    { isError: true },
  ])
  expect(result.messages.filter((message) => message.role === 'user').map(text)).toHaveLength(2)

  const read = agentOf(
    [respond(call('build')), respond(call('pause')), respond(say('Done.'))],
    [build({ ms: 100 }), pause as Tool],
  )
  const second = await settled(read.agent.run('Go'))
  expect(second.messages.filter((message) => message.role === 'user' && message.origin === 'background')).toHaveLength(
    1,
  )
})

test('background work is cancelled and its status read by the id of its call (I4, I6)', async () => {
  const { agent } = agentOf(
    [respond(call('build')), respond(wait(500), say('Hm.')), respond(say('Done.'))],
    [build({ ms: 5_000 })],
  )
  const run = agent.stream('Go')
  await vi.advanceTimersByTimeAsync(100)
  expect(run.toolStatus('call_1_1')).toMatchObject({ state: 'running', progress: 0.5 })
  expect(run.cancelTool('call_1_1')).toBe(true)
  const result = await settled(run.result)
  expect(run.toolStatus('call_1_1')).toMatchObject({ state: 'cancelled' })
  const told = result.messages.find((message) => message.role === 'user' && message.origin === 'background')
  expect(text(told)).toContain('was cancelled')
})

test.each([
  ['read', 'Done.', 'built', undefined],
  ['external', 'Hm.', 'may have happened', ['call_1_1']],
] as const)(
  'a cancel aborts background work, which counts as cut off: %s (O18, L20, L21)',
  async (effect, answer, said, unknown) => {
    const log: string[] = []
    const { agent } = agentOf(
      [respond(wait(10), call('build')), respond(say('Hm.')), respond(say('Done.'))],
      [build({ ms: 5_000, effect, log })],
      { checkpoints: memoryStore() },
    )
    const run = agent.stream('Go')
    await vi.advanceTimersByTimeAsync(5)
    const cancelled = run.cancel({ at: 'after-tools' })
    const first = await settled(collect(run))
    expect(await cancelled).toEqual({ status: 'cancelled' })
    expect(log).toEqual(['started', 'aborted'])
    const { result, events } = await settled(collect(agent.resume(first.result?.checkpoint ?? '')))
    // Work that is open in the checkpoint ends in the resumed run.
    const ends = [first.events, events].map((all) => all.filter(({ type }) => type === 'background-end').map(endText))
    expect(ends).toEqual([[], [expect.stringContaining(said)]])
    expect(result?.text).toBe(answer)
    const told = result?.messages.find((message) => message.role === 'user' && message.origin === 'background')
    expect(text(told)).toContain(said)
    expect(result?.unknown).toEqual(unknown)
  },
)

test('background work that had settled before a resume is still known, and cannot be cancelled (I4, I6)', async () => {
  const { agent } = agentOf(
    [respond(call('build')), respond(wait(500), say('Hm.')), respond(wait(500), say('Done.'))],
    [build({ ms: 100 })],
  )
  const run = agent.stream('Go')
  await vi.advanceTimersByTimeAsync(200)
  run.cancel({ at: 'after-tools' }).catch(() => undefined)
  const first = await settled(run.result)
  expect(first.status).toBe('cancelled')
  const resumed = agent.resume(first.checkpoint ?? '')
  await vi.advanceTimersByTimeAsync(100)
  expect([resumed.toolStatus('call_1_1'), resumed.cancelTool('call_1_1')]).toMatchObject([{ state: 'ok' }, false])
  await settled(resumed.result)
})

test('the work of a call begins once, however often its wraps request it (I15, I17)', async () => {
  const log: string[] = []
  const twice: Middleware = {
    name: 'twice',
    async *wrapToolCall(call, next) {
      yield* next(call)
      return yield* next(call)
    },
  }
  const { agent } = agentOf(
    [respond(call('build')), respond(say('Hm.')), respond(say('Done.'))],
    [build({ ms: 100, log })],
    { middleware: [twice] },
  )
  const { text: answer } = await settled(agent.run('Go'))
  expect([answer, log]).toEqual(['Done.', ['started', 'built']])
})

test('work that a killed process had begun is not begun again, although its call had no result (L21, H26)', async () => {
  const log: string[] = []
  const slow: Middleware = {
    name: 'slow',
    async *wrapToolCall(call, next) {
      const message = yield* next(call)
      await new Promise((resolve) => setTimeout(resolve, 1_000))
      return message
    },
  }
  const stored = memoryStore()
  const killed = memoryStore()
  const responses = [respond(call('build')), respond(say('Hm.')), respond(say('Done.'))]
  const first = agentOf(responses, [build({ ms: 5_000, log })], { middleware: [slow], checkpoints: stored })
  const controller = new AbortController()
  const run = first.agent.stream('Go', { signal: controller.signal })
  await vi.advanceTimersByTimeAsync(500)
  const checkpoint = (await stored.load(run.id)) as Checkpoint
  await killed.save(run.id, checkpoint, 0)
  controller.abort()
  await expect(settled(run.result)).rejects.toMatchObject({ name: 'AbortError' })
  const second = agentOf(responses.slice(1), [build({ ms: 5_000, log })], { middleware: [slow], checkpoints: killed })
  const { unknown } = await settled(second.agent.resume(run.id).result)
  expect([unknown, log]).toEqual([['call_1_1'], ['started', 'aborted']])
})

test('work whose beginning cannot be stored does not begin, and its run fails (L16, MA4)', async () => {
  const log: string[] = []
  const inner = memoryStore()
  const hasBegun = ({ calls }: Checkpoint) => calls.some(({ isWork, effect, message }) => isWork && effect && !message)
  const checkpoints: CheckpointStore = {
    ...inner,
    async save(id, checkpoint, expected) {
      if (hasBegun(checkpoint as Checkpoint)) throw new Error('The disk is full.')
      await inner.save(id, checkpoint, expected)
    },
  }
  const responses = [respond(call('build')), respond(say('Hm.')), respond(say('Done.'))]
  const { agent } = agentOf(responses, [build({ ms: 1_000, log })], { checkpoints })
  const run = agent.stream('Go')
  const { error } = await settled(collect(run))
  expect(error).toMatchObject({ name: 'CheckpointStoreError', cause: { message: 'The disk is full.' } })
  expect(log).toEqual([])
  const second = agentOf(responses.slice(1), [build({ ms: 1_000, log })])
  const { unknown } = await settled(second.agent.resume((await inner.load(run.id)) as Checkpoint).result)
  expect([log, unknown]).toEqual([['started', 'built'], undefined])
})

test('work that throws the error of its own store has failed, and its run goes on (I15, L16)', async () => {
  const other = createAgent({ model: scriptedModel([]), checkpoints: memoryStore() })
  const lookUp = tool({
    name: 'look_up',
    description: 'Goes on with another run.',
    input: anything,
    background: true,
    execute: () => other.resume('gone').result,
  })
  const responses = [respond(call('look_up')), respond(say('Hm.')), respond(say('Done.'))]
  const { agent, model } = agentOf(responses, [lookUp as Tool], { checkpoints: memoryStore() })
  expect(await settled(agent.run('Go'))).toMatchObject({ status: 'completed', text: 'Done.' })
  expect(text(model.requests.at(-1)?.messages.at(-1))).toContain('nothing is stored with this id')
})

test.each(['after-tools', 'after-model'] as const)(
  'a cancel %s stops a run that waits for its background work, and the resume waits for it again (K5, K6, I17, O18)',
  async (at) => {
    const log: string[] = []
    const { agent } = agentOf(
      [respond(call('build')), respond(say('It is being built.')), respond(say('It is built.'))],
      [build({ ms: 5_000, effect: 'read', log })],
    )
    const run = agent.stream('Go')
    await vi.advanceTimersByTimeAsync(100)
    const cancelled = run.cancel({ at })
    const first = await settled(run.result)
    expect(await cancelled).toEqual({ status: 'cancelled' })
    expect(log).toEqual(['started', 'aborted'])
    const { result } = await settled(collect(agent.resume(first.checkpoint ?? '')))
    expect(result).toMatchObject({ status: 'completed', text: 'It is built.' })
    expect(log).toEqual(['started', 'aborted', 'started', 'built'])
  },
)

/** Two calls, of which the second waits for its turn. */
const oneByOne = (log: string[]): Tool => ({ ...build({ ms: 1_000, log }), concurrency: 1 })

test('work that waits for its turn as the run is interrupted begins after the resume (I15, L2, L20)', async () => {
  const log: string[] = []
  const asks = tool({
    name: 'asks',
    description: 'Asks.',
    input: anything,
    execute: (_, { answers }) => answers[0] ?? interrupt('Really?'),
  })
  const { agent } = agentOf(
    [respond(call('build'), call('build'), call('asks')), respond(say('Hm.')), respond(say('Done.'))],
    [oneByOne(log), asks as Tool],
  )
  const first = await settled(collect(agent.stream('Go')))
  expect(log).toEqual(['started', 'built'])
  const id = first.result?.interrupts?.[0]?.id ?? ''
  const second = await settled(collect(agent.resume(first.result?.checkpoint ?? '', { [id]: 'yes' })))
  expect(log).toEqual(['started', 'built', 'started', 'built'])
  const ends = [first, second].map(({ events }) => events.filter(({ type }) => type === 'background-end').map(endText))
  expect(ends).toEqual([[expect.stringContaining('built')], [expect.stringContaining('built')]])
  const messages = second.result?.messages ?? []
  expect(messages.filter((message) => message.role === 'user' && message.origin === 'background').map(text)).toEqual([
    expect.stringContaining('built'),
    expect.stringContaining('built'),
  ])
})

test('work whose turn never came ends with its run, if that completes after all (I17, K6)', async () => {
  const log: string[] = []
  const works = { ...build({ ms: 1_000, atEnd: 'cancel', log }), concurrency: 1 }
  const { agent } = agentOf([respond(call('build'), call('build')), respond(wait(100), say('Done.'))], [works])
  const run = agent.stream('Go')
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(50)
  void run.cancel({ at: 'after-model' })
  const { events, result } = await settled(reading)
  expect([result?.status, log]).toEqual(['completed', ['started', 'aborted']])
  const ends = events.filter(({ type }) => type === 'background-end').map(endText)
  expect(ends).toEqual([expect.stringContaining('Not run'), expect.stringContaining('cut off')])
})

test.each(['now', 'after-model'] as const)(
  'work that waits for its turn as the run is cancelled %s begins after the resume (O18, L20)',
  async (at) => {
    const log: string[] = []
    const { agent } = agentOf(
      [
        respond(call('build'), call('build')),
        respond(wait(100), say('Hm.')),
        respond(say('Hm.')),
        respond(say('Done.')),
      ],
      [oneByOne(log)],
    )
    const run = agent.stream('Go')
    await vi.advanceTimersByTimeAsync(50)
    void run.cancel({ at })
    const first = await settled(run.result)
    expect(log).toEqual(['started', 'aborted'])
    const { unknown, messages } = await settled(agent.resume(first.checkpoint ?? '').result)
    expect([unknown, log]).toEqual([['call_1_1'], ['started', 'aborted', 'started', 'built']])
    expect(messages.filter((message) => message.role === 'user' && message.origin === 'background').map(text)).toEqual([
      expect.stringContaining('it may have happened'),
      expect.stringContaining('built'),
    ])
  },
)

test('background work that asks has failed, with the reason that its question cannot be answered (I15, L1)', async () => {
  const asks = tool({
    name: 'build',
    description: 'Asks first.',
    input: anything,
    background: true,
    execute: async () => interrupt('Really?'),
  })
  const { agent } = agentOf([respond(call('build')), respond(say('Done.'))], [asks as Tool])
  const result = await settled(agent.run('Go'))
  expect(result).toMatchObject({ status: 'completed', text: 'Done.' })
  const told = result.messages.find((message) => message.role === 'user' && message.origin === 'background')
  expect(text(told)).toContain(
    'The call asked, but a background call cannot get an answer. A tool that asks must not be `background`.',
  )
})

const cancel = (run: AgentRun) => void run.cancelTool('b')

test.for([
  { state: 'timed-out', timeout: 100, heeds: true, act: () => undefined },
  { state: 'abandoned', timeout: 100, heeds: false, act: () => undefined },
  { state: 'cancelled', timeout: 60_000, heeds: true, act: cancel },
  { state: 'abandoned', timeout: 60_000, heeds: false, act: cancel },
])(
  'background work that ended so is $state, and listed if it is abandoned (I6, I10, I15, K12, P14)',
  async ({ state, timeout, heeds, act }) => {
    const waits = tool({
      name: 'build',
      description: 'Builds for long.',
      input: anything,
      background: true,
      timeout,
      execute: (_, { signal }) =>
        new Promise((resolve, reject) => {
          setTimeout(resolve, 30_000)
          if (heeds) signal.addEventListener('abort', () => reject(signal.reason))
        }),
    })
    const { agent } = agentOf(
      [respond(call('build', {}, { id: 'b' })), respond(say('Hm.')), respond(say('Done.'))],
      [waits as Tool],
    )
    const run = agent.stream('Go')
    await vi.advanceTimersByTimeAsync(50)
    act(run)
    await vi.runAllTimersAsync()
    const { text, abandoned } = await run.result
    expect([text, abandoned]).toEqual(['Done.', state === 'abandoned' ? ['b'] : undefined])
    expect(run.toolStatus('b')).toMatchObject({ state })
  },
)

/** Keeps what is saved, each time with this delay. */
function storeOf(ms = 0) {
  const inner = memoryStore()
  const saves: unknown[] = []
  const checkpoints: CheckpointStore = {
    ...inner,
    async save(...saved) {
      saves.push(saved)
      if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms))
      await inner.save(...saved)
    },
  }
  return { checkpoints, saves }
}

const late: ToolCall = { type: 'tool-call', id: 'late', name: 'build', input: {} }

/** How work ends, and what its handle then contains. */
const detached: Readonly<Record<string, readonly [end: (run: Run | undefined) => unknown, says: object | undefined]>> =
  {
    'returns something': [() => 'built', { output: 'built' }],
    throws: [() => Promise.reject(new Error('no')), { isError: true }],
    asks: [() => interrupt('Why?'), { isError: true }],
    'throws an error that ends a run': [() => Promise.reject(new OwnError('enough')), { isError: true }],
    'never ends': [() => new Promise(() => undefined), undefined],
    'reports, and makes a call': [
      (run) => {
        run?.emit({ name: 'late', data: 1 })
        run?.warn({ code: 'late', message: 'late' })
        return run?.callTool(late).catch((error: Error) => error.name)
      },
      { output: 'TypeError' },
    ],
  }

test.each(Object.keys(detached))(
  'work that was handed over and then %s only reports through its handle, and no abort reaches it (MA18, I17)',
  async (how) => {
    const [end, says] = detached[how] ?? []
    const aborted: boolean[] = []
    const building: Tool = {
      ...build({ ms: 0, atEnd: 'detach' }),
      async *execute(_: unknown, { run, signal }: ToolContext) {
        await new Promise((resolve) => setTimeout(resolve, 1_000))
        aborted.push(signal.aborted)
        yield { progress: 0.5 }
        return await end?.(run)
      },
    }
    const { checkpoints, saves } = storeOf()
    const { agent } = agentOf([respond(call('build')), respond(say('Later.'))], [building], { checkpoints })
    const controller = new AbortController()
    const run = agent.stream('Go', { signal: controller.signal })
    const reading = collect(run)
    await vi.advanceTimersByTimeAsync(500)
    const { events, result } = await reading
    const said = JSON.stringify([events, saves, result])
    const handle = result?.status === 'completed' ? result.background?.[0] : undefined
    let came: ToolMessage | undefined
    void handle?.result.then((message) => {
      came = message
    })
    controller.abort()
    void run.cancel()
    await vi.advanceTimersByTimeAsync(5_000)
    expect(aborted).toEqual([false])
    if (says) expect(came).toMatchObject(says)
    else expect(came).toBeUndefined()
    expect(JSON.stringify([events, saves, result])).toBe(said)
  },
)

test('an abort between the hand-over of work and the end of its run ends the run, and not the work (MA18, K1)', async () => {
  const log: string[] = []
  const { checkpoints, saves } = storeOf(200)
  const tools = [build({ ms: 5_000, atEnd: 'detach', log })]
  const { agent } = agentOf([respond(call('build')), respond(wait(500), say('Later.'))], tools, { checkpoints })
  const controller = new AbortController()
  const reading = collect(agent.stream('Go', { signal: controller.signal }))
  // The work begins when that is stored; the saves of its call follow, and then the last save of the run.
  while ((saves.at(-1) as [string, Checkpoint] | undefined)?.[1].status !== 'completed')
    await vi.advanceTimersByTimeAsync(10)
  expect(log).toEqual(['started'])
  controller.abort(new Error('enough'))
  await vi.advanceTimersByTimeAsync(10_000)
  const { error } = await reading
  expect(error).toMatchObject({ name: 'AbortError', cause: { message: 'enough' } })
  expect(log).toEqual(['started', 'built'])
})

test('work whose beginning is being stored as the run is cancelled after-model begins after the resume (O18, L20)', async () => {
  const log: string[] = []
  const { checkpoints } = storeOf(50)
  const responses = [respond(call('build')), respond(wait(500), say('Hm.')), respond(say('Done.'))]
  const { agent } = agentOf(responses, [build({ ms: 10, log })], { checkpoints })
  const run = agent.stream('Go')
  while (run.toolStatus('call_1_1') === undefined) await vi.advanceTimersByTimeAsync(1)
  await vi.advanceTimersByTimeAsync(20)
  void run.cancel({ at: 'after-model' })
  const first = await settled(run.result)
  expect([first.status, log]).toEqual(['cancelled', []])
  const { status, unknown } = await settled(agent.resume(first.checkpoint ?? '').result)
  expect([status, unknown, log]).toEqual(['completed', undefined, ['started', 'built']])
})

test('work of a checkpoint does not begin if its run is aborted while the resume is saved (I18, K1)', async () => {
  const log: string[] = []
  const controller = new AbortController()
  const store = memoryStore()
  const aborting: CheckpointStore = {
    ...store,
    async save(...saved) {
      if (log.includes('resumed')) controller.abort()
      await store.save(...saved)
    },
  }
  const responses = [respond(call('build')), respond(wait(100), say('Done'))]
  const { agent } = agentOf(responses, [build({ ms: 500, effect: 'read', log })], { checkpoints: aborting })
  const run = agent.stream('Go', { id: 'run' })
  await vi.advanceTimersByTimeAsync(50)
  void run.cancel()
  await settled(run.result)
  log.push('resumed')
  await expect(settled(agent.resume('run', {}, { signal: controller.signal }).result)).rejects.toThrow('aborted')
  expect(log).toEqual(['started', 'aborted', 'resumed'])
})
