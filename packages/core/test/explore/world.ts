/** A run of core in the environment that a scenario describes, over all processes that continue it. */

import type {
  Agent,
  AgentEvent,
  AgentRun,
  CancelMode,
  Checkpoint,
  CompletedResult,
  Message,
  Middleware,
  PendingInterrupt,
  Tool,
} from '../../src/index.ts'
import type { RunState } from '../../src/state/run.ts'
import { messageOf } from '../../src/vocabulary/errors.ts'
import type { StandingClock } from '../standing-clock.ts'
import { insideOf, type LoadedCore } from './inside.ts'
import { type Entry, Journal } from './journal.ts'
import { middlewareOf } from './middleware.ts'
import { modelOf } from './model.ts'
import { type Left, Place } from './place.ts'
import { type Scenario, type Steps, wordsOf } from './scenario.ts'
import { spansOf } from './spans.ts'
import { copyOf, storeOf } from './store.ts'
import { toolsOf } from './tools.ts'

const MODES: readonly CancelMode[] = ['after-tools', 'after-model', 'now']
const MOST_RESUMES = 4

/** What the reader has seen of each call. */
function seenOf(events: readonly AgentEvent[]): unknown {
  const seen: Record<string, string[]> = {}
  for (const event of events) {
    if (!('callId' in event)) continue
    const of =
      'message' in event && typeof event.message === 'object' && 'callId' in event.message && event.message.callId
    ;(seen[String(event.callId)] ??= []).push(`${event.type} ${of || ''}`)
  }
  return Object.entries(seen)
    .map((one) => one.join(' '))
    .sort()
}

/** What another process continues with: everything but ids of questions and of the trace, and what follows from the rest. */
function contentOf(checkpoint: Checkpoint | undefined): string | undefined {
  return JSON.stringify(checkpoint, (name, value) =>
    name === 'interrupts' ? value.length : ['checksum', 'trace'].includes(name) ? undefined : value,
  )
}

export class World {
  readonly scenario: Scenario
  readonly journal: Journal = new Journal()
  readonly left: Left
  /** What was done, in order. */
  readonly path: string[] = []
  /** The moments of the last move in which user code ran. */
  moments: string[] = []
  place: Place
  #controller = new AbortController()
  #inside: RunState | undefined
  /** What is done in which moment of the present move. */
  #armed: { readonly act: string; readonly moment: string } | undefined
  readonly #on: LoadedCore
  readonly #clock: StandingClock
  #tools: readonly Tool[] = []
  #isBesideOver = true

