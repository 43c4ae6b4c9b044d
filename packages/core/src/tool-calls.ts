/**
 * The calls of a run, each made at most once, and the gate between a call's start and its place in the history.
 *
 * A call made while its model call is still open is provisional. When the model call has stood, what the loop asks for is
 * committed and the rest discarded; a call of a failed attempt is held until then, so that an equal call of the next attempt
 * joins it.
 */

import type { Span } from '@opentelemetry/api'
import { resolveAliases } from './aliases.ts'
import { type Asker, Askers } from './askers.ts'
import { CallEntry, isOpen } from './call-entry.ts'
import { CallEvents } from './call-events.ts'
import { inWordsOf } from './call-results.ts'
import { endSpans } from './call-spans.ts'
import { sameCall } from './canonical.ts'
import { compensate } from './compensate.ts'
import { causeOf } from './discard-cause.ts'
import { messageOf, RunStop, ToolDiscardedError, UnknownCallError } from './errors.ts'
import type { DiscardCause } from './events.ts'
import { within } from './grace.ts'
import { freeze } from './history.ts'
import type { Interrupt } from './interrupt.ts'
import { Ledger } from './ledger.ts'
import { makeCall } from './make-call.ts'
import { type AssistantMessage, callsOf, type ToolCall, type ToolMessage } from './message.ts'
import type { CallOptions } from './middleware.ts'
import { type Given, startsOnNeeds } from './needs.ts'
import { NO_KEYS } from './resource-keys.ts'
import { Rest } from './rest.ts'
import type { RunState } from './run.ts'
import type { Actor } from './run-view.ts'
import { Slots } from './slots.ts'
import { isStale } from './stale-read.ts'
import type { Tool } from './tool.ts'
import { cancelledMessage } from './tool-message.ts'
import { EndedCalls, endState, type ToolStatus } from './tool-status.ts'
import { WarmUps } from './warm-ups.ts'

export class ToolCalls {
  readonly slots: Slots = new Slots()
  /** What the reader sees of them. */
  readonly events: CallEvents
  /** Ids of calls that were no longer waited for (K12). */
  readonly abandoned: string[] = []
  readonly counts: { early: number; committed: number; discarded: number } = { early: 0, committed: 0, discarded: 0 }
  readonly #run: RunState
  readonly #ledger: Ledger
  readonly #ended = new EndedCalls()
  readonly #warmUps: WarmUps = new WarmUps()
  readonly #work: Set<Promise<unknown>> = new Set()
  /** What the loop waits for: a call of these that fails ends the run. */
  #asked: readonly CallEntry[] = []
  #askers: Askers = new Askers(false)

  constructor(run: RunState) {
    this.#run = run
    this.events = new CallEvents(run)
    this.#ledger = new Ledger(run.id)
  }

  /** A step's model call begins: the calls it announces are provisional until {@link commit} or {@link discardRest}. */
  open(): void {
    this.#askers = new Askers(true)
  }

  /** A resumed step has its response already: the calls it asks for, and those a run before this one has made for it. */
  reopen(answer: AssistantMessage, attempt: number | undefined): void {
    this.open()
    for (const { id } of callsOf(answer)) this.announced(id, attempt ?? 0)
  }

