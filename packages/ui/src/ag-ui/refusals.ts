/** What a client reads of a request that a thread refuses: our own words, by the name of the error. */

import { type Present, turnErrorText } from '../present.ts'

const REFUSALS: Readonly<Record<string, string>> = {
  AnswerError: 'The answer does not have the form that is asked for.',
  InputError: 'The message cannot be used.',
  NothingToRetryError: 'The last turn has not failed.',
  ThreadBusyError: 'The thread is busy.',
  ThreadDeletedError: 'The thread was deleted.',
  ThreadIdError: 'The id of the thread or of the message cannot be used.',
  UnknownInterruptError: 'This is not asked any more.',
  UnknownMessageError: 'The thread has no such message.',
}

export interface Refusal {
  readonly message: string
  /** The name of the error, if the request was at fault. */
  readonly code?: string
}

export function refusalOf(error: unknown, present: Present): Refusal {
  const { name, message } = error instanceof Error ? error : new Error(String(error))
  const text = Object.hasOwn(REFUSALS, name) ? REFUSALS[name] : undefined
  return text === undefined ? { message: turnErrorText(present, { name, message }) } : { message: text, code: name }
}