  constructor(scenario: Scenario, on: LoadedCore, clock: StandingClock, resumes: number = MOST_RESUMES) {
    this.scenario = scenario
    this.#on = on
    this.#clock = clock
    const { cancel, cancelCall, abort, kill, saveFails = 0, rejects = 0, sends = 0, again } = scenario
    this.left = {
      cancel: cancel === 'all' ? MODES.length : Number(cancel !== undefined),
      cancelCall: Number(cancelCall === true),
      abort: Number(abort === true),
      kill: Number(kill === true),
      again: Number(again === true),
      saveFails,
      rejects,
      sends,
      // The other run ends with its process.
      resumes: scenario.beside ? 0 : resumes,
    }
    this.place = this.#placed()
    if (abort === 'first') this.#abort()
    const { signal } = this.#controller
    this.#follow([{ role: 'user', content: 'Go' }], (agent) =>
      scenario.begun
        ? agent.begin('Go', { id: 'run' }).then((checkpoint) => agent.resume(checkpoint, {}, { signal }))
        : agent.stream('Go', { id: 'run', signal }),
    )
    if (scenario.beside) this.#beside(scenario.beside)
  }

  get isOver(): boolean {
    return this.place.isOver && this.#isBesideOver
  }

  /** The executions of this process in the run of the world. */
  get own(): readonly Entry[] {
    return this.journal.entries.filter(({ process, run }) => process === this.place.process && run === 'run')
  }

  /** The result of a run that has its answer. */
  get completed(): CompletedResult | undefined {
    const { result } = this.journal.now
    return result?.status === 'completed' ? result : undefined
  }

  /** Whether one process has done everything. */
  get isWhole(): boolean {
    return this.journal.shown.length === 1
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
    if (this.#clock.count() > 0) moves.push('time')
    const kill = left.kill > 0 && journal.stored ? ['kill'] : []
    // What is stored of a run that has failed can also be resumed.
    if (place.isOver) return [...moves, ...this.#resumes(), ...(journal.now.error ? kill : [])]
    if (!place.run) return moves
    moves.push(...this.acts())
    if (left.sends > 0) moves.push('send')
    if (left.cancelCall > 0) for (const id of this.#cancelable()) moves.push(`cancel the call ${id}`)
    return [...moves, ...kill]
  }

  /** What may also be done inside a callback. */
  acts(): readonly string[] {
    const { left, scenario } = this
    const mode = scenario.cancel === 'all' ? MODES.at(-left.cancel) : scenario.cancel
    return [...(left.cancel > 0 ? [`cancel ${mode}`] : []), ...(left.abort > 0 ? ['abort'] : [])]
  }

  /** A move may have an act inside one of its moments: `the model stands > abort in the hook is called`. */
  do(move: string): void {
    this.path.push(move)
    this.moments = []
    const [outer = '', inside] = move.split(' > ')
    const [act = '', moment = ''] = inside?.split(' in ') ?? []
    this.#armed = inside === undefined ? undefined : { act, moment }
    if (outer === 'time') this.#clock.next()
    else if (!this.place.gates.open(outer)) this.#act(outer)
  }

  /** Equal for two worlds with the same future: each gate was reached equally often. */
  key(): string {
    const { place, left, journal, scenario } = this
    const { gates, process, amid } = place
    const { result, error } = journal.now
    return JSON.stringify([
      process,
      left,
      amid,
      [...gates.reached].map((one) => one.join(' ')).sort(),
      [...gates.moves()].sort(),
      this.#clock.dues(),
      [...place.announced],
      journal.entries.map(({ word, key, came, attempt, isAborted }) => [word, key, came, attempt, isAborted()]),
      [journal.undone, journal.rejected, journal.hooked, journal.sent, journal.warmed.length, [...journal.cancelled]],
      journal.now.spans.map(({ name, ends }) => [name, ends]),
      scenario.hides && journal.now.events.map(({ type }) => type),
      seenOf(journal.now.events),
      [contentOf(journal.stored), contentOf(result?.checkpoint), result?.status, error && messageOf(error)],
      this.#inside && insideOf(this.#inside),
    ])
  }

  #act(move: string): void {
    const { left, place, scenario } = this
    if (move === 'abort') {
      left.abort--
      this.#abort()
    } else if (move.startsWith('cancel the call ')) {
      left.cancelCall--
      const id = move.slice('cancel the call '.length)
      place.cancelledCalls.push(id)
      if (place.run?.cancelTool(id)) this.journal.cancelled.set(id, place.process)
    } else if (move.startsWith('cancel ')) {
      left.cancel--
      const at = move.slice('cancel '.length) as CancelMode
      place.cancels.push(at)
      place.stops('a cancel')
      void place.run?.cancel({ at })
    } else if (move === 'send') {
      const text = `said ${scenario.sends === undefined ? '' : left.sends}`
      left.sends--
      if (place.run?.send(text)) this.journal.sent.push(text)
    } else if (move === 'kill') {
      left.kill--
      const { stored } = this.journal
      if (stored) this.#resume(stored, stored.interrupts)
    } else if (move.startsWith('resume')) {
      left.resumes--
      const { checkpoint, checkpointError } = this.journal.now.result ?? {}
      if (!checkpoint) throw new Error('there is nothing to resume')
      const all = checkpoint.interrupts
      const answers = move === 'resume' ? all : move.endsWith('wrongly') ? all.slice(-1) : all.slice(0, 1)
      this.#resume(checkpoint, answers, {
        isUnstored: checkpointError !== undefined,
        isWrong: move.endsWith('wrongly'),
      })
    } else throw new Error(`this cannot happen now: ${move}`)
  }

  #resumes(): readonly string[] {
    const { result } = this.journal.now
    if (!result?.checkpoint || this.left.resumes === 0) return []
    const isPartial =
      this.scenario.partial && this.left.resumes === MOST_RESUMES && result.checkpoint.interrupts.length > 1
    return isPartial ? ['resume', 'resume with the first answer', 'resume and answer wrongly'] : ['resume']
  }

  /** Calls that the model has streamed and that have not ended. */
  #cancelable(): readonly string[] {
    const { announced, run } = this.place
    const isOpen = (id: string) => ['queued', 'running'].includes(run?.toolStatus(id)?.state ?? '')
    return [...announced.keys()].filter(isOpen)
  }

  /** Another process goes on: nothing of this one is heard any more. */
  #resume(
    from: Checkpoint,
    answers: readonly PendingInterrupt[],
    how: { isUnstored?: boolean; isWrong?: boolean } = {},
  ): void {
    const { announced, process } = this.place
    this.#clock.reset()
    this.#controller = new AbortController()
    if (!how.isWrong) this.journal.answered.push(...answers)
    const given = Object.fromEntries(answers.map(({ id }) => [id, how.isWrong ? 'no' : 'yes']))
    this.place = this.#placed(process + 1)
    this.place.announced = announced
    // The resume refuses a wrong answer.
    this.place.failed = how.isWrong === true
    const isStored = this.scenario.store && !how.isUnstored
    if (how.isUnstored) this.journal.stored = copyOf(from)
    this.#follow(from.messages, (agent) =>
      agent.resume(isStored ? 'run' : (copyOf(from) ?? ''), given, { signal: this.#controller.signal }),
    )
  }

  #placed(process = 1): Place {
    const { scenario, journal, left } = this
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
    const place = new Place({ scenario, on: this.#on, journal, process, left, reached, moves: () => this.path.length })
    return place
  }

  #follow(from: readonly Message[], begin: (agent: Agent) => AgentRun | Promise<AgentRun>): void {
    const { place, scenario, journal } = this
    const tracerProvider = spansOf(place.reached)
    journal.shown.push({ process: place.process, events: [], spans: tracerProvider.spans, from })
    const {
      steps,
      beside = [],
      limit,
      innerLimit = Number.POSITIVE_INFINITY,
      maxSteps = Number.POSITIVE_INFINITY,
    } = scenario
    this.#tools = toolsOf(place, wordsOf([...steps, ...beside]))
    const agent = this.#on.core.createAgent({
      model: modelOf(place, steps),
      tools: this.#tools,
      middleware: [this.#watching(place), ...middlewareOf(place)],
      toolConcurrency: limit,
      innerConcurrency: innerLimit,
      maxSteps,
      telemetry: { tracerProvider },
      ...(scenario.store && { checkpoints: storeOf(place) }),
    })
    const run = begin(agent)
    if (!(run instanceof Promise)) place.run = run
    void this.#read(place, run)
  }

  #abort(): void {
    this.place.aborted = true
    this.#controller.abort(new Error('enough'))
  }

  #watching(place: Place): Middleware {
    return {
      name: 'watches',
      onRun: (run) => {
        if (place === this.place) this.#inside = this.#on.stateOf(run)
        return () => undefined
      },
    }
  }

  async #read(place: Place, begun: AgentRun | Promise<AgentRun>): Promise<void> {
    const shown = this.journal.now
    try {
      const run = begun instanceof Promise ? await begun : begun
      place.run = run
      for await (const event of run) place.shows(event)
      shown.result = await run.result
    } catch (error) {
      shown.error = error
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
