/**
 * Who asks for a call gets one: a response that has stood, for all its calls (commit), or what has `run.callTool` (call). One that is
 * made already is found: under its id, or as an equal one of an earlier attempt (H22).
 */

import type { Context } from '@opentelemetry/api'
import { RunStop } from '../errors.ts'
import { within } from '../flow/grace.ts'
import { refused } from '../flow/turn.ts'
import { unheard } from '../flow/unheard.ts'
import { isRecord } from '../json.ts'
import { mayStartFor } from '../machine/calls.ts'
import { joined, reopened, responseEnded } from '../machine/decide.ts'
import { heldFor } from '../machine/join.ts'
import type { ToolCall, ToolMessage } from '../message.ts'
import type { CallOptions } from '../middleware.ts'
import type { NeedsStarts } from '../needs/needs-starts.ts'
import type { WarmUps } from '../needs/warm-ups.ts'
import { freeze } from '../run/history.ts'
import type { RunState } from '../run/run.ts'
import { type Actor, checkNotLeft } from '../run/run-view.ts'
import { ToolDiscardedError } from '../tool-errors.ts'
import { findTool, resolveAliases } from './aliases.ts'
import { boundedCall } from './call-bounds.ts'
import { type CallEntry, factsOf } from './call-entry.ts'
import { inWordsOf } from './call-results.ts'
import type { CallTable } from './call-table.ts'
import type { CallsAtWork } from './calls-at-work.ts'
import { canonicalInput, sameCall } from './canonical.ts'
import type { CommitGate } from './commit-gate.ts'

interface Parts {
  readonly run: RunState
  readonly table: CallTable
  /** The contexts of the attempts at work. */
  readonly contexts: ReadonlyMap<number, Context>
  readonly warmUps: WarmUps
  readonly atWork: CallsAtWork
  readonly gate: CommitGate
  readonly needs: NeedsStarts
  /** Aborts all calls of the run. */
  readonly abort: (reason: unknown) => void
}

export class AskedCalls {
  readonly #parts: Parts
  #entries: readonly CallEntry[] = []

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Whether the loop waits for a call: one of these that fails ends the run. */
  includes(entry: CallEntry): boolean {
    return this.#entries.includes(entry)
  }

