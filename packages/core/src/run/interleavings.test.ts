import { getEventListeners } from 'node:events'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { propertyRuns } from '@meanwhile/tests/size'
import { DiagLogLevel, diag } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import fc from 'fast-check'
import { beforeEach, expect, test, vi } from 'vitest'
import { type Case, cases } from '../../test/interleaved-cases.ts'
import { interleavedLives } from '../../test/interleaved-lives.ts'
import { InterleavedPlay, saidIn } from '../../test/interleaved-play.ts'
import type { PlayClock } from '../../test/standing-clock.ts'
import { AgentError, type AgentEvent, callsOf, type Message, RunAbortedError } from '../index.ts'

// One run under random interleavings of everything that may happen to it, resumed until it has completed or failed.

const runs = propertyRuns({ small: 12, middle: 18, whole: 50_000 })

const clock: PlayClock = {
  count: () => vi.getTimerCount(),
  next: () => void vi.advanceTimersToNextTimer(),
  pass: async (ms) => void (await vi.advanceTimersByTimeAsync(ms)),
}

class Spans {
  /** The names of the spans that have begun and not ended, by id. */
  readonly open = new Map<string, string>()
  readonly problems: string[] = []

  onStart(span: ReadableSpan): void {
    this.open.set(span.spanContext().spanId, span.name)
  }

  onEnd(span: ReadableSpan): void {
    if (!this.open.delete(span.spanContext().spanId)) this.problems.push(`${span.name} ended twice`)
  }

  async forceFlush(): Promise<void> {}
  async shutdown(): Promise<void> {}
}

/** Each call has at most one result, after it and before the next response; `whole`: exactly one, and in call order. */
function checkHistory(messages: readonly Message[], whole: boolean): void {
  let asked: string[] = []
  let answered: string[] = []
  const check = () => {
    expect(asked).toEqual(expect.arrayContaining(answered))
    if (whole) expect(answered).toEqual(asked)
    expect(new Set(answered).size).toBe(answered.length)
  }
  for (const message of messages) {
    if (message.role === 'tool') answered.push(message.callId)
    else if (message.role === 'assistant') {
      check()
      asked = callsOf(message).map(({ id }) => id)
      answered = []
    }
    // Nothing comes between a call and its result.
    else expect(answered.length).toBe(whole || answered.length > 0 ? asked.length : answered.length)
  }
  check()
}

/** The provisional part of a call's events has one end in each run. */
function checkProvisional(events: readonly AgentEvent[], over: boolean): void {
  const open = new Map<string, number>()
  for (const event of events) {
    if (event.type === 'tool-start' && event.provisional) open.set(event.callId, 1)
    if (event.type === 'tool-end' && open.has(event.callId)) expect(open.get(event.callId)).toBe(0)
    if (event.type === 'tool-committed' || event.type === 'tool-discarded') {
      const id = event.type === 'tool-committed' ? (event.startedAs ?? event.callId) : event.callId
      if (open.has(id)) {
        expect(open.get(id)).toBe(1)
        open.set(id, 0)
      }
    }
  }
  if (over) expect([...open.values()].filter((count) => count > 0)).toEqual([])
}

unhandledRejections()

beforeEach(() => {
  vi.useFakeTimers()
  return () => {
    vi.useRealTimers()
    diag.disable()
  }
})

const ends = new Map<string, number>()

async function check(options: Case): Promise<void> {
  vi.clearAllTimers()
  const spans = new Spans()
  const play = new InterleavedPlay(options, [spans])
  const events: AgentEvent[] = []
  for await (const life of interleavedLives(play, options, clock)) {
    const { result, error, told, isResumed, before } = life
    // A message before the first step of a resume comes before its model call.
    if (play.asked.length > before.asked) expect(play.asked[before.asked]).toBeGreaterThanOrEqual(before.sent)
    events.push(...life.events)
    expect(life.timersLeft).toBe(0)
    expect(getEventListeners(play.controller.signal, 'abort')).toEqual([])
    expect([...spans.open.values()]).toEqual([])
    expect(spans.problems).toEqual([])
    expect(life.events[0]).toMatchObject({ type: 'run-start', ...(isResumed && { resumed: true }) })
    const kind = result?.status ?? (error as Error).name
    ends.set(kind, (ends.get(kind) ?? 0) + 1)
    if (!result) {
      expect(error).toBeInstanceOf(AgentError)
      checkHistory((error as AgentError).messages ?? [], true)
      checkProvisional(life.events, true)
      if (told.length > 0)
        expect(new Set(told)).toEqual(new Set([error instanceof RunAbortedError ? 'aborted' : 'ended']))
      checkEnds(events, (error as AgentError).messages ?? [])
      continue
    }
    expect(life.events.at(-1)).toMatchObject({ type: 'run-end', result })
    checkHistory(result.messages, result.status !== 'interrupted')
    checkProvisional(life.events, result.status === 'completed')
    if (told.length > 0) expect(new Set(told)).toEqual(new Set([result.status === 'cancelled' ? 'cancelled' : 'ended']))
    if (result.status === 'completed') {
      checkEnds(events, result.messages)
      // No sent message is lost.
      expect(saidIn(result.messages)).toBe(play.sent)
      continue
    }
    expect(JSON.parse(JSON.stringify(result.checkpoint))).toEqual(result.checkpoint)
  }
  expect(play.refused).toEqual([])
  // Whatever happened: only reads were executed twice, and calls that had asked before they acted.
  for (const [call, count] of play.executions) {
    if (!/^[a-z]+_read /.test(call))
      expect([call, count]).toEqual([call, /^(asks|nests|sends)_/.test(call) ? count : 1])
  }
}

/** Over a run and its resumes each call with a result has one `tool-end`. */
function checkEnds(events: readonly AgentEvent[], messages: readonly Message[]): void {
  const ids = messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : []))
  const ended = events.flatMap((event) =>
    event.type === 'tool-end' && !event.callId.startsWith('in ') ? [event.callId] : [],
  )
  expect(ended.toSorted()).toEqual(ids.toSorted())
}

test('whatever happens to a run, and whenever: it ends, leaves nothing behind, makes its inner calls, and a resume continues to the end (K4 to K11, K14, K15, K17 to K19, A14, A25, B6, B8, L20, P5, P7, P8)', async () => {
  const problems: string[] = []
  diag.setLogger(
    { error: (text) => problems.push(text), warn: () => {}, info: () => {}, debug: () => {}, verbose: () => {} },
    { logLevel: DiagLogLevel.ERROR, suppressOverrideMessage: true },
  )
  await fc.assert(fc.asyncProperty(cases, check), runs)
  expect(problems).toEqual([])
  if (runs.numRuns >= 1_000)
    expect([...ends.keys()].toSorted()).toEqual([
      'AbortError',
      'AgentError',
      'ModelError',
      'cancelled',
      'completed',
      'interrupted',
    ])
})