  /** A model attempt announced a call, or, as number 0, a wrap that answers itself. The first who does counts. */
  announced(callId: string, attempt: number, span?: Span): void {
    if (this.#askers.announced(callId, attempt, span)) this.#run.takenIds.add(callId)
  }

  /**
   * An attempt's stream is over. If it broke off, no call of it starts any more (G11), and none whose input is not whole can be
   * joined by another (H32). Gives how many had started.
   */
  attemptEnded(attempt: number, brokeOff: DiscardCause | undefined): number {
    const asker = this.#askers.attempt(attempt)
    if (!asker) return 0
    asker.ended = performance.now()
    asker.over = brokeOff !== undefined
    const early = this.#ledger.entries().filter((entry) => entry.startedEarly && entry.askers[0] === asker)
    if (brokeOff) {
      for (const entry of this.#ledger.entries()) if (entry.askers.includes(asker)) this.slots.changed(entry)
      for (const entry of early) if (entry.rest?.isOpen && !entry.discarded) this.#discard(entry, brokeOff)
      this.#warmUps.drop(new Error('the response broke off'), this.#askers.callsOf(asker))
    }
    // What it had asked for and has not begun makes room.
    this.slots.advance()
    return early.length
  }

  /** The reader is shown a call: what the call has emitted follows. A sealed call whose arguments changed is let go of (H8). */
  shown(written: ToolCall, sealed: boolean): void {
    const call = this.#own(written)
    this.events.announced(call)
    const entry = this.#ledger.get(call.id)
    if (!entry?.provisional || entry.discarded || entry.rest?.isOpen) return
    if (!sealed || sameCall(entry.call, call)) this.events.show(entry)
    else {
      this.#discard(entry, 'arguments_changed')
      this.slots.advance()
    }
  }

  /** {@link Run.callTool}: a call of the response that is coming, or one that a tool or wrap makes on the side. */
  call(call: ToolCall, actor: Actor, options: CallOptions = {}): Promise<ToolMessage> {
    try {
      return this.#called(this.#own(call), actor, options)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #called(call: ToolCall, actor: Actor, options: CallOptions): Promise<ToolMessage> {
    const { signal, over, takenIds } = this.#run
    if (signal.aborted) return Promise.reject(signal.reason)
    if (over) return Promise.reject(new TypeError('the run is over'))
    const stop = actor.execution?.signal ?? actor.call?.signal
    if (stop?.aborted) return Promise.reject(stop.reason)
    const asker = this.#askers.of(call.id)
    const { rest, ...others } = options
    if (rest) return this.#onNeeds(call, rest, actor, others)
    const found = this.#find(call, asker, [])
    this.slots.advance()
    const { halted } = this.#run.cancel
    if (halted.aborted && !found?.begun && !actor.call) return Promise.reject(halted.reason)
    if (found) return this.#begun(found, actor).promise
    const mayStart = asker ? this.#askers.mayStart(asker) : !takenIds.has(call.id)
    // Whether a call of an ended response is made is the loop's to say: it has made it, or it must not be made.
    return mayStart
      ? this.#start(call, actor, asker, options).promise
      : Promise.reject(new ToolDiscardedError(call.id, 'call_withdrawn'))
  }

  /** {@link Run.stood} */
  async stood(callId: string): Promise<string> {
    const entry = this.#ledger.get(callId)
    if (!entry) throw new UnknownCallError(callId)
    await entry.stood()
    return entry.id
  }

  /** {@link Run.cancelTool} */
  cancel(callId: string): boolean {
    const entry = this.#run.background.get(callId) ?? this.#ledger.get(callId)
    if (!entry) throw new UnknownCallError(callId)
    return entry.cancel(this.#run.config.grace)
  }

  /** {@link Run.toolStatus} */
  status(callId: string): ToolStatus | undefined {
    const entry = this.#run.background.get(callId) ?? this.#ledger.get(callId)
    return entry && this.#ended.remembered(entry.status, this.#run.config.statusFor)
  }

  /** {@link Run.warm}. */
  warm(callId: string, name: string, failed: (message: string) => void): void {
    const asker = this.#askers.of(callId)
    const tool = this.#toolOf(name)
    if (!tool || !asker || !this.#askers.mayStart(asker) || this.#ledger.get(callId)) return
    this.#warmUps.begin(tool, callId, (error) => failed(`warm of ${name} threw: ${messageOf(error)}`))
  }

  /** What `execute` of a call that has started with the members its tool needs is given. What a wrap has changed is not that. */
  async givenOnNeeds(entry: CallEntry, call: ToolCall): Promise<Given> {
    const { rest } = entry
    const given = rest && call.input === rest.started.input ? await rest.given() : undefined
    if (given) return given
    if (entry.provisional && !entry.discarded) this.#discard(entry, 'arguments_changed')
    throw new ToolDiscardedError(entry.call.id, 'arguments_changed')
  }

  /**
   * The model call has stood with these calls: commits those that were made, makes the others, and discards the rest. The
   * messages come in call order, under the names the model wrote (M9). If a tool ends the run, its siblings are aborted and
   * waited for first (A12); one that asks, or that no longer starts, stays open, and the others finish (L3).
   */
  async commit(written: readonly ToolCall[], attempt: number | undefined): Promise<ToolMessage[]> {
    const calls = written.map((call) => this.#own(call))
    this.#run.signal.throwIfAborted()
    const modelEnded = attempt === undefined ? undefined : this.#askers.attempt(attempt)?.ended
    let made = this.#findAll(calls)
    const checks = [...made.values()].flatMap(({ rest }) => rest?.checked ?? [])
    if (checks.length > 0) {
      await Promise.all(checks)
      this.#run.signal.throwIfAborted()
      made = this.#findAll(calls)
    }
    this.#askers.open = false
    this.#discardAll('call_withdrawn', new Set(made.values()))
    const failed = calls.findIndex((call) => hasEndedRun(made.get(call)))
    // What the run that is not eager enters before that call ends it.
    const most = failed < 0 ? calls.length : Math.max(this.#run.setup.toolConcurrency, failed + 1)
    const entries = calls.flatMap((call, index) => {
      const entry = made.get(call)
      if (!entry) return index < most ? this.#start(call, undefined, this.#askers.of(call.id), {}) : []
      this.#commit(entry, call.id, modelEnded)
      return this.#begun(entry)
    })
    this.slots.advance()
    this.#warmUps.drop(new Error('the model did not ask for this call'))
    this.#asked = entries
    try {
      if (failed >= 0 && made.size < calls.length) await this.#enter(entries)
      await Promise.all(entries.map((entry) => entry.promise.catch((error: unknown) => unlessStop(error))))
      const messages = await Promise.all(entries.map((entry) => entry.promise))
      // A call that had settled before it was joined goes into the history under the id it has by now.
      return messages.map((message, index) => inWordsOf(written[index], entries[index]?.message ?? message))
    } catch (error) {
      if (error instanceof RunStop) throw error
      this.abort(error)
      for (const entry of entries) if (entry.settled) this.slots.close(entry)
      await this.idle()
      throw error
    }
  }

  /** An early call ends the run: its siblings are entered first, but for those that wait for each other's keys (H16). */
  async #enter(entries: readonly CallEntry[]): Promise<void> {
    for (const entry of entries) this.slots.open(entry)
    await within(0, this.idle())
  }

  /** The model call failed with this, at last: unless it goes on after a resume, all its calls are let go of. */
  failed(error: unknown): void {
    if (!(error instanceof RunStop)) this.discardRest(causeOf(error))
  }

  /** The model call did not stand, or must not be acted on: lets go of all its calls. */
  discardRest(cause: DiscardCause): void {
    this.#askers.open = false
    this.#warmUps.drop(new Error('the model call did not stand'))
    this.#discardAll(cause, new Set())
    this.slots.advance()
  }

  /**
   * The run is aborted or over: nothing more starts or commits, and what is at work is told to stop. What a stopped run has made
   * early stays as it is, for its resume (O8, O9).
   */
  abort(reason: unknown): void {
    this.#askers.open = false
    this.#warmUps.drop(new Error('the run is over'))
    const stopsLater = reason instanceof RunStop && !this.#run.signal.aborted
    const kept = this.#ledger.entries().filter(({ message }) => stopsLater && message)
    this.#discardAll('run_aborted', new Set(kept), !(reason instanceof RunStop))
    this.slots.advance()
    for (const entry of this.#ledger.entries()) entry.abort(reason, this.#run.config.grace)
  }

  /** Resolves when nothing is at work: every call has settled or was abandoned. */
  async idle(): Promise<void> {
    while (this.#work.size > 0) await Promise.allSettled(this.#work)
  }

  /** Nothing more comes of what stayed open. */
  over(): void {
    for (const entry of this.#ledger.entries()) endSpans(entry)
  }

  /** A call that a run before this one has made. */
  add(entry: CallEntry): void {
    this.#ledger.add(entry)
  }

  /** The call of this id: its own, or one that a later attempt gave it. */
  get(callId: string): CallEntry | undefined {
    return this.#ledger.get(callId)
  }

  entries(): readonly CallEntry[] {
    return this.#ledger.entries()
  }

  /** Whether a question is one that a call asks. */
  asks(interrupt: Interrupt): boolean {
    return this.#ledger.entries().some((entry) => isOpen(entry) && entry.asking?.interrupt === interrupt)
  }

  /** A call in its tool's own words: every call comes in through here. */
  #own(call: ToolCall): ToolCall {
    return resolveAliases(call, this.#run.setup.tools)
  }

  /** The entry of a call made already: under its id, or under its key by an earlier attempt. `coming`: what is made before it. */
  #find(call: ToolCall, asker: Asker | undefined, coming: readonly ToolCall[]): CallEntry | undefined {
    const same = this.#ledger.get(call.id)
    if (same?.rest) this.#complete(same, same.rest, call)
    if (same && !same.discarded) {
      if (sameCall(same.call, call)) return same
      if (same.provisional) this.#discard(same, 'arguments_changed')
    }
    const held = asker && this.#held(call, asker, coming)
    if (!held) return undefined
    this.#rename(held, call.id)
    held.askers.push(asker)
    // Which has changed it, too: it is asked for again.
    this.slots.moveBack(held)
    if (asker.span) for (const { open } of held.executions) open.span.addLink({ context: asker.span.spanContext() })
    return held
  }

  /** The entries of the calls that are made already. */
  #findAll(calls: readonly ToolCall[]): ReadonlyMap<ToolCall, CallEntry> {
    const made = new Map<ToolCall, CallEntry>()
    const coming: ToolCall[] = []
    for (const call of calls) {
      const entry = this.#find(call, this.#askers.of(call.id), coming)
      if (entry) made.set(call, entry)
      else coming.push(call)
    }
    return made
  }

  #held(call: ToolCall, asker: Asker, coming: readonly ToolCall[]): CallEntry | undefined {
    const { step, setup } = this.#run
    const held = this.#ledger.held(call, step, asker)
    if (held.length === 0) return undefined
    const unmade = coming.map(({ name }) => ({ tool: this.#toolOf(name) }))
    return held.find(
      (one) => !isStale(one, [...this.#ledger.since(one, asker), ...unmade], setup.toolConcurrency === 1),
    )
  }

  /** Makes a call of whose input there are the members its tool needs: at once if it may start so, else when it is whole. */
  #onNeeds(call: ToolCall, whole: Promise<ToolCall>, actor: Actor, options: CallOptions): Promise<ToolMessage> {
    const asker = this.#askers.of(call.id)
    const rest = asker && this.#mayStartOnNeeds(call, actor, asker)
    if (rest) {
      const entry = this.#start(call, actor, asker, options, rest)
      whole.then(
        (whole) => this.#complete(entry, rest, whole),
        () => rest.isOpen && !entry.discarded && this.#discard(entry, 'stream_error'),
      )
    }
    const made = (rest?.whole ?? whole).then((whole) => this.call(whole, actor, options))
    made.catch(() => undefined)
    return made
  }

  #mayStartOnNeeds(call: ToolCall, actor: Actor, asker: Asker): Rest | undefined {
    const { config, step } = this.#run
    const tool = this.#toolOf(call.name)
    if (!tool || !startsOnNeeds(tool, config) || !this.#askers.mayStart(asker) || actor.call) return undefined
    const rest = new Rest(tool, freeze(call))
    return this.#ledger.get(call.id) || this.#ledger.mayBeHeld(rest, step, asker) ? undefined : rest
  }

  /** The whole input of a call that has started with the members its tool needs: it goes on, or was something else (H32). */
  #complete(entry: CallEntry, rest: Rest, call: ToolCall): void {
    if (!rest.isOpen || entry.discarded) return
    if (!rest.isStartOf(call)) {
      this.#discard(entry, 'arguments_changed')
      return
    }
    this.#ledger.complete(entry, call)
    rest.checked = rest.complete(call).then((stands) => {
      if (!stands && !entry.discarded) this.#discard(entry, 'arguments_changed')
    })
  }

  #start(
    call: ToolCall,
    actor: Actor | undefined,
    asker: Asker | undefined,
    options: CallOptions,
    rest?: Rest,
  ): CallEntry {
    const maker = actor?.call
    const entry = new CallEntry({
      key: rest ? this.#ledger.keyOfStart(call) : this.#ledger.keyOf(call, this.#run.step, asker),
      call,
      tool: this.#toolOf(call.name),
      step: this.#run.step,
      parent: actor && maker ? actor.context : this.#run.context,
      attributes: options.attributes,
      asker,
      maker,
      provisional: maker ? maker.provisional : asker !== undefined && this.#askers.open,
      ceiling: maker ? maker.ceiling : options.ceiling,
      keyCeiling: maker ? undefined : options.keys,
      // What tools and wraps make works inside the slot of the call that made it, and under its keys.
      slots: maker ? new Slots() : this.slots,
      rest,
      warmUp: maker ? undefined : this.#warmUps.take(call.id),
    })
    this.#ledger.add(entry)
    this.#run.takenIds.add(call.id)
    if (entry.provisional && !maker) this.counts.early++
    actor?.execution?.children.push(entry)
    this.#begin(entry)
    const { status } = entry
    options.started?.(() => status.read())
    return entry
  }

  /** One that a checkpoint holds, and that is to be made, is begun when it is asked for. */
  #begun(entry: CallEntry, actor?: Actor): CallEntry {
    if (entry.begun) return entry
    entry.parent = actor && entry.maker ? actor.context : this.#run.context
    this.#begin(entry)
    return entry
  }

  #begin(entry: CallEntry): void {
    entry.begun = true
    this.events.started(entry)
    entry.promise = this.#make(entry)
    this.#keep(entry.promise)
  }

  /** Makes the call: its result as a message, or a throw if it ends the run or was discarded. */
  async #make(entry: CallEntry): Promise<ToolMessage> {
    try {
      const work = makeCall(this.#run, entry)
      entry.work = work
      const message = await Promise.race([work, entry.abandoned.then(() => this.#abandon(entry))])
      if (entry.discarded) throw new ToolDiscardedError(entry.call.id, entry.discarded)
      const stands = entry.cancelled ? cancelledMessage(entry.call, entry.entered) : message
      entry.message = freeze({ ...stands, callId: entry.id, name: entry.call.name })
      return entry.message
    } catch (error) {
      // It stays open, and so do those that must not overtake it: they start after the resume, too (A22, H14).
      if (error instanceof RunStop && !entry.signal.aborted) entry.stopped = error
      // Before its slot is free: what waits for it must not start any more (A12).
      else if (this.#asked.includes(entry)) this.abort(error)
      throw error
    } finally {
      this.#settle(entry)
      if (!entry.provisional && !entry.discarded) this.#close(entry)
      if (!entry.signal.aborted) this.#run.saver.soon()
    }
  }

  #settle(entry: CallEntry): void {
    const goesOn = entry.executions.some(({ abandoned }) => abandoned) && !this.abandoned.includes(entry.id)
    if (goesOn) this.abandoned.push(entry.id)
    entry.settle()
    const ok = entry.message !== undefined && !entry.message.isError
    entry.status.end(endState(entry, ok, this.abandoned.includes(entry.id)), this.#ended.next())
  }

  #abandon(entry: CallEntry): ToolMessage {
    this.abandoned.push(entry.id)
    if (entry.cancelled) return cancelledMessage(entry.call, entry.entered)
    throw entry.signal.reason
  }

  /** `id`: of the attempt that stands, which need not be the last that joined. */
  #commit(entry: CallEntry, id: string, modelEnded: number | undefined): void {
    // Calls committed or made after it stand behind it.
    entry.slots.moveBack(entry)
    if (!entry.provisional) {
      // As a checkpoint has it: its result was kept, but nobody told of it.
      if (entry.message && !entry.told) this.#close(entry)
      return
    }
    this.#rename(entry, id)
    // As a checkpoint has it: not made in this run, it is a call like any other.
    if (entry.begun) {
      if (!entry.maker) this.counts.committed++
      this.events.committed(entry)
    }
    entry.commit()
    for (const child of entry.children) this.#commit(child, child.id, modelEnded)
    if (entry.maker) entry.slots.advance()
    if (entry.message && entry.message.callId !== entry.id)
      entry.message = freeze({ ...entry.message, callId: entry.id })
    entry.modelEnded = modelEnded
    if (entry.settled) this.#close(entry)
  }

  /** Whoever lists the call has its new id. */
  #rename(entry: CallEntry, id: string): void {
    this.#run.unknown = this.#run.unknown.map((one) => (one === entry.id ? id : one))
    this.#ledger.rename(entry, id)
  }

  #close(entry: CallEntry): void {
    endSpans(entry)
    this.events.ended(entry)
    // Only `returnDirect` still asks for it.
    if (!entry.tool?.returnDirect) entry.done = undefined
  }

  #discardAll(cause: DiscardCause, kept: ReadonlySet<CallEntry>, undo = true): void {
    for (const entry of this.#ledger.entries()) {
      if (entry.provisional && !entry.discarded && !entry.maker && !kept.has(entry)) this.#discard(entry, cause, undo)
    }
  }

  /** Lets go of a provisional call: it alone is aborted, and nobody sees its result (H20). */
  #discard(entry: CallEntry, cause: DiscardCause, undo = true): void {
    for (const child of entry.children) if (child.provisional && !child.discarded) this.#discard(child, cause, undo)
    entry.discarded = cause
    // As a checkpoint has it, and nobody has asked for it since.
    if (!entry.begun) return
    if (!entry.maker) this.counts.discarded++
    this.events.discarded(entry)
    const reason = new ToolDiscardedError(entry.call.id, cause)
    entry.abort(reason, this.#run.config.grace)
    entry.warmUp?.abort(reason)
    // Nobody sees what it reads.
    if (entry.keys) entry.keys = { ...entry.keys, reads: NO_KEYS.reads }
    entry.slots.changed(entry)
    const undone = async () =>
      undo ? await compensate(this.#run, entry, this.abandoned.includes(entry.id)) : undefined
    this.#keep(entry.promise.catch(() => undefined).then(async () => endSpans(entry, await undone())))
  }

  #toolOf(name: string): Tool | undefined {
    return this.#run.setup.tools.find((tool) => tool.name === name)
  }

  /** Nothing floats: what is at work is known until it has settled. */
  #keep(work: Promise<unknown>): void {
    const done = work.catch(() => undefined).finally(() => this.#work.delete(done))
    this.#work.add(done)
  }
}

function unlessStop(error: unknown): void {
  if (!(error instanceof RunStop)) throw error
}

/** It threw an `AgentError` that ends the run before its model call stood. */
function hasEndedRun(entry: CallEntry | undefined): boolean {
  return entry?.settled === true && entry.message === undefined && entry.stopped === undefined
}
