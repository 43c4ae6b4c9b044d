/** A run of core in the environment that a scenario describes, over all processes that continue it. */

import type { Agent, AgentRun, CancelMode, Checkpoint, Message, PendingInterrupt } from '../../src/index.ts'
import type { RunState } from '../../src/state/run.ts'
import type { StandingClock } from '../standing-clock.ts'
import { insideOf, type LoadedCore } from './inside.ts'
import { Journal } from './journal.ts'
import { middlewareOf } from './middleware.ts'
import { modelOf } from './model.ts'
import { type Left, Place } from './place.ts'
import type { Scenario } from './scenario.ts'
import { spansOf } from './spans.ts'
import { copyOf, storeOf } from './store.ts'
import { toolsOf } from './tools.ts'

const MODES: readonly CancelMode[] = ['after-tools', 'after-model', 'now']

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
  #isBesideOver = true

  constructor(scenario: Scenario, on: LoadedCore, clock: StandingClock, resumes = 4) {
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
    this.#follow([{ role: 'user', content: 'Go' }], (agent) =>
      agent.stream('Go', { id: 'run', signal: this.#controller.signal }),
    )
    if (scenario.beside) this.#beside(scenario.beside)
  }

  get isOver(): boolean {
    return this.place.isOver && this.#isBesideOver
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
    if (place.isOver) return [...moves, ...this.#resumes()]
    moves.push(...this.acts())
    if (left.sends > 0) moves.push('send')
    if (left.cancelCall > 0) for (const id of this.#cancelable()) moves.push(`cancel the call ${id}`)
    if (left.kill > 0 && journal.stored) moves.push('kill')
    return moves
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
    const saved = journal.stored && [journal.stored.status, journal.stored.calls.length, journal.stored.steps.begun]
    return JSON.stringify([
      process,
      left,
      amid,
      [...gates.reached].sort(),
      [...gates.moves()].sort(),
      this.#clock.dues(),
      [...place.announced],
      journal.entries.map(({ word, key, came, attempt, isAborted }) => [word, key, came, attempt, isAborted()]),
      [journal.undone, journal.rejected, journal.hooked, journal.sent, journal.warmed.length, saved],
      journal.now.spans.map(({ name, ends }) => [name, ends]),
      scenario.hides && journal.now.events.map(({ type }) => type),
      [journal.now.result?.status, journal.now.error && String(journal.now.error)],
      this.#inside && insideOf(this.#inside),
    ])
  }

  #act(move: string): void {
    const { left, place, scenario } = this
    if (move === 'abort') {
      left.abort--
      place.aborted = true
      this.#controller.abort(new Error('enough'))
    } else if (move.startsWith('cancel the call ')) {
      left.cancelCall--
      const id = move.slice('cancel the call '.length)
      place.cancelledCalls.push(id)
      if (place.run?.cancelTool(id)) this.journal.cancelled.set(id, place.process)
    } else if (move.startsWith('cancel ')) {
      left.cancel--
      const at = move.slice('cancel '.length) as CancelMode
      place.cancels.push(at)
      place.cancelledIn = this.path.length
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
      this.#resume(checkpoint, move === 'resume' ? all : all.slice(0, 1), checkpointError !== undefined)
    } else throw new Error(`this cannot happen now: ${move}`)
  }

  #resumes(): readonly string[] {
    const { result } = this.journal.now
    if (!result?.checkpoint || this.left.resumes === 0) return []
    const isPartial = this.scenario.partial && this.left.resumes === 4 && result.checkpoint.interrupts.length > 1
    return isPartial ? ['resume', 'resume with the first answer'] : ['resume']
  }

  /** Calls that the model has streamed and that have not ended. */
  #cancelable(): readonly string[] {
    const { announced, run } = this.place
    const isOpen = (id: string) => ['queued', 'running'].includes(run?.toolStatus(id)?.state ?? '')
    return [...announced.keys()].filter(isOpen)
  }

  /** Another process goes on: nothing of this one is heard any more. */
  #resume(from: Checkpoint, answers: readonly PendingInterrupt[], isUnstored = false): void {
    const { announced, process } = this.place
    this.#clock.reset()
    this.#controller = new AbortController()
    this.journal.answered.push(...answers)
    const given = Object.fromEntries(answers.map(({ id }) => [id, 'yes']))
    this.place = this.#placed(process + 1)
    this.place.announced = announced
    const isStored = this.scenario.store && !isUnstored
    if (isUnstored) this.journal.stored = copyOf(from)
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

  #follow(from: readonly Message[], begin: (agent: Agent) => AgentRun): void {
    const { place, scenario, journal } = this
    const tracerProvider = spansOf(place.reached)
    journal.shown.push({ process: place.process, events: [], spans: tracerProvider.spans, from })
    const { limit, innerLimit = Number.POSITIVE_INFINITY, maxSteps = Number.POSITIVE_INFINITY } = scenario
    const words = scenario.steps.flat().flatMap(({ calls }) => calls)
    const agent = this.#on.core.createAgent({
      model: modelOf(place, scenario.steps),
      tools: this.#tools(place, words),
      middleware: [this.#watching(place), ...middlewareOf(place)],
      toolConcurrency: limit,
      innerConcurrency: innerLimit,
      maxSteps,
      telemetry: { tracerProvider },
      ...(scenario.store && { checkpoints: storeOf(place) }),
    })
    place.run = begin(agent)
    void this.#read(place, place.run)
  }

  #shared: ReturnType<typeof toolsOf> = []

  #tools(place: Place, words: readonly string[]): ReturnType<typeof toolsOf> {
    const beside = this.scenario.beside?.flat().flatMap(({ calls }) => calls) ?? []
    this.#shared = toolsOf(place, [...words, ...beside])
    return this.#shared
  }

  #watching(place: Place): NonNullable<Parameters<LoadedCore['core']['createAgent']>[0]['middleware']>[number] {
    return {
      name: 'watches',
      onRun: (run) => {
        if (place === this.place) this.#inside = this.#on.stateOf(run)
        return () => undefined
      },
    }
  }

  async #read(place: Place, run: AgentRun): Promise<void> {
    const shown = this.journal.now
    try {
      for await (const event of run) place.shows(event)
      shown.result = await run.result
    } catch (error) {
      shown.error = error
    }
    place.isOver = true
  }

  /** Another run at the same time, with the same tools. Nothing happens to it. */
  #beside(steps: Scenario['steps']): void {
    const { place } = this
    this.#isBesideOver = false
    const run = this.#on.core.createAgent({ model: modelOf(place, steps, 'beside '), tools: this.#shared }).run('Go')
    const over = () => void (this.#isBesideOver = true)
    run.then((result) => {
      if (result.status === 'completed') over()
    }, over)
  }
}
