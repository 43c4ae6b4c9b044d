/** The calls of a model call that has stood: what was made of them early is committed, and the others are made. */

import { RunStop } from '../errors.ts'
import { within } from '../flow/grace.ts'
import type { ToolCall, ToolMessage } from '../message.ts'
import type { WarmUps } from '../needs/warm-ups.ts'
import type { RunState } from '../run/run.ts'
import type { Slots } from '../slots/slots.ts'
import { resolveAliases } from './aliases.ts'
import type { Askers } from './askers.ts'
import type { CallEntry } from './call-entry.ts'
import { inWordsOf } from './call-results.ts'
import type { CallStarts } from './call-starts.ts'
import type { CallsAtWork } from './calls-at-work.ts'
import type { CommitGate } from './commit-gate.ts'
import type { Joins } from './joins.ts'

interface Parts {
  readonly run: RunState
  readonly slots: Slots
  readonly askers: Askers
  readonly warmUps: WarmUps
  readonly atWork: CallsAtWork
  readonly gate: CommitGate
  readonly joins: Joins
  readonly starts: CallStarts
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
    const { run, askers, gate, starts, slots, warmUps } = this.#parts
    const calls = written.map((call) => resolveAliases(call, run.setup.tools))
    run.signal.throwIfAborted()
    const modelEnded = attempt === undefined ? undefined : askers.attempt(attempt)?.ended
    const made = await this.#made(calls)
    askers.open = false
    gate.discardAll('call_withdrawn', new Set(made.values()))
    const failed = calls.findIndex((call) => hasEndedRun(made.get(call)))
    // What the run that is not eager enters before that call ends it.
    const most = failed < 0 ? calls.length : Math.max(run.setup.toolConcurrency, failed + 1)
    this.#entries = calls.flatMap((call, index) => {
      // A wrap of the one before it may have stopped the run.
      run.signal.throwIfAborted()
      const entry = made.get(call)
      if (!entry) return index < most ? starts.start(call, { asker: askers.of(call.id) }) : []
      gate.commit(entry, call.id, modelEnded)
      return starts.begun(entry)
    })
    slots.advance()
    warmUps.drop(new Error('the model did not ask for this call'))
    const messages = await this.#messages(failed >= 0 && made.size < calls.length)
    return messages.map((message, index) => inWordsOf(written[index], message))
  }

  /** Those that are made already, when it is known whether the whole inputs of those that started without them stand. */
  async #made(calls: readonly ToolCall[]): Promise<ReadonlyMap<ToolCall, CallEntry>> {
    const { run, joins } = this.#parts
    const made = joins.findAll(calls)
    const checks = [...made.values()].flatMap(({ rest }) => rest?.checked ?? [])
    if (checks.length === 0) return made
    await Promise.all(checks)
    run.signal.throwIfAborted()
    return joins.findAll(calls)
  }

  async #messages(isEnded: boolean): Promise<ToolMessage[]> {
    const { slots, atWork, abort } = this.#parts
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
      for (const entry of entries) if (entry.settled) slots.close(entry)
      await atWork.idle()
      throw error
    }
  }

  /** An early call ends the run: its siblings are entered first, but for those that wait for each other's keys (H16). */
  async #enter(entries: readonly CallEntry[]): Promise<void> {
    const { slots, atWork } = this.#parts
    for (const entry of entries) slots.open(entry)
    await within(0, atWork.idle())
  }
}

function unlessStop(error: unknown): void {
  if (!(error instanceof RunStop)) throw error
}

/** It threw an `AgentError` that ends the run before its model call stood. */
function hasEndedRun(entry: CallEntry | undefined): boolean {
  return entry?.settled === true && entry.message === undefined && entry.stopped === undefined
}
