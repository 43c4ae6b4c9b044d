import { call, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import { afterEvents } from '../../test/early-calls.ts'
import {
  type AgentEvent,
  type AgentRun,
  agentTool,
  createAgent,
  interrupt,
  type Json,
  type Middleware,
  map,
  type PathPart,
  type Progress,
  runTool,
  settle,
  type Tool,
  type ToolStatus,
  tool,
} from '../index.ts'

const EPOCH = 1_000_000

beforeEach(() => {
  vi.useFakeTimers({ now: EPOCH })
})
afterEach(() => {
  vi.useRealTimers()
})

const download = tool({
  name: 'download',
  description: 'Downloads',
  input: z.object({ fails: z.boolean().optional() }),
  async *execute({ fails }): AsyncGenerator<Progress, string> {
    yield { progress: 0.25, message: 'the first part' }
    await sleep(100)
    yield { progress: 0.5 }
    await sleep(100)
    if (fails) throw new Error('broken')
    return 'all of it'
  },
})

test('a call is queued, runs, and ends, with its progress and its times (I6)', async () => {
  const model = scriptedModel([
    respond(call('download', {}, { id: 'a' }), call('download', { fails: true }, { id: 'b' })),
    respond(say('Done.')),
  ])
  const run = createAgent({ model, tools: [download], toolConcurrency: 1 }).stream('Go')
  const seen: (readonly (ToolStatus | undefined)[])[] = []
  const look = () => seen.push([run.toolStatus('a'), run.toolStatus('b')])
  look()
  await vi.advanceTimersByTimeAsync(50)
  look()
  await vi.advanceTimersByTimeAsync(75)
  look()
  await vi.advanceTimersByTimeAsync(100)
  look()
  await vi.runAllTimersAsync()
  look()
  const first = { progress: 0.25, message: 'the first part' }
  const half = { ...first, progress: 0.5 }
  const [a, b] = [{ startedAt: EPOCH }, { startedAt: EPOCH + 200 }]
  expect(seen).toEqual([
    [undefined, undefined],
    [
      { state: 'running', cancelable: true, ...first, ...a },
      { state: 'queued', cancelable: true },
    ],
    [
      { state: 'running', cancelable: true, ...half, ...a },
      { state: 'queued', cancelable: true },
    ],
    [
      { state: 'ok', cancelable: true, ...half, ...a, endedAt: EPOCH + 200 },
      { state: 'running', cancelable: true, ...first, ...b },
    ],
    [
      { state: 'ok', cancelable: true, ...half, ...a, endedAt: EPOCH + 200 },
      { state: 'error', cancelable: true, ...half, ...b, endedAt: EPOCH + 400 },
    ],
  ])
  expect((await run.result).text).toBe('Done.')
})

test('a tool reads the status of its own call and of the other calls (I6)', async () => {
  const seen: unknown[] = []
  const looks = tool({
    name: 'looks',
    description: 'Looks',
    input: z.object({}),
    execute: (_, { run }) => void seen.push(run?.toolStatus('me'), run?.toolStatus('nobody')),
  })
  const model = scriptedModel([respond(call('looks', {}, { id: 'me' })), respond(say('Done.'))])
  await createAgent({ model, tools: [looks] }).run('Go')
  expect(seen).toEqual([{ state: 'running', cancelable: true, startedAt: EPOCH }, undefined])
})

test('after a resume the status shows that a call may have happened before (I6, L8)', async () => {
  const seen: unknown[] = []
  const flaky = tool({
    name: 'flaky',
    description: 'Fails at first',
    input: z.object({}),
    execute(_, { attempt, run }) {
      seen.push(run?.toolStatus('a'))
      if (attempt === 1) throw new Error('no luck')
    },
  })
  const asking: Middleware = {
    name: 'asking',
    async *wrapToolCall(call, next, run) {
      if (call.id === 'b' && run.answers.length === 0) throw interrupt('Shall it run?')
      try {
        return yield* next(call)
      } catch {
        if (run.answers.length === 0) throw interrupt('Once more?')
        seen.push(run.toolStatus('a'), run.toolStatus('b'))
        return yield* next(call)
      }
    },
  }
  const calls = [call('flaky', {}, { id: 'a' }), call('download', {}, { id: 'b' })]
  const model = scriptedModel([respond(...calls), respond(say('Done.'))])
  const agent = createAgent({ model, tools: [flaky, download], middleware: [asking] })
  const { checkpoint, interrupts = [] } = await agent.run('Go')
  if (!checkpoint) throw new Error('nobody asked')
  const run = agent.resume(checkpoint, Object.fromEntries(interrupts.map(({ id }) => [id, 'Yes.'])))
  await vi.runAllTimersAsync()
  await run.result
  expect(seen).toEqual([
    { state: 'running', cancelable: true, startedAt: EPOCH },
    { state: 'queued', cancelable: true, startedBefore: true },
    { state: 'queued', cancelable: true },
    { state: 'running', cancelable: true, startedAt: EPOCH, startedBefore: true },
  ])
})

test('the status shows how each call ended: also cancelled, timed out, abandoned, invalid and unknown ones (I6)', async () => {
  const waiting = (name: string, heeds: boolean, timeout?: number): Tool =>
    tool({
      name,
      description: name,
      input: z.object({}),
      ...(timeout !== undefined && { timeout }),
      execute: (_, { signal }) =>
        new Promise((_, reject) => {
          if (heeds) signal.addEventListener('abort', () => reject(signal.reason))
        }),
    }) as Tool
  const calls = ['cancelled', 'slow', 'deaf', 'nothing'].map((name) => call(name, {}, { id: name }))
  const model = scriptedModel([
    respond(...calls, call('download', { fails: 'yes' }, { id: 'invalid' })),
    respond(say('Done.')),
  ])
  const tools = [waiting('cancelled', true), waiting('slow', true, 100), waiting('deaf', false, 100), download as Tool]
  const run = createAgent({ model, tools, grace: 300 }).stream('Go')
  await vi.advanceTimersByTimeAsync(50)
  run.cancelTool('cancelled')
  await vi.runAllTimersAsync()
  expect((await run.result).abandoned).toEqual(['deaf'])
  const ids = ['cancelled', 'slow', 'deaf', 'nothing', 'invalid']
  expect(ids.map((id) => run.toolStatus(id))).toEqual([
    { state: 'cancelled', cancelable: true, startedAt: EPOCH, endedAt: EPOCH + 50 },
    { state: 'timed-out', cancelable: true, startedAt: EPOCH, endedAt: EPOCH + 100 },
    { state: 'abandoned', cancelable: true, startedAt: EPOCH, endedAt: EPOCH + 400 },
    { state: 'error', cancelable: true, endedAt: EPOCH },
    { state: 'error', cancelable: true, endedAt: EPOCH },
  ])
})

test('a call executed again keeps the time of its first start (I6, C14)', async () => {
  const again: Middleware = {
    name: 'again',
    async *wrapToolCall(request, next) {
      try {
        return yield* next(request)
      } catch {
        return yield* next({ ...request, input: {} })
      }
    },
  }
  const model = scriptedModel([respond(call('download', { fails: true }, { id: 'a' })), respond(say('Done.'))])
  const run = createAgent({ model, tools: [download], middleware: [again] }).stream('Go')
  await vi.runAllTimersAsync()
  await run.result
  expect(run.toolStatus('a')).toMatchObject({ state: 'ok', cancelable: true, startedAt: EPOCH, endedAt: EPOCH + 400 })
})

test.for([
  [undefined, 60_000],
  [500, 500],
])('with statusFor %s a call is forgotten %d ms after its end, and no timer is left (I6, A25)', async ([ms, end]) => {
  const model = scriptedModel([respond(call('download', {}, { id: 'a' })), respond(say('Done.'))])
  const agent = createAgent({ model, tools: [download], ...(ms !== undefined && { statusFor: ms }) })
  const run = agent.stream('Go')
  await vi.runAllTimersAsync()
  await run.result
  expect(vi.getTimerCount()).toBe(0)
  await vi.advanceTimersByTimeAsync((end ?? 0) - 1)
  expect(run.toolStatus('a')).toMatchObject({ state: 'ok', cancelable: true })
  await vi.advanceTimersByTimeAsync(1)
  expect(run.toolStatus('a')).toBeUndefined()
  expect(run.cancelTool('a')).toBe(false)
})

test('a call is forgotten when 1,000 more have ended (I6)', async () => {
  const quick = tool({ name: 'quick', description: 'Q', input: z.object({}), execute: () => 'done' })
  const calls = Array.from({ length: 1_001 }, (_, n) => call('quick', {}, { id: `c${n}` }))
  const model = scriptedModel([respond(...calls), respond(say('Done.'))])
  const run = createAgent({ model, tools: [quick] }).stream('Go')
  await vi.runAllTimersAsync()
  await run.result
  expect(run.toolStatus('c0')).toBeUndefined()
  expect(run.toolStatus('c1')).toEqual({ state: 'ok', cancelable: true, startedAt: EPOCH, endedAt: EPOCH })
  expect(run.toolStatus('c1000')).toEqual({ state: 'ok', cancelable: true, startedAt: EPOCH, endedAt: EPOCH })
})

test('work in the background is remembered from its end on, however many calls ended before that (I6, I15)', async () => {
  const input = z.object({})
  const quick = tool({ name: 'quick', description: 'Q', input, execute: () => 'done' })
  const build = tool({
    name: 'build',
    description: 'B',
    input,
    background: true,
    execute: () => new Promise((resolve) => setTimeout(resolve, 100, 'built')),
  })
  const calls = Array.from({ length: 1_000 }, () => call('quick'))
  const model = scriptedModel([
    respond(call('build', {}, { id: 'b' }), ...calls),
    respond(say('Soon.')),
    respond(say('Done.')),
  ])
  const run = createAgent({ model, tools: [quick, build] }).stream('Go')
  await vi.runAllTimersAsync()
  await run.result
  expect(run.toolStatus('b')).toEqual({ state: 'ok', cancelable: true, startedAt: EPOCH, endedAt: EPOCH + 100 })
})

test('the maker of a call receives it and can read its status forever; code that joins it does not (I6, A23)', async () => {
  const model = scriptedModel([respond(call('download', {}, { id: 'a' })), respond(say('Done.'))])
  const told: [string, () => ToolStatus][] = []
  const eager: Middleware = {
    name: 'eager',
    wrapModel: (request, next, run) =>
      map(next(request), (event) => {
        if (event.type !== 'tool-call') return event
        for (const who of ['first', 'second'])
          run.callTool(event.call, { started: (status) => told.push([who, status]) }).catch(() => undefined)
        return event
      }),
  }
  const run = createAgent({ model, tools: [download], middleware: [eager], statusFor: 0 }).stream('Go')
  await vi.runAllTimersAsync()
  expect(run.toolStatus('a')).toBeUndefined()
  expect(told.map(([who, status]) => [who, status()])).toEqual([
    [
      'first',
      {
        state: 'ok',
        cancelable: true,
        progress: 0.5,
        message: 'the first part',
        startedAt: EPOCH,
        endedAt: EPOCH + 200,
      },
    ],
  ])
})

/** Reports its position, then works for 100 ms. */
const indexes = (more: Omit<Partial<Tool>, 'needs'> = {}): Tool =>
  tool({
    name: 'indexes',
    description: 'I',
    input: z.object({}),
    async *execute() {
      yield { message: 'one', metadata: { file: 'a.ts' } }
      yield { progress: 0.5, metadata: { file: 'b.ts' } }
      yield { progress: 0.7 }
      await sleep(100)
    },
    ...more,
  }) as Tool

const calling = respond(call('indexes', {}, { id: 'a' }))
const done = respond(say('Done.'))

type Started = readonly [run: AgentRun, path?: readonly PathPart[]]

const places: Readonly<Record<string, (indexes: Tool) => Started>> = {
  'of a run': (indexes) => [createAgent({ model: scriptedModel([calling, done]), tools: [indexes] }).stream('Go')],
  'that started early': (indexes) => {
    const early: Middleware = {
      name: 'early',
      wrapModel: (request, next, run) =>
        map(next(request), (event) => {
          if (event.type === 'tool-call') run.callTool(event.call).catch(() => undefined)
          return event
        }),
    }
    const model = scriptedModel([respond(call('indexes', {}, { id: 'a' }), wait(60)), done])
    return [createAgent({ model, tools: [indexes], middleware: [early] }).stream('Go')]
  },
  'of an agent inside a call': (indexes) => {
    const inner = createAgent({
      name: 'inner',
      description: 'i',
      model: scriptedModel([calling, done]),
      tools: [indexes],
    })
    const model = scriptedModel([respond(call('inner', { request: 'Go' }, { id: 'outer' })), done])
    const run = createAgent({ model, tools: [agentTool(inner)] }).stream('Go')
    return [run, [{ agent: 'inner', callId: 'outer' }]]
  },
}

test.for(Object.entries(places).flatMap(([place, start]) => [true, false].map((can) => [place, can, start] as const)))(
  'the status and the progress of a call %s contain the metadata it reported last, and that it is cancelable: %s (P21, I6)',
  async ([, cancelable, start]) => {
    const [run, path] = start(indexes(cancelable ? {} : { cancelable }))
    const events: AgentEvent[] = []
    const reading = (async () => {
      for await (const event of run) events.push(event)
    })()
    await vi.advanceTimersByTimeAsync(50)
    const said = { message: 'one', metadata: { file: 'b.ts' }, progress: 0.7, cancelable }
    expect(run.toolStatus('a', path)).toEqual({ state: 'running', ...said, startedAt: EPOCH })
    await vi.runAllTimersAsync()
    await reading
    if (!path) expect(run.toolStatus('a')).toMatchObject({ state: 'ok', ...said })
    const told = events.flatMap((event) => (event.type === 'tool-progress' ? [event] : []))
    expect(told.map(({ metadata, cancelable }) => [metadata, cancelable])).toEqual([
      [{ file: 'a.ts' }, cancelable],
      [{ file: 'b.ts' }, cancelable],
      [undefined, cancelable],
    ])
  },
)

test('the status of work in the background contains its metadata for the application; the model reads its message (P21, I16)', async () => {
  const model = scriptedModel([
    respond(call('indexes', {}, { id: 'a' })),
    respond(call('tool_status', { callId: 'a' })),
    done,
    done,
  ])
  const run = createAgent({ model, tools: [indexes({ background: true, cancelable: false })] }).stream('Go')
  await vi.advanceTimersByTimeAsync(50)
  expect(run.toolStatus('a')).toMatchObject({ state: 'running', metadata: { file: 'b.ts' }, cancelable: false })
  await vi.runAllTimersAsync()
  const { messages } = await run.result
  const asked = messages.flatMap((message) => (message.role === 'tool' ? [message] : [])).at(-1)
  expect(asked?.output).toEqual({ callId: 'a', state: 'running', progress: 0.7, message: 'one' })
})

test('the status of a tool without a run contains both, too (P21, I11)', async () => {
  const run = runTool(indexes({ cancelable: false }), {})
  expect(run.status()).toEqual({ state: 'queued', cancelable: false })
  await vi.advanceTimersByTimeAsync(50)
  expect(run.status()).toMatchObject({ state: 'running', metadata: { file: 'b.ts' }, cancelable: false })
  await vi.runAllTimersAsync()
  await run.result
})

test('metadata stays as it was when it was yielded, whatever its tool or a reader does to it later (P15, P21)', async () => {
  const seen: unknown[] = []
  const counting = indexes({
    async *execute() {
      const metadata = { files: 1 }
      yield { metadata }
      metadata.files++
      yield { metadata }
      metadata.files++
      await sleep(100)
    },
  })
  const model = scriptedModel([calling, done])
  const run = createAgent({ model, tools: [counting] }).stream('Go')
  for await (const event of run) {
    if (event.type !== 'tool-progress') continue
    seen.push(event.metadata)
    expect(() => Object.assign(event.metadata as object, { files: 9 })).toThrow(TypeError)
    await vi.advanceTimersByTimeAsync(0)
    if (seen.length === 2) void vi.runAllTimersAsync()
  }
  expect(seen).toEqual([{ files: 1 }, { files: 2 }])
  expect(run.toolStatus('a')).toMatchObject({ metadata: { files: 2 } })
})

test('metadata that is not JSON fails its call (P21)', async () => {
  const metadata: object = { close: () => undefined }
  const wrong = indexes({
    async *execute() {
      yield { metadata: metadata as Json }
    },
  })
  const { messages } = await createAgent({ model: scriptedModel([calling, done]), tools: [wrong] }).run('Go')
  expect(messages[2]).toMatchObject({ isError: true, content: [{ text: 'the metadata of progress must be JSON' }] })
})

/**
 * Calls `search`, whose name is known at once and whose input arrives 200 ms later, in this wrap. Returns how long they have waited by
 * then.
 */
async function waitedBy(
  times: readonly number[],
  execute: (rest: Promise<unknown>, attempt: number) => unknown,
  wrap: Middleware,
) {
  const search = tool({
    name: 'search',
    description: 'Searches',
    input: z.object({ q: z.string() }),
    effect: 'read',
    needs: [],
    execute: (_, { rest, attempt }) => execute(rest, attempt),
  })
  const waited: unknown[] = []
  const whole = { type: 'tool-call', id: 'c', name: 'search', input: { q: 'owls' } } as const
  const starting = afterEvents(async (event, run) => {
    if (event.type !== 'tool-input-ready') return
    run.callTool({ ...whole, input: {} }, { rest: sleep(200).then(() => whole) }).catch(() => undefined)
    for (const [index, time] of times.entries()) {
      await sleep(time - (times[index - 1] ?? 0))
      waited.push(run.toolStatus('c')?.waitedMs)
    }
  })
  const model = scriptedModel([respond(call('search', whole.input, { id: 'c' })), respond(say('Done.'))])
  const run = createAgent({ model, tools: [search as Tool], middleware: [wrap, starting] }).run('Go')
  await vi.runAllTimersAsync()
  await run
  return waited
}

const once: Middleware = { name: 'once', ignoresInput: true, wrapToolCall: (call, next) => next(call) }

test('a status shows how long a call has waited for the rest of its input, also while it waits (Q7)', async () => {
  const working = async (rest: Promise<unknown>) => {
    await sleep(50)
    await rest
    await sleep(100)
  }
  expect(await waitedBy([40, 60, 150, 250, 400], working, once)).toEqual([undefined, 10, 100, 150, 150])
  expect(await waitedBy([150, 400], () => sleep(300), once)).toEqual([undefined, undefined])
})

test('each execution of a call waits separately, and no longer than it works; the waits of two at once are not counted twice (Q7)', async () => {
  const impatient = async (rest: Promise<unknown>, attempt: number) => {
    if (attempt === 1) return Promise.race([rest, sleep(100).then(() => Promise.reject(new Error('too late')))])
    await sleep(50)
    return rest
  }
  const again: Middleware = {
    name: 'again',
    ignoresInput: true,
    async *wrapToolCall(call, next) {
      try {
        return yield* next(call)
      } catch {
        return yield* next(call)
      }
    },
  }
  expect(await waitedBy([80, 140, 180, 400], impatient, again)).toEqual([80, 100, 130, 150])
  const both: Middleware = {
    name: 'both',
    ignoresInput: true,
    async *wrapToolCall(call, next) {
      const [made, other] = [next(call), next(call)].map(settle)
      await other
      if (!made) throw new Error('next gave no flow')
      return await made
    },
  }
  expect(await waitedBy([100, 400], (rest) => rest, both)).toEqual([100, 200])
})
