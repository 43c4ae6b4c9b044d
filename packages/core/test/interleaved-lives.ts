/** Plays a run under interleavings and all its resumes, until it has completed or failed. */

import type { AgentEvent, AgentResult, AgentRun, CancelOptions, Checkpoint } from '../src/index.ts'
import type { Case } from './interleaved-cases.ts'
import type { InterleavedPlay } from './interleaved-play.ts'
import { type PlayClock, turn } from './standing-clock.ts'

export interface InterleavedLife {
  readonly events: readonly AgentEvent[]
  /** The time of each event. */
  readonly times: readonly number[]
  readonly result?: AgentResult
  readonly error?: unknown
  readonly isResumed: boolean
  /** What each `cancel` returned. */
  readonly told: readonly string[]
  /** Timers that were left, except those of tools and store. */
  readonly timersLeft: number
  /** The number of requests and of sent messages when it began. */
  readonly before: { readonly asked: number; readonly sent: number }
}

export async function* interleavedLives(
  play: InterleavedPlay,
  options: Case,
  clock: PlayClock,
): AsyncGenerator<InterleavedLife, void> {
  let before = { asked: 0, sent: 0 }
  let run = play.agent.stream('Go', { signal: play.controller.signal })
  for (let round = 0; ; round++) {
    if (round > 20) throw new Error('it does not end')
    const life = await driven(play, run, options.disturbances[round] ?? [], clock)
    yield { ...life, isResumed: round > 0, before }
    const { result } = life
    if (!result || result.status === 'completed') return
    const copy = JSON.parse(JSON.stringify(result.checkpoint)) as Checkpoint
    const isAnswered = options.answering[round] ?? true
    const answers = isAnswered ? (result.interrupts ?? []).map(({ id }) => [id, 'Yes']) : []
    play.controller = new AbortController()
    run = play.agent.resume(options.store === undefined ? copy : run.id, Object.fromEntries(answers), {
      signal: play.controller.signal,
    })
    if ((options.sendsFirst[round] ?? false) && run.send('And this')) play.sent++
    before = { asked: play.asked.length, sent: play.sent }
  }
}

/** Plays one run to its end, whatever is done to it meanwhile. */
async function driven(
  play: InterleavedPlay,
  run: AgentRun,
  disturbances: Case['disturbances'][number],
  clock: PlayClock,
): Promise<Omit<InterleavedLife, 'isResumed' | 'before'>> {
  const cancels: Promise<{ readonly status: string }>[] = []
  let isOver = false
  const end = () => {
    isOver = true
  }
  void run.result.then(end, end)
  const timers = disturbances.map(({ at, act }) =>
    setTimeout(() => {
      if (isOver) return
      if (act === 'abort') play.controller.abort('enough')
      else if (act === 'send') play.sent += run.send('And this') ? 1 : 0
      else cancels.push(run.cancel(act as CancelOptions))
    }, at),
  )
  let over: Awaited<ReturnType<typeof read>> | undefined
  void read(run).then((read) => {
    over = read
  })
  await turn()
  for (let turns = 0; !over; turns++) {
    if (turns > 2_000) throw new Error('it hangs')
    clock.next()
    await turn()
    // A tool that ignores its signal waits forever, which is not a fault of the run: it can always be stopped.
    if (over || clock.count() > 0) continue
    if (play.deaf === 0) throw new Error('it hangs')
    cancels.push(run.cancel())
  }
  for (const timer of timers) clearTimeout(timer)
  await clock.pass(0)
  const timersLeft = clock.count() - play.waits.size
  const told = await Promise.all(cancels)
  return { ...over, told: told.map(({ status }) => status), timersLeft }
}

async function read(run: AgentRun) {
  const events: AgentEvent[] = []
  const times: number[] = []
  try {
    for await (const event of run) {
      events.push(event)
      times.push(performance.now())
    }
    return { events, times, result: await run.result }
  } catch (error) {
    return { events, times, error }
  }
}
