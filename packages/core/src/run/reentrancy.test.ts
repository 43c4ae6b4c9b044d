import { getEventListeners } from 'node:events'
import { assertTranscript } from '@meanwhile/harness/assert'
import fc from 'fast-check'
import { beforeEach, expect, test, vi } from 'vitest'
import { Play } from '../../test/reentrant-play.ts'
import { ASIDE, type Scenario, scenarios } from '../../test/reentrant-scenario.ts'
import { unhandledRejections } from '../../test/rejections.ts'
import {
  AgentError,
  type AgentEvent,
  type AgentResult,
  type AgentRun,
  type Checkpoint,
  type Message,
} from '../index.ts'

// A run that is called back by its tools, wraps, hooks, reader and store in the very turn in which it does something.

/** A longer search: REENTRANCY_RUNS=100000 REENTRANCY_SEED=7 npx vitest run reentrancy */
const numRuns = Number(process.env.REENTRANCY_RUNS ?? 1_000)
const seed = Number(process.env.REENTRANCY_SEED ?? 1)

/** One turn of the event loop, whose clock is not faked. */
const immediate = setImmediate
const turn = () => new Promise<void>((resolve) => immediate(resolve))

const unhandled = unhandledRejections()

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

interface Lived {
  readonly events: readonly AgentEvent[]
  readonly result?: AgentResult
  readonly error?: unknown
}

async function read(play: Play, run: AgentRun): Promise<Lived> {
  const events: AgentEvent[] = []
  try {
    for await (const event of run) {
      events.push(event)
      // What is made in its place has the same id.
      if (event.type === 'tool-discarded') play.cancelled.delete(event.callId)
      play.reached('the reader reads')
    }
    return { events, result: await run.result }
  } catch (error) {
    return { events, error }
  }
}

/** One run to its end, which comes within a second of fake time. */
async function lived(play: Play, run: AgentRun): Promise<Lived> {
  play.run = run
  let over: Lived | undefined
  void read(play, run).then((read) => {
    over = read
  })
  const start = performance.now()
  for (let turns = 0; !over; turns++) {
    if (turns > 2_000 || performance.now() - start > 1_000) throw new Error('it hangs')
    await turn()
    if (!over) vi.advanceTimersToNextTimer()
  }
  // What was abandoned has its say, too.
  await vi.advanceTimersByTimeAsync(50)
  play.spans.assertEndedOnce()
  expect(getEventListeners(play.controller.signal, 'abort')).toEqual([])
  expect(unhandled).toEqual([])
  return over
}

/** A call has at most one start and one end in a run, unless it was let go of and is made anew; a run's end is the last. */
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

/** What was made is not made again; a result is that of one execution, and of none but its call's. */
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

async function check(scenario: Scenario): Promise<void> {
  vi.clearAllTimers()
  const play = new Play(scenario)
  const told: AgentEvent[] = []
  let isAborted = false
  let run = play.agent.stream('Go', { signal: play.controller.signal })
  for (let rounds = 1; ; rounds++) {
    const { events, result, error } = await lived(play, run)
    told.push(...events)
    checkEvents(events)
    const messages = result?.messages ?? (error instanceof AgentError ? error.messages : undefined) ?? []
    checkCalls(play, messages)
    expect(play.refused).toEqual([])
    if (result?.status !== 'interrupted') assertTranscript(messages)
    if (!result) {
      expect(error).toMatchObject({ name: 'AbortError' })
      expect(play.done).toContain('abort')
      // What was stored before goes on, as after a crash.
      if (!(await play.isStored(run.id))) return
      isAborted = true
      play.controller = new AbortController()
      run = play.agent.resume(run.id, {}, { signal: play.controller.signal })
      continue
    }
    if (result.status === 'completed') {
      const answered = messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : []))
      const ended = told.flatMap((event) => (event.type === 'tool-end' && !event.path ? [event.callId] : []))
      const isTold = ended.filter((id) => answered.includes(id)).toSorted()
      // What an abort cut off was told of then, and again when the resume came to its end.
      expect(isAborted ? [...new Set(isTold)] : isTold).toEqual(answered.toSorted())
      return
    }
    if (rounds > 12) throw new Error('it comes to no end')
    const { checkpoint, interrupts = [] } = result
    const asking = interrupts.flatMap(({ address }) => address.map((part) => ('callId' in part ? part.callId : '')))
    expect(asking.filter((id) => play.cancelled.has(id))).toEqual([])
    const answers = interrupts.slice(0, scenario.answers).map(({ id }) => [id, 'Yes'])
    play.controller = new AbortController()
    const from = scenario.stored ? run.id : (JSON.parse(JSON.stringify(checkpoint)) as Checkpoint)
    run = play.agent.resume(from, Object.fromEntries(answers), { signal: play.controller.signal })
  }
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

/** What this search has found once. */
const FOUND: readonly Scenario[] = [
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

test('called back in the very turn in which it does something, a run makes no call twice and loses none, nor what its calls make, tells of each once, comes to its end, and leaves nothing behind (A14, A23, A25, B6, H26, I4, K4 to K15, L3, L7, L20, L21, P5, P7)', {
  timeout: Math.max(60_000, numRuns * 60),
}, async () => {
  await fc.assert(fc.asyncProperty(scenarios, check), { numRuns, seed, examples: FOUND.map((one) => [one]) })
})
