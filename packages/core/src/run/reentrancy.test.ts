import { getEventListeners } from 'node:events'
import { assertTranscript } from '@meanwhile/harness/assert'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { beforeEach, expect, test, vi } from 'vitest'
import { type Life, lives } from '../../test/reentrant-lives.ts'
import { Play, saidIn } from '../../test/reentrant-play.ts'
import { ASIDE, type Scenario, scenarios } from '../../test/reentrant-scenario.ts'
import { type PlayClock, turn } from '../../test/standing-clock.ts'
import { AgentError, type AgentEvent, InputError, type Message, runTool, textOf } from '../index.ts'

// A run that its tools, wraps, hooks, reader and store call back in the same turn in which it does something.

/** A longer search: REENTRANCY_RUNS=100000 REENTRANCY_SEED=7 npx vitest run reentrancy */

const unhandled = unhandledRejections()

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const clock: PlayClock = {
  count: () => vi.getTimerCount(),
  next: () => void vi.advanceTimersToNextTimer(),
  pass: async (ms) => void (await vi.advanceTimersByTimeAsync(ms)),
}

/** A call has at most one start and one end in a run, unless it was discarded and is made again; a run's end is the last event. */
function checkEvents(events: readonly AgentEvent[]): void {
  const told = new Set<string>()
  for (const event of events) {
    if (!('callId' in event)) continue
    const of = (type: string) => `${type} ${JSON.stringify(event.path ?? [])} ${event.callId}`
    if (event.type === 'tool-discarded') told.delete(of('tool-start'))
    if (event.type !== 'tool-start' && event.type !== 'tool-end') continue
    expect(told).not.toContain(of(event.type))
    told.add(of(event.type))
  }
  const last = events.findIndex((event) => event.type === 'run-end' && !event.path)
  if (last >= 0) expect(last).toBe(events.length - 1)
}

/** No call is made twice; a result comes from one execution of its own call. */
function checkCalls({ executions }: Play, messages: readonly Message[]): void {
  const times = new Map<string, number>()
  for (const { tool, key, repeats, edited, void: isVoid } of executions) {
    if (isVoid || edited || tool === 'look') continue
    times.set(key, (times.get(key) ?? 0) + (repeats ? 0.5 : 1))
  }
  expect([...times].filter(([, count]) => count > 1)).toEqual([])
  const made = new Set(executions.flatMap(({ key, void: isVoid }) => (isVoid ? [] : [key])))
  const results = messages.flatMap((message) => {
    const hasOutput = message.role === 'tool' && !message.isError && !['later', 'nested'].includes(message.name)
    return hasOutput && message.content[0]?.type === 'text' ? [message.content[0].text] : []
  })
  expect(results).toEqual([...new Set(results)])
  expect(results.filter((key) => !made.has(key))).toEqual([])
}

/** What was sent before a resume had begun its first step is in its first request; the reader knows the text of a cancelled answer. */
function checkSaid(play: Play, { before, events, result }: Life): void {
  if (play.asked.length > before.asked) expect(play.asked[before.asked]).toBeGreaterThanOrEqual(before.sent)
  const cancelled = events.findLast((event) => event.type === 'attempt-cancelled' && !event.path)
  const last = result?.messages[result.checkpoint?.messages.length ?? 0]
  if (last?.role !== 'assistant' || !last.cutOff || cancelled?.type !== 'attempt-cancelled') return
  const isOf = (event: AgentEvent) =>
    event.type === 'text-delta' && !event.path && event.step === cancelled.step && event.attempt === cancelled.attempt
  expect(textOf(last)).toBe(events.flatMap((event) => (isOf(event) && 'delta' in event ? [event.delta] : [])).join(''))
}

/** Calls in a run that is over are not made. */
async function checkOver(play: Play): Promise<void> {
  const { length } = play.executions
  await expect(play.callLate() ?? Promise.reject(new Error('nobody has seen it'))).rejects.toThrow()
  expect(play.executions).toHaveLength(length)
}

/** Nothing holds the slot of the tool with one slot, or waits for it. */
async function checkSlot({ single }: Play): Promise<void> {
  for (let times = 0; times < 2; times++) {
    const alone = runTool(single, { ...ASIDE, ms: 0 })
    await turn()
    expect(['ok', 'error']).toContain(alone.status().state)
  }
}

