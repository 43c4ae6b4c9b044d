/** What a call that has started with the members its tool needs still waits for: its whole input (H31, H32). */

import { checkedInput } from '../execution/checked-input.ts'
import { type Coming, coming, unheard } from '../flow/unheard.ts'
import type { ToolCall } from '../message.ts'
import type { Tool } from '../tool.ts'
import { canonical, sameInput } from '../tool-call/canonical.ts'
import { checkedNeeds, type Given, neededOf } from './needs.ts'

export class Rest {
  /** The call as it started. */
  readonly started: ToolCall
  /** Nobody has brought the whole input yet. */
  isOpen = true
  /** Resolves when it is known whether the whole input stands. */
  checked: Promise<unknown> = Promise.resolve()
  readonly #tool: Tool
  readonly #needs: readonly string[]
  readonly #whole: Coming<ToolCall> = coming()
  /** The call with its whole input, once that was checked. */
  readonly #accepted: Coming<ToolCall> = coming()
  /** What the check made of that input, until an execution takes it. */
  #checked: { readonly input: unknown } | undefined
  /** The needed members as the schema left them, in canonical text: a tool may change what it is given. */
  #needed: string | undefined

  constructor(tool: Tool, started: ToolCall) {
    this.#tool = tool
    this.#needs = tool.needs ?? []
    this.started = started
  }

  /** The call with its whole input, as soon as it has it; rejects when it was let go of before. */
  get whole(): Promise<ToolCall> {
    return this.#whole.promise
  }

  /** What one execution is given, checked anew for each; `undefined` if the call is not to run before it is whole. */
  async given(): Promise<Given | undefined> {
    const input = await this.#checkedNeeds()
    return input && { input, rest: unheard(this.#checkedRest()) }
  }

  /** Whether this call may be what the started one has become: the needed members are what they were. */
  isStartOf({ name, input, inputError }: ToolCall): boolean {
    const { started } = this
    if (name !== started.name || inputError !== undefined) return false
    return sameInput(neededOf(this.#needs, input), neededOf(this.#needs, started.input))
  }

  /**
   * The whole input is there: the tool gets it when its schema has accepted it and left the needed members as they were. Gives
   * whether it did.
   */
  async complete(call: ToolCall): Promise<boolean> {
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

  /** It will not come, or nobody is to have it. */
  fail(reason: unknown): void {
    this.#whole.reject(reason)
    this.#accepted.reject(reason)
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
