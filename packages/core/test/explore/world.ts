/** A run of core in the environment that a scenario describes, over all processes that continue it. */

import type { Agent, AgentEvent, AgentRun, CancelMode, Checkpoint, CompletedResult, Tool } from '../../src/index.ts'
import { messageOf } from '../../src/vocabulary/errors.ts'
import { type StandingClock, turn } from '../standing-clock.ts'
import { insideOf, type LoadedCore } from './inside.ts'
import { type Entry, Journal } from './journal.ts'
import { middlewareOf } from './middleware.ts'
import { modelOf } from './model.ts'
import { type Left, Place } from './place.ts'
import { type Scenario, type Steps, wordsOf } from './scenario.ts'
import { tracerOf } from './spans.ts'
import { copyOf, storeOf } from './store.ts'
import { toolsOf } from './tools.ts'

/** No run of a small world has more. */
export const MOST_MOVES = 400
const CANCELS = ['cancel after-tools', 'cancel after-model', 'cancel now'] as const

export class World {
  readonly scenario: Scenario
  readonly journal: Journal = new Journal()
  readonly left: Left
  /** What was done, in order. */
  readonly path: string[] = []
  /** The processes, of which the last one lives. */
  readonly places: Place[] = []
  /** The moments of the last move in which user code ran. */
  moments: string[] = []
  /** What is done in which moment of the present move. */
  #armed: { readonly act: string; readonly moment: string } | undefined
  readonly #on: LoadedCore
  readonly #clock: StandingClock
  #tools: Tool[] = []
  #isBesideOver = true

