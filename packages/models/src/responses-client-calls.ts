/** The items of an output that the client must run, in OpenAI's Responses API. Core cannot run them. */

import { ClientCallError } from './client-call-error.ts'
import type { OutputItem } from './responses-content.ts'

const CLIENT_CALLS: ReadonlySet<string> = new Set<OutputItem['type']>([
  'apply_patch_call',
  'computer_call',
  'custom_tool_call',
  'local_shell_call',
  'mcp_approval_request',
  'shell_call',
  'tool_search_call',
])

/** xAI's names for its own search of X, which has already run when the call arrives (qR14). */
const X_SEARCH = /^x_((keyword|semantic|user)_search|thread_fetch)$/

export class ClientCalls {
  /** Types by id: an item arrives when it begins, when it is done, and with the end of the response. */
  readonly #calls = new Map<string, string>()
  readonly #ran = new Set<string>()

  add(item: OutputItem): void {
    const callId = 'call_id' in item ? item.call_id : undefined
    if (isClientCall(item)) this.#calls.set(callId || item.id || item.type, item.type)
    // Any other item with the same call id is its result.
    else if (callId) this.#ran.add(callId)
  }

  /**
   * Calls whose results are in the response as well were run by the provider (qR14).
   *
   * @throws {ClientCallError} The client must run a call.
   */
  refuse(): void {
    for (const [id, type] of this.#calls) if (!this.#ran.has(id)) throw new ClientCallError(type)
  }
}

function isClientCall(item: OutputItem): boolean {
  if (item.type === 'tool_search_call') return item.execution === 'client'
  if (item.type === 'custom_tool_call' && X_SEARCH.test(item.name)) return false
  return CLIENT_CALLS.has(item.type)
}
