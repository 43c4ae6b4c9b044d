import { collect } from '@meanwhile/assemble/testing'
import { createAgent, type Middleware, type Tool, tool } from '@meanwhile/core'
import { played } from '@meanwhile/tests/clock'
import { beforeEach, expect, test, vi } from 'vitest'
import { page } from '../test/library.ts'
import { outline } from '../test/outline.ts'
import { DELTAS, ran, reading } from '../test/prefix-runs.ts'
import { sayDone, tellingModel } from '../test/telling-model.ts'
import { eagerTools } from './index.ts'

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

test('inside a wrapToolCall, or with prepareInput, calls start only with their whole input, and no ready event is sent (H31)', async () => {
  const seen: unknown[] = []
  const judge: Middleware = {
    name: 'judge',
    async *wrapToolCall(call, next) {
      seen.push(call.input)
      return yield* next(call)
    },
  }
  const judged = await ran({ middleware: [judge] })
  expect(judged.log).toEqual(['400 open a.txt', '400 read a.txt 7'])
  expect(seen).toEqual([{ path: 'a.txt', from: 7 }])
  expect(outline(judged.events)).not.toContain('tool-input-ready c1')
  expect((await ran({ prepareInput: (input) => input })).log[0]).toBe('400 open a.txt')
})

test('inside a wrapToolCall that ignores inputs they start with the needed members, and with nothing else (H31)', async () => {
  const seen: unknown[] = []
  const wrap = (change: (input: unknown) => unknown): Middleware => ({
    name: 'wrap',
    ignoresInput: true,
    async *wrapToolCall(call, next) {
      seen.push(call.input)
      return yield* next({ ...call, input: change(call.input) })
    },
  })
  expect((await ran({ middleware: [wrap((input) => input)] })).log).toEqual(['200 open a.txt', '400 read a.txt 7'])
  expect(seen.splice(0)).toEqual([{ path: 'a.txt' }])
  const changing = await ran({ middleware: [wrap((input) => ({ from: 0, ...Object(input), path: 'b.txt' }))] })
  expect(changing.log).toEqual(['400 open b.txt', '400 read b.txt 7'])
})

test('if a wrap repeats a call which started on its needs, later or at once, each execution is as without eager tools (P4)', async () => {
  const again = (atOnce: boolean): Middleware => ({
    name: 'again',
    ignoresInput: true,
    async *wrapToolCall(call, next) {
      const made = async () => {
        const flow = next(call)
        for (;;) {
          const step = await flow.next()
          if (step.done) return step.value
        }
      }
      const first = made()
      if (!atOnce) await first
      const [one, other] = await Promise.all([first, made()])
      return { ...one, content: [...one.content, ...other.content] }
    },
  })
  const given: [attempt: number, given: object][] = []
  const spoiling = tool({
    name: 'read',
    description: 'Changes what it is given.',
    input: page,
    effect: 'read',
    needs: ['path'],
    async execute(input, { attempt, rest }) {
      given.push([attempt, { ...input }])
      input.path = 'spoilt'
      const whole = await rest
      given.push([attempt, { ...whole }])
      whole.from = 0
      return `${attempt}`
    },
  })
  const made = async (middleware: Middleware[]) => {
    const model = tellingModel([reading(DELTAS), sayDone])
    const { result } = await played(collect(createAgent({ model, tools: [spoiling as Tool], middleware }).stream('Go')))
    return { messages: result?.messages, given: given.splice(0).toSorted(([a], [b]) => a - b) }
  }
  for (const atOnce of [false, true]) {
    const eager = await made([again(atOnce), eagerTools()])
    expect(eager.given).toEqual([
      [1, { path: 'a.txt' }],
      [1, { path: 'a.txt', from: 7 }],
      [2, { path: 'a.txt' }],
      [2, { path: 'a.txt', from: 7 }],
    ])
    expect(eager).toEqual(await made([again(atOnce)]))
  }
})
