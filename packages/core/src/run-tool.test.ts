import { getEventListeners } from 'node:events'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../test/clock.ts'
import {
  AgentError,
  ConfigError,
  NotCancelableError,
  type Progress,
  runTool,
  type Tool,
  ToolCancelledError,
  type ToolContext,
  ToolInputError,
  ToolTimeoutError,
  tool,
} from './index.ts'

const EPOCH = 1_000_000
unhandledRejections()

beforeEach(() => {
  vi.useFakeTimers({ now: EPOCH })
  return () => vi.useRealTimers()
})

function made<Output>(
  execute: (input: { n: number }, context: ToolContext) => Output | Promise<Output> | AsyncGenerator<Progress, Output>,
  more: Partial<Tool> = {},
): Tool<{ n: number }, Output> {
  const { timeout, cancelable } = more
  return tool<{ n: number }, Output>({
    name: 'work',
    description: 'Works',
    input: z.object({ n: z.number().default(7) }),
    execute,
    ...(timeout !== undefined && { timeout }),
    ...(cancelable !== undefined && { cancelable }),
  })
}

const counting = made(async function* ({ n }) {
  for (let part = 1; part <= n; part++) {
    await sleep(10)
    yield { progress: part / n, message: `part ${part}` }
  }
  await sleep(10)
  return { parts: n }
})

