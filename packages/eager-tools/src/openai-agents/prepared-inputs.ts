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

  /** Whether the schema of the tool accepts the input, as far as the SDK exposes how the tool parses it. */
  accepts(tool: FunctionTool, written: unknown): boolean {
    try {
      return this.#prepare(tool, written)?.result.success ?? true
    } catch {
      // The SDK throws for a schema that is checked asynchronously, and reports that when it executes the call.
      return false
    }
  }

  /**
   * Whether the tool gets its input, which its schema accepts, exactly as the model wrote it. `false` also if the SDK
   * does not expose how the tool parses it.
   */
  keepsInput(tool: FunctionTool, written: unknown): boolean {
    const prepared = this.#prepare(tool, written)
    return prepared !== undefined && sameValue(written, prepared.result.value)
  }

  /** A call with these details gets the input that was parsed for it, if one was. */
  give(details: object, written: unknown, input: string): void {
    const prepared = this.#prepared.get(Object(written))
    if (prepared) this.#internals.setFunctionToolPreparedInput?.(details, { ...prepared, input })
  }

  #prepare(tool: FunctionTool, written: unknown): PreparedInput | undefined {
    const known = this.#prepared.get(Object(written))
    if (known) return known
    if (!('prepareFunctionToolInput' in this.#internals)) return undefined
    const prepared = this.#internals.prepareFunctionToolInput?.(tool, JSON.stringify(written))
    if (prepared) this.#prepared.set(Object(written), prepared)
    return prepared
  }
}
