/** Reads tool calls from the raw events of OpenAI's two wires, which the SDK's models pass on unchanged. */

import type { ModelResponse, StreamEvent } from '@openai/agents'
import type { CallLabel } from '../host/heard-response.ts'
import type { HostCalls } from '../host/host-calls.ts'
import type { RawEvent } from './raw-event.ts'

/** Calls of tools that the SDK executes in this process, although they are not functions. They never start early. */
const LOCAL: ReadonlySet<string> = new Set(['computer_call', 'shell_call', 'local_shell_call', 'apply_patch_call'])

/** Only a plain call has the name of its tool: others are never early. */
function nameOf({ name, namespace, caller }: NonNullable<RawEvent['item']>): string {
  if (caller && caller.type !== 'direct') return `${caller.type}:${name}`
  return namespace ? `${namespace}.${name}` : name
}

export class CallReader {
  readonly #calls: HostCalls
  readonly #seen: Set<string>
  readonly #accepted: (output: ModelResponse['output']) => void
  /** The ids of this response. */
  readonly #ids: Set<string> = new Set()
  /** By the call's index in the response. */
  readonly #open: Map<number, CallLabel> = new Map()

  /**
   * `seen`: ids of calls that earlier responses have requested. The ids of this response are added when it is accepted.
   * `accepted`: called with the output of the response, before its calls count.
   */
  constructor(calls: HostCalls, seen: Set<string>, accepted: (output: ModelResponse['output']) => void) {
    this.#calls = calls
    this.#seen = seen
    this.#accepted = accepted
  }

  /** Reads an event. After a malformed one, which a user's own model may send, no call starts early. */
  hear(event: StreamEvent): void {
    try {
      this.#hear(event)
    } catch (error) {
      this.#calls.unreadable(error)
    }
  }

  #hear(event: StreamEvent): void {
    if (event.type === 'response_done') {
      for (const id of this.#ids) this.#seen.add(id)
      this.#accepted(event.response.output)
      this.#calls.stood()
    } else if (event.type === 'model') {
      const raw: RawEvent | undefined = event.event
      if (raw?.choices) this.#chunk(raw)
      else if (raw?.type?.startsWith('response.')) this.#responsesEvent(raw)
    }
  }

  #responsesEvent({ type, output_index: index = -1, delta, item }: RawEvent): void {
    const isCall = item?.type === 'function_call'
    if (type === 'response.output_item.added' && item && (isCall || LOCAL.has(item.type)))
      this.#begin(index, item.call_id, isCall ? nameOf(item) : item.type)
    else if (type === 'response.function_call_arguments.delta') this.#add(index, delta)
    else if (type === 'response.output_item.done' && isCall) this.#seal(index, item.arguments)
  }

  #chunk({ choices = [] }: RawEvent): void {
    const choice = choices.find(({ index }) => index === 0)
    for (const { index, id, function: of } of choice?.delta?.tool_calls ?? []) {
      if (id && of?.name && !this.#ids.has(id)) this.#begin(index, id, of.name)
      this.#add(index, of?.arguments)
    }
  }

  #begin(index: number, id: string, name: string): void {
    this.#open.delete(index)
    if (this.#seen.has(id)) return
    this.#ids.add(id)
    this.#open.set(index, this.#calls.begin(id, name))
  }

  #add(index: number, text: string | undefined): void {
    const label = this.#open.get(index)
    if (label !== undefined && text) this.#calls.delta(label, text)
  }

  #seal(index: number, text: string | undefined): void {
    const label = this.#open.get(index)
    if (label !== undefined) this.#calls.seal(label, text || undefined)
  }
}
