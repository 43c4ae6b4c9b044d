/** The calls that the host executes in one step: which early call each of them joins, and what it waits for otherwise. */

import type { ToolCall } from '@meanwhile/core'
import { sameCall } from '@meanwhile/core/calls'
import { differingMembers } from '../same-value.ts'
import { type Clearing, clearing } from './clearing.ts'
import type { EagerLoop, HostRun, HostUse } from './eager-loop.ts'
import type { EarlyCall } from './early-call.ts'
import type { EarlyStarts } from './early-starts.ts'

/** An early call that the host has joined. */
export interface TakenCall {
  /** The function's result: a promise or an async iterable. */
  readonly result: Promise<unknown> | AsyncIterable<unknown>
  /** The signal that the function received. */
  readonly signal: AbortSignal
  /** The function declined: its result must not be used, and the host makes the call itself. */
  readonly isDeclined: boolean
  /** Resolves when the function declines. Stays pending if it never does. */
  readonly declined: Promise<void>
  /** The host cannot use the result, and makes the call itself. */
  giveUp(): void
}

/** An early call of the accepted response that the host has not executed. */
export interface UnexecutedCall {
  /** The id the host would use for it. */
  readonly id: string | undefined
  readonly tool: string
}

export class HostRequests {
  readonly #loop: EagerLoop
  readonly #run: HostRun
  readonly #starts: EarlyStarts
  /** Tools that the host has executed with other arguments. */
  readonly #changed: Set<string> = new Set()

  constructor(loop: EagerLoop, run: HostRun, starts: EarlyStarts) {
    this.#loop = loop
    this.#run = run
    this.#starts = starts
  }

  /** The early calls of the last response that the host has not executed so far, whatever the input. */
  get unexecuted(): readonly UnexecutedCall[] {
    const { begun, attempt } = this.#starts
    return begun
      .filter((early) => early.attempt === attempt && !early.isExecuted && !early.isDeclined)
      .map(({ hostId, tool }) => ({ id: hostId, tool: tool.name }))
  }

  /** What the host did with the early calls of the last response, by tool. */
  get uses(): ReadonlyMap<string, HostUse> {
    const uses = new Map<string, HostUse>()
    for (const early of this.#starts.begun) {
      const { name } = early.tool
      if (early.isTaken) uses.set(name, 'used')
      else if (!uses.has(name) && early.attempt === this.#starts.attempt && !early.isDeclined)
        uses.set(name, this.#changed.has(name) ? 'changed' : 'unused')
    }
    return uses
  }

  /** The host executes a call, whether or not it can join an early one. */
  executes(id: string | undefined, name: string): void {
    for (const early of this.#starts.begun) if (this.#isRunOf(early, id, name)) early.isExecuted = true
  }

  /** Returns an early call of the accepted response with this id and input; each is returned once. */
  take(id: string | undefined, name: string, input: unknown, signal?: AbortSignal): TakenCall | undefined {
    const isMine = (early: EarlyCall) => this.#isRunOf(early, id, name)
    const open = this.#starts.begun.filter((early) => early.isOpen && early.tool.name === name)
    const mine = open.filter(isMine)
    const found =
      mine.find((early) => early.isWith(input)) ??
      // A call of an earlier, failed attempt, which used other ids.
      open.find((early) => early.attempt < this.#starts.attempt && early.isWith(input))
    if (found) {
      const result = found.take(signal)
      return {
        result,
        signal: found.signal,
        get isDeclined() {
          return found.isDeclined
        },
        get declined() {
          return found.declined
        },
        giveUp: () => found.giveUp(new Error('the host cannot use the result')),
      }
    }
    // Another call with this id may still match it.
    if ((this.#starts.response?.countOf(id) ?? 0) <= 1) {
      if (mine.length > 0) this.#changed.add(name)
      for (const early of mine) {
        this.#compare(early, input)
        early.discard('arguments_changed', new Error('the arguments have changed'))
      }
    }
    return undefined
  }

  /** The host makes a call itself. Early runs of it that may have changed something are discarded, and must be over first. */
  cleared(id: string | undefined, name: string, input: unknown, signal?: AbortSignal): Clearing | undefined {
    const all = new Set([...this.#starts.begun, ...this.#run.leaving])
    const runs = [...all].filter(
      (early) => early.tool.name === name && early.isAboveRead && this.#isUnusedRunOf(early, id, input),
    )
    for (const early of runs) early.discard('arguments_changed', new Error('the host makes this call itself'))
    return clearing(name, runs, this.#loop.settings.hold, signal)
  }

  /** Whether an early call is that of a call of the last response. */
  #isRunOf({ tool, attempt, hostId }: EarlyCall, id: string | undefined, name: string): boolean {
    return tool.name === name && attempt === this.#starts.attempt && hostId === id
  }

  /** Whether an early call was made for a call that the host makes itself, and is not over. */
  #isUnusedRunOf(early: EarlyCall, id: string | undefined, input: unknown): boolean {
    if (early.isTaken || early.isGone) return false
    const heard = this.#starts.response?.countOf(id) ?? 0
    // An equal call that is undone too late undoes what this one does. For a call that was not heard, as the step was
    // over by then, it is not known what the model had written.
    if (this.#run.leaving.has(early) && (heard === 0 || early.isWith(input))) return true
    if (this.#isRunOf(early, id, early.tool.name) && this.#starts.begun.includes(early))
      // Another call with this id may still take an open one.
      return !early.isOpen || early.isWith(input) || heard <= 1
    const isRequested = (call: ToolCall) =>
      this.#starts.response?.hostIdOf(call.id) === id && sameCall(early.call, call)
    return early.isWith(input) || this.#starts.requested.some(isRequested)
  }

  /** The host has another input than an early call. If the arguments are the same, the schema made the difference. */
  #compare({ call, input }: EarlyCall, hosts: unknown): void {
    if (this.#starts.toolOf(call.name)?.checksItself) return
    if (!this.#starts.requested.some((one) => one.id === call.id && sameCall(one, call))) return
    this.#loop.differs(call.name, differingMembers(input, hosts))
  }
}
