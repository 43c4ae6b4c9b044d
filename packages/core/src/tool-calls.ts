/**
 * The calls of a run, each made at most once, and the gate between a call's start and its place in the history.
 *
 * A call made while its model call is still open is provisional. When the model call has stood, what the loop asks for is
 * committed and the rest discarded; a call of a failed attempt is held until then, so that an equal call of the next attempt
 * joins it.
 */

import type { Span } from '@opentelemetry/api'
import { resolveAliases } from './aliases.ts'
import { type Asker, CallEntry } from './call-entry.ts'
import { CallEvents } from './call-events.ts'
import { endSpans } from './call-spans.ts'
import { sameCall } from './canonical.ts'
import type { SavedCall } from './checkpoint.ts'
import { compensate } from './compensate.ts'
import { causeOf } from './discard-cause.ts'
import { messageOf, RunStop, ToolDiscardedError, UnknownCallError } from './errors.ts'
import type { AgentEvent, CustomEvent, DiscardCause } from './events.ts'
import { committed } from './execute-tool.ts'
import { freeze } from './history.ts'
import type { Interrupt } from './interrupt.ts'
import { Ledger } from './ledger.ts'
import { makeCall } from './make-call.ts'
import { type AssistantMessage, callsOf, type ToolCall, type ToolMessage } from './message.ts'
import type { CallOptions } from './middleware.ts'
import { type Given, startsOnNeeds } from './needs.ts'
import { Rest } from './rest.ts'
import type { RunState } from './run.ts'
import type { Actor } from './run-view.ts'
import { Slots } from './slots.ts'
import type { Progress, Tool } from './tool.ts'
import { CUT_OFF, cancelledMessage, NOT_STARTED, textMessage } from './tool-message.ts'
import { EndedCalls, endState, type ToolStatus } from './tool-status.ts'
import { WarmUps } from './warm-ups.ts'

/** The model call at work: who asked for what, and whether calls may still be let go of. */
interface ModelCall {
  /** By call id. */
  readonly askers: Map<string, Asker>
  readonly attempts: Map<number, Asker>
  open: boolean
}

export class ToolCalls {
  readonly slots: Slots = new Slots()
  /** Ids of calls that were no longer waited for (K12). */
  readonly abandoned: string[] = []
  readonly counts: { early: number; committed: number; discarded: number } = { early: 0, committed: 0, discarded: 0 }
  readonly #run: RunState
  readonly #events: CallEvents
  readonly #ledger: Ledger
  readonly #ended = new EndedCalls()
  readonly #warmUps: WarmUps = new WarmUps()
  readonly #work: Set<Promise<unknown>> = new Set()
  /** What the loop waits for: a call of these that fails ends the run. */
  #asked: readonly CallEntry[] = []
  #modelCall: ModelCall = { askers: new Map(), attempts: new Map(), open: false }

  constructor(run: RunState) {
    this.#run = run
    this.#events = new CallEvents(run)
    this.#ledger = new Ledger(run.id)
  }

  /** A step's model call begins: the calls it announces are provisional until {@link commit} or {@link discardRest}. */
  open(): void {
    this.#modelCall = { askers: new Map(), attempts: new Map(), open: true }
  }

  /** A resumed step has its response already: the calls it asks for, and those a run before this one has made for it. */
  reopen(answer: AssistantMessage, attempt: number | undefined): void {
    this.open()
    for (const { id } of callsOf(answer)) this.announced(id, attempt ?? 0)
  }

  /** A model attempt announced a call, or, as number 0, a wrap that answers itself. The first who does counts. */
  announced(callId: string, attempt: number, span?: Span): void {
    const { askers, attempts } = this.#modelCall
    if (askers.has(callId)) return
    const asker = attempts.get(attempt) ?? { attempt, span }
    attempts.set(attempt, asker)
    askers.set(callId, asker)
    this.#run.takenIds.add(callId)
  }

