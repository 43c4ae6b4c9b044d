/** One call of a response of the host's model, as far as it has arrived. */

import { argumentsText, ToolInput } from '@meanwhile/assemble'
import { DEFAULT_INPUT_LIMITS, type ToolCall } from '@meanwhile/core'
import { sameValue } from '../same-value.ts'

export class HeardCall {
  /** Unique in its response; the host's ids may be repeated. */
  readonly id: string
  readonly hostId: string | undefined
  readonly name: string
  /** The whole arguments, as the provider repeated them. They count when the response has ended. */
  restated: string | undefined
  #isSealed = false
  readonly #input = new ToolInput(DEFAULT_INPUT_LIMITS)
  #text = ''
  #call: ToolCall | undefined

  constructor(id: string, hostId: string | undefined, name: string) {
    this.id = id
    this.hostId = hostId
    this.name = name
  }

  get isSealed(): boolean {
    return this.#isSealed
  }

  /** Takes a piece of the arguments. Returns the call if its arguments are complete now; more may still follow. */
  add(text: string): ToolCall | undefined {
    if (this.#isSealed) return undefined
    const closedBefore = this.#input.closedAt
    this.#text += text
    this.#input.add(text)
    const value = this.#input.closedAt === closedBefore ? undefined : this.#input.closed()
    return value && this.#callWith(value)
  }

  /** Returns the call, which will not change any more. `text`: the whole arguments, if the provider repeats them. */
  seal(text: string | undefined): ToolCall {
    this.#isSealed = true
    if (text) {
      this.#text = text
      this.#input.replace(text)
    }
    return this.#callWith(this.#input.value())
  }

  /** The arguments as the model wrote them, if they mean `input`. */
  textOf(input: unknown): string {
    return means(this.#text, input) ? this.#text : argumentsText(input)
  }

  /** Returns the same object as before if the input is the same. */
  #callWith({ input, inputError }: Pick<ToolCall, 'input' | 'inputError'>): ToolCall {
    if (this.#call && this.#call.input === input && this.#call.inputError === inputError) return this.#call
    const { id, name } = this
    this.#call = { type: 'tool-call', id, name, input, ...(inputError !== undefined && { inputError }) }
    return this.#call
  }
}

function means(text: string, input: unknown): boolean {
  try {
    return sameValue(JSON.parse(text), input)
  } catch {
    return false
  }
}
