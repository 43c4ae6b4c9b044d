import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import {
  createAgent,
  interrupt,
  type Middleware,
  map,
  type Progress,
  type Tool,
  type ToolStatus,
  tool,
} from '../index.ts'
import { call, respond, say, scriptedModel } from '../testing.ts'

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
    [{ state: 'running', ...first, ...a }, { state: 'queued' }],
    [{ state: 'running', ...half, ...a }, { state: 'queued' }],
    [
      { state: 'ok', ...half, ...a, endedAt: EPOCH + 200 },
      { state: 'running', ...first, ...b },
    ],
    [
      { state: 'ok', ...half, ...a, endedAt: EPOCH + 200 },
      { state: 'error', ...half, ...b, endedAt: EPOCH + 400 },
    ],
  ])
  expect((await run.result).text).toBe('Done.')
})

test('a tool sees its own call’s status and those of its siblings (I6)', async () => {
  const seen: unknown[] = []
  const looks = tool({
    name: 'looks',
    description: 'Looks',
    input: z.object({}),
    execute: (_, { run }) => void seen.push(run?.toolStatus('me'), run?.toolStatus('nobody')),
  })
  const model = scriptedModel([respond(call('looks', {}, { id: 'me' })), respond(say('Done.'))])
  await createAgent({ model, tools: [looks] }).run('Go')
  expect(seen).toEqual([{ state: 'running', startedAt: EPOCH }, undefined])
})

test('after a resume it is told that a call may have happened before (I6, L8)', async () => {
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
    { state: 'running', startedAt: EPOCH },
    { state: 'queued', startedBefore: true },
    { state: 'queued' },
    { state: 'running', startedAt: EPOCH, startedBefore: true },
  ])
})

test('how each call ended is told: cancelled, timed out, abandoned, invalid and unknown ones too (I6)', async () => {
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
    { state: 'cancelled', startedAt: EPOCH, endedAt: EPOCH + 50 },
    { state: 'timed-out', startedAt: EPOCH, endedAt: EPOCH + 100 },
    { state: 'abandoned', startedAt: EPOCH, endedAt: EPOCH + 400 },
    { state: 'error', endedAt: EPOCH },
    { state: 'error', endedAt: EPOCH },
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
  expect(run.toolStatus('a')).toMatchObject({ state: 'ok', startedAt: EPOCH, endedAt: EPOCH + 400 })
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
  expect(run.toolStatus('a')).toMatchObject({ state: 'ok' })
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
  expect(run.toolStatus('c1')).toEqual({ state: 'ok', startedAt: EPOCH, endedAt: EPOCH })
  expect(run.toolStatus('c1000')).toEqual({ state: 'ok', startedAt: EPOCH, endedAt: EPOCH })
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
  expect(run.toolStatus('b')).toEqual({ state: 'ok', startedAt: EPOCH, endedAt: EPOCH + 100 })
})

test('whoever makes a call is told, and can ask how it is doing for ever; whoever joins it is not (I6, A23)', async () => {
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
    ['first', { state: 'ok', progress: 0.5, message: 'the first part', startedAt: EPOCH, endedAt: EPOCH + 200 }],
  ])
})