async function check(scenario: Scenario): Promise<void> {
  vi.clearAllTimers()
  const play = new Play(scenario)
  const told: AgentEvent[] = []
  let isAborted = false
  for await (const life of lives(play, scenario, clock)) {
    play.spans.assertEndedOnce()
    expect(getEventListeners(play.controller.signal, 'abort')).toEqual([])
    expect([life.timers, clock.count()]).toEqual([0, 0])
    await checkOver(play)
    expect(unhandled).toEqual([])
    const { events, result, error } = life
    told.push(...events)
    checkEvents(events)
    const messages = result?.messages ?? (error instanceof AgentError ? error.messages : undefined) ?? []
    checkCalls(play, messages)
    expect(play.refused).toEqual([])
    if (result?.status !== 'interrupted') assertTranscript(messages)
    if (error instanceof InputError) {
      expect(error.problem).toBe('run-ended')
      continue
    }
    if (!isAborted) checkSaid(play, life)
    if (!result) {
      expect(error).toMatchObject({ name: 'AbortError' })
      expect(play.done).toContain('abort')
      isAborted = true
      continue
    }
    if (result.status === 'completed') {
      const answered = messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : []))
      const ended = told.flatMap((event) => (event.type === 'tool-end' && !event.path ? [event.callId] : []))
      const isTold = ended.filter((id) => answered.includes(id)).toSorted()
      // A call that an abort cut off was reported then, and again when the resume ended.
      expect(isAborted ? [...new Set(isTold)] : isTold).toEqual(answered.toSorted())
      if (!isAborted) expect(saidIn(messages)).toBe(play.sent)
      continue
    }
    const asking = (result.interrupts ?? []).flatMap(({ address }) =>
      address.map((part) => ('callId' in part ? part.callId : '')),
    )
    expect(asking.filter((id) => play.cancelled.has(id))).toEqual([])
  }
  await checkSlot(play)
  expect(unhandled).toEqual([])
  expect(clock.count()).toBe(0)
}

const usual: Scenario = {
  works: [{ name: 'look', ...ASIDE, ms: 0 }],
  turns: [{ calls: [0], wait: 0, end: 'whole', edited: false }],
  early: 'all',
  acts: [],
  toolConcurrency: 1,
  stored: false,
  answers: 1,
}

/** Scenarios that failed once. */
const FOUND: readonly Scenario[] = [
  // Background work began after an abort, and a resume began it again.
  {
    ...usual,
    works: [{ name: 'later', ...ASIDE, ms: 0, fails: true }],
    turns: [{ calls: [0, 0], wait: 0, end: 'whole', edited: false }],
    early: 'all but the first',
    acts: [{ at: 'a call is judged', nth: 1, act: 'abort' }],
    stored: true,
  },
  // Work that was over, and not settled yet, was made again.
  {
    ...usual,
    works: [{ name: 'later', ...ASIDE, ms: 0 }],
    early: 'none',
    acts: [
      { at: 'a wrap has a result', nth: 1, act: 'cancel now' },
      { at: 'a tool starts', nth: 1, act: 'cancel after-tools' },
    ],
  },
  // A side call of a cancelled call looked like a failure of the model, and ended the run.
  {
    ...usual,
    works: [{ name: 'send', ms: 0, deaf: false, fails: true, waits: 'for its call', calls: false, wrap: 'passes' }],
    turns: [{ calls: [0, 0], wait: 0, end: 'whole', edited: false }],
    early: 'none',
    acts: [
      { at: 'a tool starts', nth: 2, act: 'cancel the call' },
      { at: 'a tool starts', nth: 2, act: 'call the model' },
      { at: 'a tool starts', nth: 1, act: 'cancel now' },
    ],
  },
  // An undo that a kill cut off was made again.
  {
    ...usual,
    works: [{ name: 'hold', ms: 0, deaf: true, fails: false, waits: 'for nothing', calls: false, wrap: 'passes' }],
    turns: [{ calls: [0], wait: 0, end: 'fails first', edited: false }],
    early: 'all but the first',
    acts: [{ at: 'the model has spoken', nth: 1, act: 'abort' }],
    stored: true,
  },
  // Runs hung.
  {
    ...usual,
    works: [{ name: 'put', ...ASIDE, ms: 0, deaf: true }],
    turns: [
      { calls: [0], wait: 0, end: 'whole', edited: false },
      { calls: [0, 0], wait: 0, end: 'fails first', edited: false },
    ],
    early: 'all but the first',
    acts: [
      { at: 'a tool starts', nth: 3, act: 'call the same tool' },
      { at: 'the model has spoken', nth: 2, act: 'cancel the call, and ask' },
    ],
  },
  {
    ...usual,
    works: [{ name: 'send', ...ASIDE, ms: 0 }],
    acts: [
      { at: 'a wrap has a call', nth: 1, act: 'call the same tool' },
      { at: 'the model has spoken', nth: 1, act: 'ask' },
    ],
  },
  {
    ...usual,
    works: [{ name: 'look', ...ASIDE, ms: 0, fails: true }],
    turns: [{ calls: [0, 0], wait: 0, end: 'whole', edited: false }],
    early: 'all but the first',
    acts: [
      { at: 'the model has spoken', nth: 1, act: 'cancel the call, and ask' },
      { at: 'a tool starts', nth: 1, act: 'call the same tool' },
    ],
  },
]

test('called back in the same turn in which it does something, a run makes no call twice and loses none, nor their inner calls, reports each once, ends, and leaves nothing behind (A14, A23, A25, B6, H26, I4, K4 to K15, L3, L7, L20, L21, P5, P7, P8, P22, MA14, MA20)', async () => {
  await fc.assert(fc.asyncProperty(scenarios, check), {
    ...propertyRuns({ small: 6, middle: 9, whole: 50_000 }),
    examples: FOUND.map((one) => [one]),
  })
})