const waiting = made<string>(
  (_, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
)

/** The outcome of a promise, with its time. */
async function settled(promise: PromiseLike<unknown>) {
  const begin = performance.now()
  return await promise.then(
    (value) => ({ value, at: performance.now() - begin }),
    (error: unknown) => ({ error, at: performance.now() - begin }),
  )
}

async function read<Value>(values: AsyncIterable<Value>): Promise<Value[]> {
  const all: Value[] = []
  for await (const value of values) all.push(value)
  return all
}

test('it returns progress, result, cancel and status at once, and can itself be awaited (I11)', async () => {
  const run = runTool(counting, { n: 2 })
  expect(run.status()).toEqual({ state: 'queued', cancelable: true })
  const progress = read(run.progress)
  await vi.advanceTimersByTimeAsync(10)
  expect(run.status()).toEqual({
    state: 'running',
    cancelable: true,
    progress: 0.5,
    message: 'part 1',
    startedAt: EPOCH,
  })
  await vi.runAllTimersAsync()
  expect(await progress).toEqual([
    { progress: 0.5, message: 'part 1' },
    { progress: 1, message: 'part 2' },
  ])
  expect(await run).toEqual({ parts: 2 })
  expect(await run).toBe(await run.result)
  expect(run.status()).toMatchObject({ state: 'ok', startedAt: EPOCH, endedAt: EPOCH + 30 })
  expect(vi.getTimerCount()).toBe(0)
})

test('the output is what the tool returned, JSON or not (I11)', async () => {
  const output = { big: 1n, self: () => output }
  expect(
    await runTool(
      made(() => output),
      {},
    ),
  ).toBe(output)
})

test('input that fails the schema rejects, and the tool does not run; the tool receives what the schema returns (I11)', async () => {
  const execute = vi.fn(({ n }: { n: number }) => n)
  const { error } = (await settled(runTool(made(execute), { n: 'seven' }))) as { error: unknown }
  expect(error).toBeInstanceOf(ToolInputError)
  expect(error).toMatchObject({ tool: 'work', issues: [{ path: 'n' }] })
  expect(execute).not.toHaveBeenCalled()
  expect(await runTool(made(execute), {})).toBe(7)
  expect(await runTool(made(execute), '{"n":3}')).toBe(3)
})

test('the tool receives a call id, a key, its signal, and no run (I11)', async () => {
  const contexts: ToolContext[] = []
  const run = runTool(
    made((_, context) => void contexts.push(context)),
    {},
  )
  await run
  const [context] = contexts
  expect(context).toEqual({
    callId: run.callId,
    idempotencyKey: run.callId,
    attempt: 1,
    answers: [],
    messages: [],
    signal: expect.any(AbortSignal),
  })
  expect(runTool(waiting, {}).callId).not.toBe(run.callId)
})

test('the promise rejects with what the tool throws, the same object, also an AgentError (I11, L12)', async () => {
  const errors = [new Error('no luck'), new AgentError('ends a run'), 'no error at all', undefined]
  const thrown = errors.map((error) =>
    settled(
      runTool(
        made(() => {
          throw error
        }),
        {},
      ),
    ),
  )
  expect((await Promise.all(thrown)).map((outcome) => 'error' in outcome && outcome.error)).toEqual(errors)
})

test('progress and result need not be read: nothing is left and nothing is unhandled (I12)', async () => {
  const failing = made(async function* () {
    for (let n = 0; n < 100; n++) yield { message: `${n}` }
    throw new Error('nobody cares')
  })
  void runTool(failing, {})
  void runTool(failing, { n: 'wrong' })
  void runTool(counting, { n: 3 })
  runTool(waiting, {}).cancel()
  await vi.runAllTimersAsync()
  expect(vi.getTimerCount()).toBe(0)
})

test('leaving the progress loop does not stop the tool (I12)', async () => {
  const run = runTool(counting, { n: 5 })
  const first = (async () => {
    for await (const progress of run.progress) return progress
  })()
  await vi.runAllTimersAsync()
  expect(await first).toEqual({ progress: 0.2, message: 'part 1' })
  expect(await run).toEqual({ parts: 5 })
})

test('a slow reader receives only the newest progress, and a late one the last (I3, I12)', async () => {
  const run = runTool(counting, { n: 5 })
  const slow: unknown[] = []
  const reading = (async () => {
    for await (const { message } of run.progress) {
      slow.push(message)
      await sleep(25)
    }
  })()
  await vi.runAllTimersAsync()
  await reading
  expect(slow).toEqual(['part 1', 'part 3', 'part 5'])
  expect(await read(run.progress)).toEqual([{ progress: 1, message: 'part 5' }])
})

test('progress is clamped and never goes down here, too (I2)', async () => {
  const jumping = made(async function* () {
    for (const progress of [-1, 0.5, 0.2, Number.NaN, 3]) {
      await sleep(10)
      yield { progress }
    }
  })
  const reading = read(runTool(jumping, {}).progress)
  await vi.runAllTimersAsync()
  expect((await reading).map(({ progress }) => progress)).toEqual([0, 0.5, 0.5, 0.5, 1])
})

test('cancel makes result reject with ToolCancelledError, whatever the tool still returns (I13)', async () => {
  const tidy = made(async () => {
    await sleep(50)
    return 'all is well'
  })
  const moans = made<string>(
    (_, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')))),
  )
  for (const work of [waiting, tidy, moans]) {
    const run = runTool(work, {})
    const progress = read(run.progress)
    await vi.advanceTimersByTimeAsync(10)
    expect(run.cancel()).toBe(true)
    await vi.runAllTimersAsync()
    const { error } = (await settled(run)) as { error: unknown }
    expect(error).toBeInstanceOf(ToolCancelledError)
    expect(error).toMatchObject({ callId: run.callId })
    expect(await progress).toEqual([])
    expect(run.status().state).toBe('cancelled')
    expect(run.cancel()).toBe(false)
  }
})

test('a tool cancelled at once does not run (I13)', async () => {
  const execute = vi.fn(() => 'done')
  const run = runTool(made(execute), {})
  run.cancel()
  await expect(run).rejects.toBeInstanceOf(ToolCancelledError)
  expect(execute).not.toHaveBeenCalled()
  expect(run.status()).toEqual({ state: 'cancelled', cancelable: true, endedAt: EPOCH })
})

test('a tool that is not cancelable is not cancelled; its signal still reaches it (I5, I13)', async () => {
  const controller = new AbortController()
  const run = runTool({ ...waiting, cancelable: false }, {}, { signal: controller.signal })
  await vi.advanceTimersByTimeAsync(10)
  expect(() => run.cancel()).toThrow(NotCancelableError)
  expect(run.status().state).toBe('running')
  controller.abort('enough')
  expect(await settled(run)).toMatchObject({ error: 'enough' })
})

test('signal and timeout reject with their reasons, and no listener is left on the signal (I13)', async () => {
  const controller = new AbortController()
  const reason = new Error('enough')
  const aborted = settled(runTool(waiting, {}, { signal: controller.signal }))
  const ended = settled(runTool(counting, { n: 1 }, { signal: controller.signal }))
  await vi.advanceTimersByTimeAsync(50)
  expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1)
  controller.abort(reason)
  expect(await aborted).toEqual({ error: reason, at: 50 })
  expect(await ended).toMatchObject({ value: { parts: 1 } })
  const execute = vi.fn(() => 'done')
  expect(await settled(runTool(made(execute), {}, { signal: controller.signal }))).toMatchObject({ error: reason })
  expect(execute).not.toHaveBeenCalled()
  expect(getEventListeners(controller.signal, 'abort')).toEqual([])

  const late = settled(runTool(waiting, {}, { timeout: 100 }))
  const own = settled(runTool({ ...waiting, timeout: 200 }, {}))
  await vi.runAllTimersAsync()
  expect(await late).toEqual({ error: new ToolTimeoutError('work', 100), at: 100 })
  expect(await own).toEqual({ error: new ToolTimeoutError('work', 200), at: 200 })
  expect(vi.getTimerCount()).toBe(0)
})

test('a tool that ignores its signal has the grace time, then is abandoned; result settles once (I13, K12)', async () => {
  const deaf = made(async function* () {
    try {
      await sleep(5_000)
      yield { message: 'late' }
      return 'late'
    } finally {
      tidied++
    }
  })
  let tidied = 0
  const controller = new AbortController()
  const runs = [
    runTool(deaf, {}, { grace: 300 }),
    runTool(deaf, {}, { signal: controller.signal }),
    runTool(deaf, {}, { timeout: 100 }),
  ]
  const outcomes = Promise.all(runs.map((run) => settled(run)))
  const progress = Promise.all(runs.map((run) => read(run.progress)))
  await vi.advanceTimersByTimeAsync(100)
  runs[0]?.cancel()
  controller.abort('enough')
  await vi.advanceTimersByTimeAsync(1_000)
  expect(await outcomes).toMatchObject([
    { error: { name: 'ToolCancelledError' }, at: 400 },
    { error: 'enough', at: 1_100 },
    { error: { name: 'ToolTimeoutError' }, at: 1_100 },
  ])
  expect(runs.map((run) => run.status().state)).toEqual(['abandoned', 'abandoned', 'abandoned'])
  expect(await progress).toEqual([[], [], []])
  await vi.runAllTimersAsync()
  expect(tidied).toBe(3)
  expect(vi.getTimerCount()).toBe(0)
})

test('a generator’s finally has run before the result settles (I13, I14)', async () => {
  const log: string[] = []
  const tidy = made(async function* (_, { signal }) {
    try {
      for (;;) {
        await sleep(30)
        yield { message: signal.aborted ? 'aborted' : 'at work' }
      }
    } finally {
      await sleep(20)
      log.push('tidied up')
    }
  })
  const run = runTool(tidy, {})
  run.result.catch(() => log.push('settled'))
  await vi.advanceTimersByTimeAsync(40)
  run.cancel()
  await vi.runAllTimersAsync()
  expect(log).toEqual(['tidied up', 'settled'])
})

test.for([
  [{ timeout: 0 }, {}, 'tool.timeout'],
  [{ concurrency: 0 }, {}, 'tool.concurrency'],
  [{}, { timeout: Number.NaN }, 'options.timeout'],
  [{}, { grace: -1 }, 'options.grace'],
  [{}, { signal: JSON.parse('"x"') as AbortSignal }, 'options.signal'],
  [{ execute: JSON.parse('"x"') as () => string }, {}, 'tool.execute'],
] as const)('an invalid option is a ConfigError: %o, %o (I11)', async ([more, options, option]) => {
  const execute = vi.fn(() => 'done')
  const run = runTool({ ...made(execute), ...more }, {}, options)
  await expect(run).rejects.toBeInstanceOf(ConfigError)
  await expect(run).rejects.toMatchObject({ option })
  expect(execute).not.toHaveBeenCalled()
})

test('a value that is not a tool is refused at once (A2)', () => {
  for (const none of [undefined, null, 'look']) {
    const start = () => runTool(none as never, {})
    expect(start).toThrow(expect.objectContaining({ name: 'ConfigError', option: 'tool' }))
  }
})