  /**
   * An attempt's stream is over. If it broke off, no call of it starts any more (G11), and none whose input is not whole can be
   * joined by another (H32). Gives how many had started.
   */
  attemptEnded(attempt: number, brokeOff: DiscardCause | undefined): number {
    const { attempts, askers } = this.#modelCall
    const asker = attempts.get(attempt)
    if (!asker) return 0
    asker.ended = performance.now()
    asker.over = brokeOff !== undefined
    const early = [...this.#ledger.entries()].filter((entry) => entry.startedEarly && entry.askers[0] === asker)
    if (brokeOff) {
      for (const entry of early) if (entry.rest?.isOpen && !entry.discarded) this.#discard(entry, brokeOff)
      const unmade = [...askers].flatMap(([callId, by]) => (by === asker ? [callId] : []))
      this.#warmUps.drop(new Error('the response broke off'), unmade)
    }
    return early.length
  }

  /** The reader has seen that a call has the members its tool needs. */
  ready(callId: string): void {
    this.#events.ready(callId)
  }

  /** The reader is shown a call: what the call has emitted follows. A sealed call whose arguments changed is let go of (H8). */
  shown(written: ToolCall, sealed: boolean): void {
    const call = this.#own(written)
    this.#events.announced(call)
    const entry = this.#ledger.get(call.id)
    if (!entry?.provisional || entry.discarded || entry.rest?.isOpen) return
    if (sealed && !sameCall(entry.call, call)) this.#discard(entry, 'arguments_changed')
    else this.#events.show(entry)
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
    const maker = actor.execution?.signal ?? actor.call?.signal
    if (maker?.aborted) return Promise.reject(maker.reason)
    const asker = this.#modelCall.askers.get(call.id)
    const { rest, ...others } = options
    if (rest) return this.#onNeeds(call, rest, actor, others)
    const found = this.#find(call, asker)
    if (found) return this.#begun(found).promise
    const mayStart = asker ? this.#mayStart(asker) : !takenIds.has(call.id)
    // Whether a call of an ended response is made is the loop's to say: it has made it, or it must not be made.
    return mayStart
      ? this.#start(call, actor, asker, options).promise
      : Promise.reject(new ToolDiscardedError(call.id, 'call_withdrawn'))
  }

  /** {@link Run.stood} */
  async stood(callId: string): Promise<string> {
    const entry = this.#ledger.get(callId)
    if (!entry) throw new UnknownCallError(callId)
    await committed(entry, entry.signal)
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
    const asker = this.#modelCall.askers.get(callId)
    const tool = this.#toolOf(name)
    if (!tool || !asker || !this.#mayStart(asker) || this.#ledger.get(callId)) return
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

  /** What a tool or its wraps emit. Once the call is over it reaches nothing (D7). */
  emit(entry: CallEntry, event: CustomEvent): void {
    this.#events.custom(entry, event)
  }

  /** What a background call reports. */
  progress(entry: CallEntry, progress: Progress): void {
    this.#events.progress(entry, progress)
  }

  /** What happens in the run inside a call. */
  show(entry: CallEntry, event: AgentEvent): void {
    this.#events.nested(entry, event)
  }

  /**
   * The model call has stood with these calls: commits those that were made, makes the others, and discards the rest. The
   * messages come in call order, under the names the model wrote (M9). If a tool ends the run, its siblings are aborted and waited
   * for first (A12); one that asks, or that no longer starts, stays open, and the others finish (L3).
   */
  async commit(written: readonly ToolCall[], attempt: number | undefined): Promise<ToolMessage[]> {
    const calls = written.map((call) => this.#own(call))
    this.#run.signal.throwIfAborted()
    const { askers, attempts } = this.#modelCall
    const modelEnded = attempt === undefined ? undefined : attempts.get(attempt)?.ended
    const find = () => calls.map((call) => this.#find(call, askers.get(call.id)))
    let made = find()
    const checks = made.flatMap((entry) => entry?.rest?.checked ?? [])
    if (checks.length > 0) {
      await Promise.all(checks)
      this.#run.signal.throwIfAborted()
      made = find()
    }
    this.#modelCall.open = false
    this.#discardAll('call_withdrawn', made)
    const entries = calls.map((call, index) => {
      const entry = made[index]
      if (!entry) return this.#start(call, undefined, askers.get(call.id), {})
      this.#commit(entry, call.id, modelEnded)
      return this.#begun(entry)
    })
    this.#warmUps.drop(new Error('the model did not ask for this call'))
    this.#asked = entries
    try {
      await Promise.all(entries.map((entry) => entry.promise.catch((error: unknown) => unlessStop(error))))
      const messages = await Promise.all(entries.map((entry) => entry.promise))
      // A call that had settled before it was joined goes into the history under the id it has by now.
      return messages.map((message, index) => inWordsOf(written[index], entries[index]?.message ?? message))
    } catch (error) {
      if (error instanceof RunStop) throw error
      this.abort(error)
      await this.idle()
      throw error
    }
  }

  /** The model call failed with this, at last: unless it goes on after a resume, all its calls are let go of. */
  failed(error: unknown): void {
    if (!(error instanceof RunStop)) this.discardRest(causeOf(error))
  }

  /** The model call did not stand, or must not be acted on: lets go of all its calls. */
  discardRest(cause: DiscardCause): void {
    this.#modelCall.open = false
    this.#warmUps.drop(new Error('the model call did not stand'))
    this.#discardAll(cause, [])
  }

  /** The result of each call, or what became of it, which the reader is told then (A14, B6). */
  answers(calls: readonly ToolCall[]): ToolMessage[] {
    return calls.map((call) => {
      const entry = this.#ledger.get(call.id)
      const made = entry?.discarded ? undefined : entry
      if (!made?.message) return this.refuse(call, made && made.attempts > 0 ? CUT_OFF : NOT_STARTED)
      const { message } = made
      // What a `wrapAgent` that left was just being given never came up.
      if (!this.#run.endsTold.has(call.id)) this.#run.push({ type: 'tool-end', callId: call.id, message })
      return inWordsOf(call, message)
    })
  }

  /** The error result of a call that is not made, or comes to no result: the reader is told then. */
  refuse(call: ToolCall, text: string): ToolMessage {
    const message = freeze(textMessage(this.#own(call), text, true))
    this.#run.push({ type: 'tool-end', callId: call.id, message })
    return inWordsOf(call, message)
  }

  /** The run is aborted or over: nothing more starts or commits, and what is at work is told to stop. */
  abort(reason: unknown): void {
    this.discardRest('run_aborted')
    for (const entry of this.#ledger.entries()) entry.abort(reason, this.#run.config.grace)
  }

  /** Resolves when nothing is at work: every call has settled or was abandoned. */
  async idle(): Promise<void> {
    while (this.#work.size > 0) await Promise.allSettled(this.#work)
  }

  /** Everything a run before this one had made, as its checkpoint holds it. */
  restore(saved: readonly SavedCall[]): readonly CallEntry[] {
    const byKey = new Map<string, CallEntry>()
    for (const one of saved) {
      const entry = new CallEntry({
        key: one.key,
        call: freeze(one.call),
        tool: this.#run.setup.tools.find((tool) => tool.name === one.call.name),
        step: one.step,
        parent: this.#run.context,
        attributes: {},
        asker: undefined,
        maker: byKey.get(one.maker ?? ''),
        provisional: one.provisional,
        ceiling: undefined,
        // What has settled, or works for another call, holds nobody back.
        slots: one.maker !== undefined || one.message ? new Slots() : this.slots,
        saved: one,
      })
      byKey.set(one.key, entry)
      this.#ledger.add(entry)
    }
    return [...byKey.values()]
  }

  entries(): readonly CallEntry[] {
    return this.#ledger.entries()
  }

  /** In the order in which the response asks for them; behind those what was called on the side. */
  inOrder(entries: readonly CallEntry[]): CallEntry[] {
    const last = this.#run.messages.findLast((message) => message.role === 'assistant')
    const ids = last?.role === 'assistant' ? callsOf(last).map(({ id }) => id) : []
    const place = (entry: CallEntry): number =>
      entry.maker ? place(entry.maker) : ids.indexOf(entry.id) + 1 || ids.length + 1
    return entries.toSorted((a, b) => place(a) - place(b))
  }

  /** Whether a question is one that a call asks: any call, or one that this call makes, or it itself. */
  isAsked(interrupt: Interrupt, by?: CallEntry): boolean {
    if (!by) return this.#ledger.entries().some((entry) => !entry.maker && this.isAsked(interrupt, entry))
    if (by.asking?.interrupt === interrupt || by.relayed === interrupt) return true
    return by.children.some((child) => this.isAsked(interrupt, child))
  }

  /** Whether the result of a call is the run's answer: its tool says so, and it did not fail (M6). */
  isDirect({ callId, isError, output }: ToolMessage): boolean {
    const entry = this.#ledger.get(callId)
    const direct = entry?.tool?.returnDirect
    if (isError || direct === undefined) return false
    if (typeof direct === 'boolean') return direct
    try {
      return direct(entry?.done ? entry.done.output : output)
    } catch (error) {
      const message = `${entry?.call.name}: ${messageOf(error)}`
      this.#run.warn({ code: 'return-direct-failed', message, source: 'core' })
      return false
    }
  }

  /** A call in its tool's own words: every call comes in through here. */
  #own(call: ToolCall): ToolCall {
    return resolveAliases(call, this.#run.setup.tools)
  }

  /** The entry of a call made already: under its id, or under its key by an earlier attempt. */
  #find(call: ToolCall, asker: Asker | undefined): CallEntry | undefined {
    const same = this.#ledger.get(call.id)
    if (same?.rest) this.#complete(same, same.rest, call)
    if (same && !same.discarded) {
      if (sameCall(same.call, call)) return same
      if (same.provisional) this.#discard(same, 'arguments_changed')
    }
    const held = asker && this.#ledger.held(call, this.#run.step, asker)
    if (!held) return undefined
    this.#ledger.rename(held, call.id)
    held.askers.push(asker)
    if (asker.span) for (const { open } of held.executions) open.span.addLink({ context: asker.span.spanContext() })
    return held
  }

  #mayStart(asker: Asker): boolean {
    return this.#modelCall.open && !asker.over
  }

  #toolOf(name: string): Tool | undefined {
    return this.#run.setup.tools.find((tool) => tool.name === name)
  }

  /** Makes a call of whose input there are the members its tool needs: at once if it may start so, else when it is whole. */
  #onNeeds(call: ToolCall, whole: Promise<ToolCall>, actor: Actor, options: CallOptions): Promise<ToolMessage> {
    const asker = this.#modelCall.askers.get(call.id)
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
    if (!tool?.needs || !startsOnNeeds(config) || !this.#mayStart(asker) || actor.call) return undefined
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
      attributes: options.attributes ?? {},
      asker,
      maker,
      provisional: maker ? maker.provisional : asker !== undefined && this.#modelCall.open,
      ceiling: maker ? maker.ceiling : options.ceiling,
      // What tools and wraps make works inside the slot of the call that made it.
      slots: maker ? new Slots() : this.slots,
      rest,
      warmUp: maker ? undefined : this.#warmUps.take(call.id),
    })
    this.#ledger.add(entry)
    this.#run.takenIds.add(call.id)
    if (entry.provisional && !maker) this.counts.early++
    actor?.execution?.children.push(entry)
    this.#begin(entry)
    return entry
  }

  /** One that a checkpoint holds, and that is to be made, is begun when it is asked for. */
  #begun(entry: CallEntry): CallEntry {
    if (!entry.begun) this.#begin(entry)
    return entry
  }

  #begin(entry: CallEntry): void {
    entry.begun = true
    this.#events.started(entry)
    entry.promise = this.#make(entry)
    this.#keep(entry.promise)
  }

  /** Makes the call: its result as a message, or a throw if it ends the run or was discarded. */
  async #make(entry: CallEntry): Promise<ToolMessage> {
    try {
      const work = makeCall(this.#run, entry, this.#events)
      entry.work = work
      const message = await Promise.race([work, entry.abandoned.then(() => this.#abandon(entry))])
      if (entry.discarded) throw new ToolDiscardedError(entry.call.id, entry.discarded)
      const stands = entry.cancelled ? cancelledMessage(entry.call, entry.attempts > 0) : message
      entry.message = freeze({ ...stands, callId: entry.id, name: entry.call.name })
      return entry.message
    } catch (error) {
      if (error instanceof RunStop) return this.#stop(entry, error)
      // Before its slot is free: what waits for it must not start any more (A12).
      if (this.#asked.includes(entry)) this.abort(error)
      throw error
    } finally {
      this.#settle(entry)
      if (!entry.provisional && !entry.discarded) this.#close(entry)
      this.#run.saver.soon()
    }
  }

  /** The call stays open. With one slot nothing overtakes it: those behind it start after the resume, too (A22). */
  #stop(entry: CallEntry, stop: RunStop): never {
    entry.stopped = stop
    if (this.slots.limit === 1) this.#run.cancel.halt(stop)
    throw stop
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
    if (entry.cancelled) return cancelledMessage(entry.call, entry.attempts > 0)
    throw entry.signal.reason
  }

  /** `id`: of the attempt that stands, which need not be the last that joined. */
  #commit(entry: CallEntry, id: string, modelEnded: number | undefined): void {
    if (!entry.provisional) {
      // As a checkpoint has it: its result was kept, but nobody told of it.
      if (entry.message && !entry.told) this.#close(entry)
      return
    }
    if (!entry.maker) this.counts.committed++
    this.#ledger.rename(entry, id)
    this.#events.committed(entry)
    entry.commit()
    for (const child of entry.children) this.#commit(child, child.id, modelEnded)
    if (entry.message && entry.message.callId !== entry.id)
      entry.message = freeze({ ...entry.message, callId: entry.id })
    entry.modelEnded = modelEnded
    if (entry.settled) this.#close(entry)
  }

  #close(entry: CallEntry): void {
    endSpans(entry)
    this.#events.ended(entry)
    // Only `returnDirect` still asks for it.
    if (!entry.tool?.returnDirect) entry.done = undefined
  }

  #discardAll(cause: DiscardCause, kept: readonly (CallEntry | undefined)[]): void {
    for (const entry of this.#ledger.entries()) {
      if (entry.provisional && !entry.discarded && !entry.maker && !kept.includes(entry)) this.#discard(entry, cause)
    }
  }

  /** Nothing more comes of what stayed open. */
  over(): void {
    for (const entry of this.#ledger.entries()) endSpans(entry)
  }

  /** Lets go of a provisional call: it alone is aborted, and nobody sees its result (H20). */
  #discard(entry: CallEntry, cause: DiscardCause): void {
    if (!entry.maker) this.counts.discarded++
    for (const child of entry.children) if (child.provisional && !child.discarded) this.#discard(child, cause)
    entry.discarded = cause
    this.#events.discarded(entry)
    const reason = new ToolDiscardedError(entry.call.id, cause)
    entry.abort(reason, this.#run.config.grace)
    entry.warmUp?.abort(reason)
    const undone = () => compensate(this.#run, entry, this.abandoned.includes(entry.id))
    this.#keep(entry.promise.catch(() => undefined).then(async () => endSpans(entry, await undone())))
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

/** The result as the history has it: under the name the model wrote. */
function inWordsOf(call: ToolCall | undefined, message: ToolMessage): ToolMessage {
  return !call || call.name === message.name ? message : freeze({ ...message, name: call.name })
}
