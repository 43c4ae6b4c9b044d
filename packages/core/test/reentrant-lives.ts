/** Plays a run of the re-entrancy play and all its resumes, until it has completed or nothing of it is stored. */

import { type AgentEvent, type AgentResult, type AgentRun, type Checkpoint, InputError } from '../src/index.ts'
import type { Play } from './reentrant-play.ts'
import type { Scenario } from './reentrant-scenario.ts'
import { type PlayClock, turn } from './standing-clock.ts'

export interface Lived {
  readonly events: readonly AgentEvent[]
  /** The time of each event. */
  readonly times: readonly number[]
  readonly result?: AgentResult
  readonly error?: unknown
}

interface Ended extends Lived {
  /** The number of timers when it had ended, without those of its tools and wraps. */
  readonly timers: number
}

export interface Life extends Ended {
  /** The number of requests and of sent messages when it began. */
  readonly before: { readonly asked: number; readonly sent: number }
}

/** `from`: begins with the resume of this checkpoint. */
export async function* lives(
  play: Play,
  { stored, answers }: Scenario,
  clock: PlayClock,
  from?: Checkpoint,
): AsyncGenerator<Life, void> {
  let before = { asked: 0, sent: 0 }
  const resume = (from: string | Checkpoint, given: Record<string, string> = {}) => {
    play.controller = new AbortController()
    play.run = play.agent.resume(from, given, { signal: play.controller.signal })
    play.reached('a resume begins')
    before = { asked: play.asked.length, sent: play.sent }
    return play.run
  }
  const first = () => play.agent.stream('Go', { signal: play.controller.signal })
  let run = from ? resume(from, answersTo(from.interrupts, answers)) : first()
  for (let rounds = 1; ; rounds++) {
    if (rounds > 16) throw new Error('it does not end')
    const life = await lived(play, run, clock)
    yield { ...life, before }
    const { result, error } = life
    if (error instanceof InputError) {
      play.sent -= error.notTaken.length
      run = resume(run.id)
    } else if (!result) {
      // The run continues from what was stored before, as after a crash.
      if (!(await play.isStored(run.id))) return
      run = resume(run.id)
    } else {
      if (result.status === 'completed') return
      const copy = JSON.parse(JSON.stringify(result.checkpoint)) as Checkpoint
      run = resume(stored ? run.id : copy, answersTo(result.interrupts ?? [], answers))
    }
  }
}

/** The answers that one resume has. */
function answersTo(interrupts: Checkpoint['interrupts'], most: number): Record<string, string> {
  return Object.fromEntries(interrupts.slice(0, most).map(({ id }) => [id, 'Yes']))
}

/** Plays one run to its end, which must come within a second of the clock. */
async function lived(play: Play, run: AgentRun, clock: PlayClock): Promise<Ended> {
  play.run = run
  let over: Lived | undefined
  void read(play, run).then((read) => {
    over = read
  })
  const start = performance.now()
  for (let turns = 0; !over; turns++) {
    if (turns > 2_000 || performance.now() - start > 1_000) throw new Error('it hangs')
    await turn()
    if (!over) clock.next()
  }
  const timers = clock.count() - play.sleeping.size
  // Abandoned calls may act, too.
  await clock.pass(50)
  return { ...over, timers }
}

async function read(play: Play, run: AgentRun): Promise<Lived> {
  const events: AgentEvent[] = []
  const times: number[] = []
  try {
    for await (const event of run) {
      events.push(event)
      times.push(performance.now())
      // The call that is made instead has the same id.
      if (event.type === 'tool-discarded') play.cancelled.delete(event.callId)
      play.reached('the reader reads')
    }
    return { events, times, result: await run.result }
  } catch (error) {
    return { events, times, error }
  }
}
