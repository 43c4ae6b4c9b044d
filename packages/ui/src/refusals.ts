/** Requests that a thread refuses: our own words and a status of HTTP, by the name of the error. */

export interface Refusal {
  readonly status: number
  readonly message: string
}

/** By names, as the classes of threads are not needed otherwise. */
const REFUSALS: ReadonlyMap<string, Refusal> = new Map([
  ['AnswerError', { status: 400, message: 'The answer does not have the form that is asked for.' }],
  ['InputError', { status: 400, message: 'The message cannot be used.' }],
  ['ThreadIdError', { status: 400, message: 'The id of the thread or of the message cannot be used.' }],
  ['UnknownMessageError', { status: 404, message: 'The thread has no such message.' }],
  ['NothingToRetryError', { status: 409, message: 'The last turn has not failed.' }],
  ['ThreadBusyError', { status: 409, message: 'The thread is busy.' }],
  ['UnknownInterruptError', { status: 409, message: 'This is not asked any more.' }],
  ['ThreadDeletedError', { status: 410, message: 'The thread was deleted.' }],
])

/** Undefined if the request is not at fault. */
export function refusalOf({ name }: Error): Refusal | undefined {
  return REFUSALS.get(name)
}
