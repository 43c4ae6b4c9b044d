/** Requests that are refused, by a thread or at the door: a fixed text and an HTTP status for each error. */

import { AccessError } from './access-error.ts'
import { EditRefusedError } from './approvals.ts'
import { BodyTooLargeError, MalformedBodyError } from './body.ts'
import { FileRefusedError } from './page-files.ts'

export interface Refusal {
  readonly status: number
  readonly message: string
  /** After how many seconds the client may try again. */
  readonly retryAfter?: number
}

const BUSY = 'The thread is busy.'
/** Of an answer. */
export const RUNNING = 'The turn is running: this answer, or another one, has arrived. Load the thread again.'
const CHANGED = 'The thread has changed. Load it again.'

/** By name, because this package otherwise needs no error class of threads. */
const REFUSALS: ReadonlyMap<string, Refusal> = new Map([
  ['AnswerError', { status: 400, message: 'The answer does not match the schema of its question.' }],
  ['InputError', { status: 400, message: 'The message is not valid.' }],
  ['ThreadIdError', { status: 400, message: 'The id of the thread or of the message is not valid.' }],
  ['UnknownMessageError', { status: 404, message: 'The thread does not have this message.' }],
  ['NothingToRetryError', { status: 409, message: 'There is no failed turn that can be retried.' }],
  ['ThreadChangedError', { status: 409, message: CHANGED }],
  ['TurnChangedError', { status: 409, message: CHANGED }],
  ['ThreadBusyError', { status: 409, message: BUSY }],
  ['UnknownInterruptError', { status: 409, message: 'This question is no longer open.' }],
  ['QueueFullError', { status: 429, message: 'Too many messages wait in this thread.' }],
  [
    'TooManyTurnsError',
    { status: 503, message: 'Too many turns wait on this server. Try again later.', retryAfter: 5 },
  ],
  ['ThreadDeletedError', { status: 410, message: 'The thread was deleted.' }],
])

/** Returns undefined if the error is not the fault of the request. */
export function refusalOf(error: Error): Refusal | undefined {
  if (error instanceof AccessError) return { status: 403, message: 'This request is not allowed.' }
  if (error instanceof BodyTooLargeError)
    return { status: 413, message: `The body is larger than ${error.maxBytes} bytes.` }
  if (error instanceof MalformedBodyError) return { status: 400, message: error.message }
  if (error instanceof EditRefusedError)
    return { status: 400, message: `The answer to ${error.id} must not change the input of the call.` }
  if (error instanceof FileRefusedError) return { status: 400, message: `A file is not accepted: ${error.problem}.` }
  const refusal = REFUSALS.get(error.name)
  if (!refusal || !('id' in error && 'answerSchema' in error)) return refusal
  // The page has this schema, too. The issues may contain what a schema of the server throws.
  const message = `The answer to ${String(error.id)} must match ${JSON.stringify(error.answerSchema)}.`
  return { ...refusal, message }
}