  constructor(scenario: Scenario, on: LoadedCore, clock: StandingClock) {
    this.scenario = scenario
    this.#on = on
    this.#clock = clock
    const { cancel, abort, again, rejects, sends, saveFails, cancelCall, kill, resumes, begun, beside } = scenario
    const cancels = cancel === 'cancel all' ? CANCELS.length : Number(cancel !== undefined)
    const acts = { cancel: cancels, cancelCall, kill, abort: Number(abort !== undefined) }
    this.left = { ...acts, again, rejects, sends, saveFails, resumes }
    const { signal } = this.#enter(1, [{ role: 'user', content: 'Go' }]).controller
    if (abort === 'abort first') this.#act('abort')
    void this.#follow((agent) =>
      begun
        ? agent.begin('Go', { id: 'run' }).then((checkpoint) => agent.resume(checkpoint, {}, { signal }))
        : agent.stream('Go', { id: 'run', signal }),
    )
    if (beside) this.#beside(beside)
  }

  get place(): Place {
    return this.places.at(-1) as Place
  }

  get isOver(): boolean {
    return this.place.isOver && this.#isBesideOver
  }

  /** The executions of this process, and those of them that belong to the run of the world. */
  get here(): readonly Entry[] {
    return this.journal.entries.filter(({ process }) => process === this.place.process)
  }

  get own(): readonly Entry[] {
    return this.here.filter(({ run }) => run === 'run')
  }

  /** The result of a run that has its answer. */
  get completed(): CompletedResult | undefined {
    const { result } = this.place
    return result?.status === 'completed' ? result : undefined
  }

  /** Whether one process has done everything. */
  get isWhole(): boolean {
    return this.places.length === 1
  }

  /** Whether no time limit runs. */
  get isQuiet(): boolean {
    return this.#clock.count() === 0
  }

  /** Whether something was done to the run in the turn in which a hook ended: it may not have the outcome of the hook yet. */
  get isTorn(): boolean {
    return this.path.some((move) => /^the hook .* > .* span/.test(move))
  }

  /** What may happen next. */
  moves(): readonly string[] {
    const { left, place, journal } = this
    const moves = [...place.gates.moves()]
    if (!this.isQuiet) moves.push('time')
    const kill = left.kill > 0 && journal.stored ? ['kill'] : []
    // What is stored of a run that has failed can also be resumed.
    if (place.isOver) return [...moves, ...this.#resumes(), ...(place.error ? kill : [])]
    if (!place.run) return moves
    moves.push(...this.acts)
    if (left.sends > 0) moves.push('send')
    // Calls that the model has streamed and that have not ended.
    const open = [...place.announced.keys()].filter((id) =>
      /queued|running/.test(place.run?.toolStatus(id)?.state ?? ''),
    )
    if (left.cancelCall > 0) moves.push(...open.map((id) => `cancel the call ${id}`))
    return [...moves, ...kill]
  }

  /** What may also be done inside a callback. */
  get acts(): readonly string[] {
    const { left, scenario } = this
    const cancel = scenario.cancel === 'cancel all' ? CANCELS.at(-left.cancel) : scenario.cancel
    return [...(cancel && left.cancel > 0 ? [cancel] : []), ...(left.abort > 0 ? ['abort'] : [])]
  }

  /** A move may have an act inside one of its moments: `the model stands > abort in the hook is called`. */
  async do(move: string): Promise<void> {
    this.path.push(move)
    this.moments = []
    const [outer = '', inside] = move.split(' > ')
    const [act = '', moment = ''] = inside?.split(' in ') ?? []
    this.#armed = inside === undefined ? undefined : { act, moment }
    if (outer === 'time') this.#clock.next()
    else if (!this.place.gates.open(outer)) this.#act(outer)
    await turn()
  }

  /** Equal for two worlds with the same future: each gate was reached equally often. */
  key(): string {
    const { place, left, journal, scenario } = this
    const { gates, process, amid, result, error, events, spans, inside } = place
    return JSON.stringify([
      [process, left, amid, this.#clock.dues(), [...place.announced]],
      [...gates.reached].map((one) => one.join(' ')).sort(),
      [...gates.moves()].sort(),
      journal.entries.map(({ word, key, came, attempt, isAborted }) => [word, key, came, attempt, isAborted()]),
      [journal.undone, journal.rejected, journal.hooked, journal.sent, journal.warmed.length, [...journal.cancelled]],
      spans.map(({ name, ends }) => [name, ends]),
      scenario.hides && events.map(({ type }) => type),
      seenOf(events),
      [contentOf(journal.stored), contentOf(result?.checkpoint), result?.status, error && messageOf(error)],
      inside && insideOf(inside),
    ])
  }

  #act(move: string): void {
    const { left, place, journal } = this
    const { amid, run } = place
    if (move === 'abort') {
      left.abort--
      place.amid = { ...amid, aborted: true }
      place.controller.abort(new Error('enough'))
    } else if (move.startsWith('cancel the call ')) {
      left.cancelCall--
      const id = move.slice('cancel the call '.length)
      place.amid = { ...amid, cancelledCalls: [...amid.cancelledCalls, id] }
      if (run?.cancelTool(id)) journal.cancelled.set(id, place.process)
    } else if (move.startsWith('cancel ')) {
      left.cancel--
      const at = move.slice('cancel '.length) as CancelMode
      place.amid = { ...amid, cancels: [...amid.cancels, at] }
      place.stoppedIn ??= { move: this.path.length, by: 'a cancel' }
      void run?.cancel({ at })
    } else if (move === 'send') {
      const text = `said ${left.sends--}`
      if (run?.send(text)) journal.sent.push(text)
    } else if (move === 'kill') {
      left.kill--
      this.#resume(move, journal.stored)
    } else if (move.startsWith('resume')) {
      left.resumes--
      this.#resume(move, place.result?.checkpoint)
    } else throw new Error(`this cannot happen now: ${move}`)
  }

  #resumes(): readonly string[] {
    const { checkpoint } = this.place.result ?? {}
    if (!checkpoint || this.left.resumes === 0) return []
    const isFirst = this.left.resumes === this.scenario.resumes
    const isPartial = this.scenario.partial && isFirst && checkpoint.interrupts.length > 1
    return isPartial ? ['resume', 'resume with the first answer', 'resume and answer wrongly'] : ['resume']
  }

  /** Another process goes on: nothing of this one is heard any more. */
  #resume(move: string, from: Checkpoint | undefined): void {
    const { scenario, journal } = this
    const { announced, process, result } = this.place
    if (!from) throw new Error('there is nothing to resume')
    this.#clock.reset()
    const isStored = scenario.store && !result?.checkpointError
    if (result?.checkpointError) journal.stored = copyOf(from)
    // The resume refuses a wrong answer.
    const failed = move.endsWith('wrongly')
    const isPartial = move.endsWith('the first answer')
    const answered = from.interrupts.slice(failed ? -1 : 0, isPartial ? 1 : undefined)
    if (!failed) journal.answered.push(...answered)
    const answers = Object.fromEntries(answered.map(({ id }) => [id, failed ? 'no' : 'yes']))
    const place = this.#enter(process + 1, from.messages)
    Object.assign(place, { announced, amid: { ...place.amid, failed } })
    const { signal } = place.controller
    void this.#follow((agent) => agent.resume(isStored ? 'run' : (copyOf(from) ?? ''), answers, { signal }))
  }

  /** A process begins, with this history. */
  #enter(process: number, from: Place['from']): Place {
    const { scenario, journal, left, path } = this
    const reached = (moment: string) => {
      if (place !== this.place) return
      const times = this.moments.filter((one) => one === moment || one.startsWith(`${moment} #`)).length
      const name = times === 0 ? moment : `${moment} #${times + 1}`
      this.moments.push(name)
      if (this.#armed?.moment !== name || place.isOver || !place.run) return
      const { act } = this.#armed
      this.#armed = undefined
      this.#act(act)
    }
    const place = new Place({ scenario, on: this.#on, journal, left, path, process, from, reached })
    this.places.push(place)
    return place
  }

  /** Reads the run of the present process to its end. */
  async #follow(begin: (agent: Agent) => AgentRun | Promise<AgentRun>): Promise<void> {
    const { place, scenario } = this
    const { core, stateOf } = this.#on
    const { steps, beside = [], limit, innerLimit, maxSteps, store } = scenario
    this.#tools = toolsOf(place, wordsOf([...steps, ...beside]))
    const onRun = (run: Parameters<typeof stateOf>[0]) => {
      place.inside = stateOf(run)
      return () => undefined
    }
    const agent = core.createAgent({
      model: modelOf(place, steps),
      tools: this.#tools,
      middleware: [{ name: 'watches', onRun }, ...middlewareOf(place)],
      toolConcurrency: limit,
      innerConcurrency: innerLimit,
      maxSteps,
      telemetry: { tracerProvider: tracerOf(place) },
      ...(store && { checkpoints: storeOf(place) }),
    })
    try {
      const begun = begin(agent)
      const run = begun instanceof Promise ? await begun : begun
      place.run = run
      for await (const event of run) {
        place.events.push(event)
        place.reached(`the reader has ${event.type}`)
      }
      place.result = await run.result
    } catch (error) {
      place.error = error
    }
    place.isOver = true
  }

  /** Another run at the same time, with the same tools. Nothing happens to it. */
  #beside(steps: Steps): void {
    this.#isBesideOver = false
    const agent = this.#on.core.createAgent({ model: modelOf(this.place, steps, 'beside '), tools: this.#tools })
    const over = () => void (this.#isBesideOver = true)
    agent.run('Go').then(({ status }) => status === 'completed' && over(), over)
  }
}

/** What the reader has seen of each call. */
function seenOf(events: readonly AgentEvent[]): unknown {
  const seen = events.flatMap((event) => {
    if (!('callId' in event)) return []
    const { message } = event.type === 'tool-end' || event.type === 'tool-settled' ? event : {}
    return [[String(event.callId), event.type, message?.callId] as const]
  })
  return seen.toSorted(([one], [other]) => one.localeCompare(other))
}

/** What another process continues with: everything but ids of questions and of the trace, and what follows from the rest. */
function contentOf(checkpoint: Checkpoint | undefined): string | undefined {
  return JSON.stringify(checkpoint, (name, value) =>
    name === 'interrupts' ? value.length : ['checksum', 'trace'].includes(name) ? undefined : value,
  )
}
