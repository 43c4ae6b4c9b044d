/** Decides how an event ends a Responses stream. The content of the event decides, not its name (qR18). */

import { allowsCalls, type FinishReason } from '@meanwhile/core'
import { finishReasonOf } from './finish-reasons.ts'
import { isRecord } from './is-record.ts'
import { textIn } from './wire-values.ts'

/** The members that are read from the response of an event. */
export interface Response {
  readonly id?: unknown
  readonly model?: unknown
  readonly status?: unknown
  readonly output?: unknown
  readonly usage?: unknown
  readonly error?: unknown
  readonly incomplete_details?: unknown
}

/** How a response ended. `word`: the provider's own reason. */
export type End = { readonly response: Response } & (
  | { readonly type: 'completed' }
  | { readonly type: 'incomplete' | 'requires_action'; readonly word: string; readonly reason: FinishReason }
  | { readonly type: 'failed'; readonly error: unknown }
)

/** Only these statuses are ends. */
const STATUS: ReadonlyMap<unknown, End['type']> = new Map([
  ['completed', 'completed'],
  ['requires_action', 'requires_action'],
  ['incomplete', 'incomplete'],
  ['failed', 'failed'],
  ['cancelled', 'failed'],
  ['canceled', 'failed'],
])

interface Ending {
  readonly type?: string
  readonly object?: unknown
  readonly response?: unknown
}

const DONE = 'response.done'

/** The end that this event is; `undefined` for all other events. */
export function endOf(event: Ending): End | undefined {
  // The response is not streamed (qR28).
  const { type = '', response } = event.object === 'response' ? { type: DONE, response: event } : event
  if (!isRecord(response)) return undefined
  const [named, status] = [typeOf(type.replace('response.', '')), typeOf(response.status)]
  if (status === 'requires_action') return { type: status, word: status, reason: 'tool-calls', response }
  if (named === undefined && type !== DONE) return undefined
  if ([named, status].includes('failed')) return { type: 'failed', error: errorOfResponse(response), response }
  const word = incompleteWord(response)
  const isCut = word !== undefined || [named, status].includes('incomplete')
  if (isCut) return { type: 'incomplete', word: word ?? 'incomplete', reason: cutBy(word), response }
  // The name says nothing, so an unknown status counts as a reason that nobody knows.
  const unknown = named || status ? '' : textIn(response.status)
  if (unknown) return { type: 'incomplete', word: unknown, reason: 'other', response }
  return { type: 'completed', response }
}

function typeOf(word: unknown): End['type'] | undefined {
  return STATUS.get(typeof word === 'string' ? word.toLowerCase() : word)
}

function incompleteWord({
  incomplete_details: details,
}: {
  readonly incomplete_details?: unknown
}): string | undefined {
  const reason = isRecord(details) ? details.reason : details
  return typeof reason === 'string' && reason !== '' ? reason : undefined
}

/** Nothing of an incomplete response runs, whatever its reason. */
function cutBy(word: string | undefined): FinishReason {
  const reason = finishReasonOf(word)
  return allowsCalls(reason) ? 'other' : reason
}

function errorOfResponse({ error, status }: Response): unknown {
  return error ?? { message: `the provider ended the response with the status ${textIn(status) || 'failed'}` }
}
