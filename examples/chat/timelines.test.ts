import { call, cut, respond, type ScriptResponse, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { type AgentResult, createAgent, type Run, type Tool, textOf, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { approve, retryModel } from '@meanwhile/middleware'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { type TimesStore, timelines } from './timelines.ts'
import { type Times, totals } from './times.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const input = z.object({ ms: z.number() })
const execute = ({ ms }: z.infer<typeof input>) => new Promise<string>((resolve) => setTimeout(resolve, ms, 'done'))
const look = tool({ name: 'look', description: 'Looks.', input, effect: 'read', execute })
const book = tool({ name: 'book', description: 'Books.', input, execute })

/** Runs an agent that plays this script, and answers each question after a minute. */
async function timesOf(early: boolean, ...script: readonly ScriptResponse[]): Promise<Times> {
  const store = memoryTimes()
  await played(store, early, script)
  const [times] = store.kept.values()
  if (!times) throw new Error('no times')
  return JSON.parse(times)
}

function memoryTimes() {
  const kept = new Map<string, string>()
  return {
    kept,
    read: (turn: string) => kept.get(turn),
    save: (turn: string, times: string) => void kept.set(turn, times),
  }
}

async function played(store: TimesStore, early: boolean, script: readonly ScriptResponse[]): Promise<AgentResult> {
  const isEarly = (_: Run) => early
  const agent = createAgent({
    model: scriptedModel([...script, respond(wait(50), say('Done.'))]),
    tools: [look, book] as Tool[],
    middleware: [
      retryModel(),
      approve({ tools: ['book'] }),
      eagerTools({ policy: (_, { run }) => (isEarly(run) ? undefined : 'wait') }),
      timelines(store, isEarly),
    ],
  })
  const work = (async () => {
    let result = await agent.run('Go')
    while (result.status === 'interrupted') {
      await new Promise((resolve) => setTimeout(resolve, 60_000))
      const answers = Object.fromEntries(result.interrupts.map(({ id }) => [id, { decision: 'allow' }]))
      result = await agent.resume(result.checkpoint, answers).result
    }
    return result
  })()
  await vi.runAllTimersAsync()
  return work
}

test('the line says of each position of the switch what the other one takes (UI2)', async () => {
  const part = fc.oneof(
    fc.integer({ min: 1, max: 900 }).map((ms) => wait(ms)),
    fc.integer({ min: 1, max: 900 }).map((ms) => call('look', { ms })),
    fc.integer({ min: 1, max: 900 }).map((ms) => call('book', { ms })),
  )
  const property = fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 7 }), async (parts) => {
    const response = respond(say('I begin.'), ...parts, wait(10), say('I go on.'))
    const [on, off] = [await timesOf(true, response), await timesOf(false, response)]
    expect([totals(on).other, totals(off).other]).toEqual([totals(off).total, totals(on).total])
  })
  await fc.assert(property, propertyRuns({ small: 10, middle: 15, whole: 50 }))
})

test('what a turn took does not contain the time in which it waited for a person (UI2)', async () => {
  const times = await timesOf(true, respond(wait(100), call('book', { ms: 300 })))
  expect(totals(times)).toEqual({ total: 450, other: 450 })
  expect(times.breaks).toEqual([{ at: 100, why: 'you' }])
})

test('a slow tool that starts in the middle of a text saves the rest of the text (UI2)', async () => {
  const response = respond(wait(100), call('look', { ms: 500 }), wait(300), say('There.'))
  expect(totals(await timesOf(true, response))).toEqual({ total: 650, other: 950 })
  expect(totals(await timesOf(false, response))).toEqual({ total: 950, other: 650 })
})

test('a call that was started by an attempt which then failed is one call, which began there (UI2)', async () => {
  for (const id of ['a', 'b']) {
    const failed = respond(wait(100), call('look', { ms: 500 }, { id: 'a' }), wait(200), cut())
    const times = await timesOf(true, failed, respond(call('look', { ms: 500 }, { id }), wait(50), say('There.')))
    const calls = times.steps.flatMap((step) => step.calls)
    expect(calls).toEqual([expect.objectContaining({ tool: 'look', start: 100, end: 600 })])
  }
})

test('a call that asks the user has not failed (UI2)', async () => {
  const store = memoryTimes()
  const choose = tool({ name: 'choose', description: 'Chooses.', input: z.object({}) }) as Tool
  const middleware = [timelines(store, () => true)]
  const work = createAgent({ model: scriptedModel([respond(call('choose'))]), tools: [choose], middleware }).run('Go')
  await vi.runAllTimersAsync()
  expect((await work).status).toBe('interrupted')
  const [times = ''] = store.kept.values()
  const { steps }: Times = JSON.parse(times)
  expect(steps[0]?.calls).toEqual([expect.not.objectContaining({ isFailed: true })])
})

test('a page that sees the end of a turn finds its times, also in a slow store (UI2)', async () => {
  const kept: string[] = []
  const save = async (_: string, times: string) => {
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    kept.push(times)
  }
  const middleware = [timelines({ ...memoryTimes(), save }, () => true)]
  const agent = createAgent({ model: scriptedModel([respond(say('Hello.'))]), middleware })
  const atTheEnd = agent.run('Go').then(() => kept.map((times) => JSON.parse(times).state).at(-1))
  await vi.runAllTimersAsync()
  expect(await atTheEnd).toBe('ended')
})

test('the times of a turn are saved when they change, not at each word (UI2)', async () => {
  const saves: string[] = []
  const store = { ...memoryTimes(), save: (_: string, times: string) => void saves.push(times) }
  const words = Array.from({ length: 500 }, () => say('word '))
  await played(store, true, [respond(...words, call('look', { ms: 300 }))])
  // It begins; each response begins, has its first word, and ends; a call is ready, starts and ends, at most three times told; it ends.
  expect(saves.length).toBeLessThan(20)
})

test('a store that fails is only a warning: the turn ends as it would, also after an answer (UI2)', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const full = () => {
    throw new Error('the disk is full')
  }
  const script = [respond(wait(100), call('look', { ms: 300 }), call('book', { ms: 300 }))]
  for (const broken of [{ save: full }, { read: full }, { save: () => Promise.reject(new Error('no database')) }]) {
    const { status, messages } = await played({ ...memoryTimes(), ...broken }, true, script)
    const results = messages.flatMap((message) => (message.role === 'tool' ? [textOf(message)] : []))
    expect([status, results]).toEqual(['completed', ['done', 'done']])
    expect(warn).toHaveBeenCalled()
    warn.mockClear()
  }
  warn.mockRestore()
})

test('what a busy process has delayed after the response counts as neither saved nor lost (UI2)', () => {
  const calls = [{ id: 'a', tool: 'book', start: 140, end: 240 }]
  const late = { began: 0, state: 'ended', breaks: [], steps: [{ at: 0, end: 100, calls }] } as const
  for (const early of [true, false]) expect(totals({ ...late, early })).toEqual({ total: 240, other: 240 })
})
