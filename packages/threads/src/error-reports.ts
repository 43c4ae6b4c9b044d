/** Errors that no caller awaits: they go to `onError`, and otherwise become warnings of the process. */

import { messageOf } from '@meanwhile/core'
import { LeaseLostError } from './thread-errors.ts'

/** Where an error happened. */
export interface ErrorPlace {
  /** The id of the thread. Absent: the store could not say which threads need work. */
  readonly thread?: string
  /** The id of the turn. */
  readonly turn?: string
}

/** Hears of an error. */
export type OnError = (error: unknown, at: ErrorPlace) => void

/** Never throws. A lost lease is not reported: the turn goes on in the process that has it now. */
export function reporter(onError: OnError = warn): OnError {
  return (error, at) => {
    if (error instanceof LeaseLostError) return
    const told = async () => onError(error, at)
    told().catch((thrown: unknown) => warn(thrown, at))
  }
}

/** Kinds of errors that this process has warned of. */
const warned = new Set<string>()

/** The names of errors are not ours: after so many no more are kept. */
const MOST_KINDS = 100

function warn(error: unknown, { thread }: ErrorPlace): void {
  const kind = error instanceof Error ? error.name : 'Error'
  if (warned.has(kind) || warned.size >= MOST_KINDS) return
  warned.add(kind)
  const place = thread === undefined ? '' : ` in the thread ${JSON.stringify(thread.slice(0, 64))}`
  const message = `${kind}${place}: ${messageOf(error)}. Further errors of this kind cause no warning: give createThreads an onError to hear of each.`
  if (typeof globalThis.process?.emitWarning === 'function')
    globalThis.process.emitWarning(message, { type: 'MeanwhileWarning', code: 'threads-error' })
  else console.warn(`threads: ${message}`)
}
