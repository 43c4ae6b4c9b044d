/** What {@link Run.callTool} does: a call of the response that is coming, or one that a tool or wrap makes on the side. */

import { RunStop } from '../errors.ts'
import { unheard } from '../flow/unheard.ts'
import { isRecord } from '../json.ts'
import type { ToolCall, ToolMessage } from '../message.ts'
import type { CallOptions } from '../middleware.ts'
import type { NeedsStarts } from '../needs/needs-starts.ts'
import { freeze } from '../run/history.ts'
import type { RunState } from '../run/run.ts'
import type { Actor } from '../run/run-view.ts'
import type { Slots } from '../slots/slots.ts'
import { ToolDiscardedError } from '../tool-errors.ts'
import { findTool, resolveAliases } from './aliases.ts'
import type { Askers } from './askers.ts'
import { boundedCall } from './call-bounds.ts'
import type { CallEntry } from './call-entry.ts'
import type { CallStarts } from './call-starts.ts'
import { sameCall } from './canonical.ts'
import type { Joins } from './joins.ts'
import type { Ledger } from './ledger.ts'

interface Parts {
  readonly run: RunState
  readonly slots: Slots
  readonly ledger: Ledger
  readonly askers: Askers
  readonly needs: NeedsStarts
  readonly joins: Joins
  readonly starts: CallStarts
}

export class CalledTools {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** The result of the call, which is made at most once. Never throws: it rejects, and nobody need wait for it (K13). */
  call(written: ToolCall, actor: Actor, options: CallOptions): Promise<ToolMessage> {
    const result = this.#resultOf(written, actor, options)
    const { call } = actor
    const { cancel, config } = this.#parts.run
    const graceAt = (stop: RunStop) => (stop === cancel.halted.reason ? config.grace : undefined)
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
      return unheard(Promise.reject(error))
    }
  }

  /** What a response asks for is frozen. What somebody makes up is copied: nothing that is done to it later reaches the call. */
  #own(call: ToolCall): ToolCall {
    const bounded = boundedCall(call, this.#parts.run.config.inputLimits)
    const isOfResponse = this.#parts.askers.of(call.id) && Object.isFrozen(bounded)
    return isOfResponse ? bounded : freeze(structuredClone(bounded))
  }

  #checkOpen({ execution, call }: Actor): void {
    const { signal, over } = this.#parts.run
    signal.throwIfAborted()
    if (over) throw new TypeError('the run is over')
    const stop = execution?.signal ?? call?.signal
    stop?.throwIfAborted()
    // One that had settled was not aborted (K13).
    if (call?.discarded) throw new ToolDiscardedError(call.id, call.discarded)
  }

  #called(call: ToolCall, actor: Actor, options: CallOptions): Promise<ToolMessage> {
    const { run, askers, ledger, joins, slots, starts } = this.#parts
    const { call: maker } = actor
    const past = (maker && ledger.past(call.id, maker)) ?? ledger.past(call.id)
    if (past?.promise && sameCall(past.call, call)) return past.promise
    const asker = askers.of(call.id)
    const found = maker ? this.#madeFor(maker, call) : joins.find(call)
    slots.advance()
    const { halted } = run.cancel
    if (found?.course.isAsleep !== false && !maker) halted.throwIfAborted()
    if (found) return starts.begun(found, actor).promise
    const isFree = maker ? !past : !run.history.takenIds.has(call.id)
    const mayStart = asker ? askers.mayStart(asker) : isFree
    // Whether a call of an ended response is made is the loop's to say: it has made it, or it must not be made.
    if (!mayStart) throw new ToolDiscardedError(call.id, 'call_withdrawn')
    return starts.start(call, { actor, asker, options }).promise
  }

  /** What this call asks for, if it is made: under an id of its own, or of the response, of which it changes nothing. */
  #madeFor(maker: CallEntry, call: ToolCall): CallEntry | undefined {
    const { ledger } = this.#parts
    const made = ledger.get(call.id, maker) ?? ledger.get(call.id)
    if (made?.discarded || (made && !sameCall(made.call, call))) throw new ToolDiscardedError(call.id, 'call_withdrawn')
    return made
  }

  /** Makes a call of whose input there are the members its tool needs: at once if it may start so, else when it is whole. */
  #onNeeds(call: ToolCall, whole: Promise<ToolCall>, actor: Actor, options: CallOptions): Promise<ToolMessage> {
    const { run, askers, needs, starts } = this.#parts
    const asker = askers.of(call.id)
    const tool = findTool(run.setup.tools, call.name)
    const mayStart = tool && asker && askers.mayStart(asker) && !actor.call
    const rest = mayStart ? needs.restOf(call, tool, asker) : undefined
    if (rest) needs.follow(starts.start(call, { actor, asker, options, rest }), rest, whole)
    return unheard((rest?.whole ?? whole).then((whole) => this.call(whole, actor, options)))
  }
}

/** Two calls without an id would be one. */
function checkCall(call: ToolCall): void {
  const given: unknown = call
  if (isRecord(given) && typeof given.id === 'string' && given.id !== '' && typeof given.name === 'string') return
  throw new TypeError(
    "callTool takes { type: 'tool-call', id, name, input }, with an id that its caller gives to no other call",
  )
}
