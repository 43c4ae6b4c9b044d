/** The items of an output that the client is to run, as OpenAI's Responses API has it. Core runs none of them. */

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

/** What xAI calls its own search of X, which has run when the call comes (qR14). */
const X_SEARCH = /^x_((keyword|semantic|user)_search|thread_fetch)$/

export class ClientCalls {
  /** Types by ids: an item comes when it begins, when it is done, and with the end of the response. */
  readonly #calls = new Map<string, string>()
  readonly #ran = new Set<string>()

  add(item: OutputItem): void {
    const callId = 'call_id' in item ? item.call_id : undefined
    if (isClientCall(item)) this.#calls.set(callId || item.id || item.type, item.type)
    // What else is of the same call is its result.
    else if (callId) this.#ran.add(callId)
  }

  /** @throws {ClientCallError} There was one. Those whose results the response has as well ran with the provider (qR14). */
  refuse(): void {
    for (const [id, type] of this.#calls) if (!this.#ran.has(id)) throw new ClientCallError(type)
  }
}

function isClientCall(item: OutputItem): boolean {
  if (item.type === 'tool_search_call') return item.execution === 'client'
  if (item.type === 'custom_tool_call' && X_SEARCH.test(item.name)) return false
  return CLIENT_CALLS.has(item.type)
}