  /**
   * Commits those of these calls that were made, makes the others, and discards the rest. Gives the messages in call order, under the
   * names the model wrote (M9). If a tool ends the run, its siblings are aborted and waited for first (A12); one that asks, or that
   * no longer starts, stays open, and the others finish (L3).
   */
  async commit(written: readonly ToolCall[], attempt: number | undefined): Promise<ToolMessage[]> {
    const { run, table, gate, atWork, warmUps } = this.#parts
    const { response } = table.state
    const calls = written.map((call) => resolveAliases(call, run.setup.tools))
    run.signal.throwIfAborted()
    const modelEnded = attempt === undefined ? undefined : response.attempts.get(attempt)?.ended
    const made = await this.#made(calls)
    responseEnded(table.state)
    gate.discardAll('call_withdrawn', new Set(made.values()))
    const failed = calls.findIndex((call) => hasEndedRun(made.get(call)))
    // What the run that is not eager enters before that call ends it.
    const most = failed < 0 ? calls.length : Math.max(run.setup.toolConcurrency, failed + 1)
    this.#entries = calls.flatMap((call, index) => {
      // A wrap of the one before it may have stopped the run.
      run.signal.throwIfAborted()
      const entry = made.get(call)
      if (!entry) return index < most ? atWork.start(call, { attempt: response.askedBy.get(call.id) }) : []
      gate.commit(entry, call.id, modelEnded)
      return atWork.begun(entry)
    })
    table.turns.advance()
    warmUps.drop('the model did not ask for this call')
    const messages = await this.#messages(failed >= 0 && made.size < calls.length)
    return messages.map((message, index) => inWordsOf(written[index], message))
  }

  /** Those that are made already, when it is known whether the whole inputs of those that started without them stand. */
  async #made(calls: readonly ToolCall[]): Promise<ReadonlyMap<ToolCall, CallEntry>> {
    const { run } = this.#parts
    const made = this.#findAll(calls)
    const checks = [...made.values()].flatMap(({ rest }) => rest?.checked ?? [])
    if (checks.length === 0) return made
    await Promise.all(checks)
    run.signal.throwIfAborted()
    return this.#findAll(calls)
  }

  async #messages(isEnded: boolean): Promise<ToolMessage[]> {
    const { table, atWork, abort } = this.#parts
    const entries = this.#entries
    try {
      if (isEnded) await this.#enter(entries)
      await Promise.all(entries.map((entry) => entry.promise.catch((error: unknown) => unlessStop(error))))
      const messages = await Promise.all(entries.map((entry) => entry.promise))
      // A call that had settled before it was joined goes into the history under the id it has by now.
      return messages.map((message, index) => entries[index]?.message ?? message)
    } catch (error) {
      if (error instanceof RunStop) throw error
      abort(error)
      for (const entry of entries) if (entry.settled) table.turns.close(entry)
      await atWork.idle()
      throw error
    }
  }

  /** An early call ends the run: its siblings are entered first, but for those that wait for each other's keys (H16). */
  async #enter(entries: readonly CallEntry[]): Promise<void> {
    const { table, atWork } = this.#parts
    for (const entry of entries) reopened(table.state, entry.number)
    await within(0, atWork.idle())
  }

  /** The result of the call, which is made at most once. Never throws: it rejects, and nobody need wait for it (K13). */
  call(written: ToolCall, actor: Actor, options: CallOptions): Promise<ToolMessage> {
    const result = this.#resultOf(written, actor, options)
    const { call } = actor
    const { halt, config } = this.#parts.run
    const graceAt = (stop: RunStop) => (stop === halt.halted.reason ? config.grace : undefined)
    // Before whoever asks for it hears of it.
    if (call) result.catch((error) => error instanceof RunStop && call.meet(error, graceAt(error)))
    return result
  }

  #resultOf(written: ToolCall, actor: Actor, options: CallOptions): Promise<ToolMessage> {
    try {
      checkCall(written)
      const call = resolveAliases(this.#own(written), this.#parts.run.setup.tools)
      this.#checkOpen(actor)
      const { rest, ...others } = options
      return rest ? this.#onNeeds(call, rest, actor, others) : this.#called(call, actor, options)
    } catch (error) {
      return refused(error)
    }
  }

  /** What a response asks for is frozen. What somebody makes up is copied: nothing that is done to it later reaches the call. */
  #own(call: ToolCall): ToolCall {
    const bounded = boundedCall(call, this.#parts.run.config.inputLimits)
    const isOfResponse = this.#parts.table.state.response.askedBy.has(call.id) && Object.isFrozen(bounded)
    if (isOfResponse) return bounded
    const own = freeze(structuredClone(bounded))
    // Throws where JSON cannot hold it: later nobody could be told.
    canonicalInput(own)
    return own
  }

  #checkOpen(actor: Actor): void {
    const { execution, call } = actor
    const { signal, isEnding } = this.#parts.run
    signal.throwIfAborted()
    checkNotLeft(actor, 'callTool')
    if (isEnding) throw new TypeError('the run is over')
    const stop = execution?.signal ?? call?.signal
    stop?.throwIfAborted()
    // One that had settled was not aborted (K13).
    if (call?.discarded) throw new ToolDiscardedError(call.id, call.discarded)
  }

  #called(call: ToolCall, actor: Actor, options: CallOptions): Promise<ToolMessage> {
    const { run, table, atWork } = this.#parts
    const { call: maker } = actor
    const past = (maker && table.past(call.id, maker)) ?? table.past(call.id)
    if (past?.promise && sameCall(past.call, call)) return past.promise
    const attempt = table.state.response.askedBy.get(call.id)
    const found = maker ? this.#madeFor(maker, call) : this.#find(call)
    table.turns.advance()
    const { halted } = run.halt
    // A maker that has settled waits for nothing it makes.
    if ((!found || found.state.course === 'asleep') && !(maker && !maker.settled)) halted.throwIfAborted()
    if (found) return atWork.begun(found, actor).promise
    const isFree = maker ? !past : !run.history.takenIds.has(call.id)
    const mayStart = attempt === undefined ? isFree : mayStartFor(table.state, attempt)
    // Whether a call of an ended response is made is the loop's to say: it has made it, or it must not be made.
    if (!mayStart) throw new ToolDiscardedError(call.id, 'call_withdrawn')
    return atWork.start(call, { actor, attempt, options }).promise
  }

  /** What this call asks for, if it is made: under an id of its own, or of the response, of which it changes nothing. */
  #madeFor(maker: CallEntry, call: ToolCall): CallEntry | undefined {
    const { table } = this.#parts
    const made = table.get(call.id, maker) ?? table.get(call.id)
    if (made?.discarded || (made && !sameCall(made.call, call))) throw new ToolDiscardedError(call.id, 'call_withdrawn')
    return made
  }

  /** Makes a call of whose input there are the members its tool needs: at once if it may start so, else when it is whole. */
  #onNeeds(call: ToolCall, whole: Promise<ToolCall>, actor: Actor, options: CallOptions): Promise<ToolMessage> {
    const { run, table, needs, atWork } = this.#parts
    const attempt = table.state.response.askedBy.get(call.id)
    const tool = findTool(run.setup.tools, call.name)
    const mayStart = tool && attempt !== undefined && mayStartFor(table.state, attempt) && !actor.call
    const rest = mayStart ? needs.restOf(call, tool, attempt) : undefined
    if (rest) needs.follow(atWork.start(call, { actor, attempt, options, rest }), rest, whole)
    return unheard((rest?.whole ?? whole).then((whole) => this.call(whole, actor, options)))
  }

  /** Of the calls of a response, those that are made already. */
  #findAll(calls: readonly ToolCall[]): ReadonlyMap<ToolCall, CallEntry> {
    const made = new Map<ToolCall, CallEntry>()
    const coming: ToolCall[] = []
    for (const call of calls) {
      const entry = this.#find(call, coming)
      if (entry) made.set(call, entry)
      else coming.push(call)
    }
    return made
  }

  /**
   * The entry of a call that is made already. One of an earlier attempt goes on as this call; one that has turned out to ask for
   * something else is discarded. `coming`: what is made before it.
   */
  #find(call: ToolCall, coming: readonly ToolCall[] = []): CallEntry | undefined {
    const { run, table, contexts, gate, needs } = this.#parts
    const { state } = table
    const same = table.get(call.id)
    if (same?.rest) needs.complete(same, same.rest, call)
    if (same && !same.discarded) {
      if (sameCall(same.call, call)) return same
      if (same.state.asked) gate.discard(same, 'arguments_changed')
    }
    const attempt = state.response.askedBy.get(call.id)
    const content = table.contentOf(run.steps.begun, call)
    if (attempt === undefined || content === undefined) return undefined
    const unmade = coming.map(({ name }) => factsOf(findTool(run.setup.tools, name)))
    const held = heldFor(state, content, attempt, unmade)
    const entry = held && table.of(held.number)
    if (!entry) return undefined
    gate.rename(entry, call.id)
    joined(state, entry.number, call.id, attempt)
    const context = contexts.get(attempt)
    if (context) {
      entry.askedIn.push(context)
      run.telemetry.joined(entry, context)
    }
    return entry
  }
}

function unlessStop(error: unknown): void {
  if (!(error instanceof RunStop)) throw error
}

/** It threw an `AgentError` that ends the run before its model call stood. */
function hasEndedRun(entry: CallEntry | undefined): boolean {
  return entry?.settled === true && entry.message === undefined && entry.stopped === undefined
}

/** Two calls without an id would be one. */
function checkCall(call: ToolCall): void {
  const given: unknown = call
  if (isRecord(given) && typeof given.id === 'string' && given.id !== '' && typeof given.name === 'string') return
  throw new TypeError(
    "callTool takes { type: 'tool-call', id, name, input }, with an id that its caller gives to no other call",
  )
}
