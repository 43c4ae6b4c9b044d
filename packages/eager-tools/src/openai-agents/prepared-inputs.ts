/** Parses the arguments of calls before they start. The tool then gets what was parsed here, so nothing is parsed twice. */

import type { FunctionTool } from '@openai/agents'
import { sameValue } from '../same-value.ts'
import type { Internals, PreparedInput } from './early-tools.ts'

export class PreparedInputs {
  readonly #internals: Internals
  /** By the input as the model wrote it. */
  readonly #prepared: WeakMap<object, PreparedInput> = new WeakMap()

  constructor(internals: Internals) {
    this.#internals = internals
  }

  /**
   * Whether the tool gets its input exactly as the model wrote it. `false` also if its schema rejects the input, or if
   * the SDK does not expose how the tool parses it.
   */
  keepsInput(tool: FunctionTool, written: unknown): boolean {
    const prepared = this.#prepare(tool, written)
    if (!prepared?.result.success) return false
    this.#prepared.set(Object(written), prepared)
    return sameValue(written, prepared.result.value)
  }

  /** A call with these details gets the input that was parsed for it, if one was. */
  give(details: object, written: unknown, input: string): void {
    const prepared = this.#prepared.get(Object(written))
    if (prepared) this.#internals.setFunctionToolPreparedInput?.(details, { ...prepared, input })
  }

  #prepare(tool: FunctionTool, written: unknown): PreparedInput | undefined {
    try {
      return this.#internals.prepareFunctionToolInput?.(tool, JSON.stringify(written))
    } catch {
      // The SDK throws for a schema that is checked asynchronously, and reports that when it executes the call.
      return undefined
    }
  }
}
