/** Handles the rest of the input of a call that has started with only the members that its tool needs. */

import { checkedNeeds, neededOf, startsOnNeeds } from '../execution/needs.ts'
import { type Coming, coming, unheard } from '../flow/unheard.ts'
import type { CallEntry } from '../state/call-entry.ts'
import { type Given, type Rest, Wait } from '../state/rest.ts'
import type { RunState } from '../state/run.ts'
import { canonical, sameInput } from '../vocabulary/canonical.ts'
import { checkedInput } from '../vocabulary/checked-input.ts'
import { freeze } from '../vocabulary/history.ts'
import type { ToolCall } from '../vocabulary/message.ts'
import type { Tool } from '../vocabulary/tool.ts'
import { ToolDiscardedError } from '../vocabulary/tool-errors.ts'
import { discard } from './commit-or-discard.ts'

/** What a call with these members would still wait for. Returns nothing if the call may not start early. */
export function restOf(run: RunState, call: ToolCall, tool: Tool, attempt: number): CallRest | undefined {
  if (!startsOnNeeds(tool, run.config)) return undefined
  const rest = new CallRest(run, tool, freeze(call))
  return run.calls.get(call.id) || mayBeHeld(run, rest, attempt) ? undefined : rest
}

/** Whether a call with these members may turn out to be equal to a call that an earlier attempt has made. */
function mayBeHeld({ calls, steps }: RunState, rest: CallRest, attempt: number): boolean {
  return calls.entries().some(({ state, provisional, call }) => {
    const isOther = state.requestedBy.length > 0 && !state.requestedBy.includes(attempt)
    return provisional && state.step === steps.begun && isOther && rest.isStartOf(call)
  })
}

class CallRest implements Rest<CallEntry> {
  readonly started: ToolCall
  isOpen = true
  checked: Promise<unknown> = Promise.resolve()
  readonly #run: RunState
  readonly #tool: Tool
  readonly #needs: readonly string[]
  readonly #whole: Coming<ToolCall> = coming()
  /** Resolves to the call with its complete input, after the input was checked. */
  readonly #accepted: Coming<ToolCall> = coming()
  /** The checked input, until an execution takes it. */
  #checked: { readonly input: unknown } | undefined
  /** The canonical text of the needed members as the schema returned them. It is a text because a tool may change the object that it receives. */
  #needed: string | undefined

  constructor(run: RunState, tool: Tool, started: ToolCall) {
    this.#run = run
    this.#tool = tool
    this.#needs = tool.needs ?? []
    this.started = started
  }

  get whole(): Promise<ToolCall> {
    return this.#whole.promise
  }

  follow(entry: CallEntry, whole: Promise<ToolCall>): void {
    whole.then(
      (whole) => this.complete(entry, whole),
      () => this.isOpen && discard(this.#run, entry, 'stream_error'),
    )
  }

  complete(entry: CallEntry, call: ToolCall): void {
    if (!this.isOpen || entry.discarded) return
    if (!this.isStartOf(call)) {
      discard(this.#run, entry, 'arguments_changed')
      return
    }
    this.#run.calls.complete(entry, call)
    this.checked = this.#accept(call).then((stands) => {
      if (!stands) discard(this.#run, entry, 'arguments_changed')
    })
  }

  async given(entry: CallEntry, { input }: ToolCall): Promise<Given> {
    // If a wrap has changed the input, it is not the input that the call started with.
    const given = input === this.started.input ? await this.#given() : undefined
    if (given) return given
    discard(this.#run, entry, 'arguments_changed')
    throw new ToolDiscardedError(entry.call.id, 'arguments_changed')
  }

  fail(reason: unknown): void {
    this.#whole.reject(reason)
    this.#accepted.reject(reason)
  }

  /** Whether this call may be the complete form of the started one: the needed members are the same. */
  isStartOf({ name, input, inputError }: ToolCall): boolean {
    const { started } = this
    if (name !== started.name || inputError !== undefined) return false
    return sameInput(neededOf(this.#needs, input), neededOf(this.#needs, started.input))
  }

  /** Returns what one execution receives, checked separately for each; `undefined` if the call must wait for its complete input. */
  async #given(): Promise<Given | undefined> {
    const input = await this.#checkedNeeds()
    return input && { input, rest: new Wait(unheard(this.#checkedRest())) }
  }

  /** Takes the complete input when it has arrived. It is accepted if its schema accepts it and does not change the needed members. */
  async #accept(call: ToolCall): Promise<boolean> {
    this.isOpen = false
    this.#whole.resolve(call)
    try {
      if (this.#needed === undefined) await this.#checkedNeeds()
      const input = await checkedInput(this.#tool, call)
      if (this.#needed !== canonical(neededOf(this.#needs, input))) return false
      this.#checked = { input }
      this.#accepted.resolve(call)
      return true
    } catch {
      return false
    }
  }

  async #checkedNeeds(): Promise<object | undefined> {
    const needed = await checkedNeeds(this.#tool, this.started)
    this.#needed ??= needed && canonical(needed)
    return needed
  }

  async #checkedRest(): Promise<unknown> {
    const call = await this.#accepted.promise
    const checked = this.#checked
    this.#checked = undefined
    return checked ? checked.input : checkedInput(this.#tool, call)
  }
}
