/** Reports errors that no caller receives: to `onError`, or as warnings of the process if there is no `onError`. */

import { messageOf } from '@meanwhile/core'
import { LeaseLostError } from './thread-errors.ts'

/** Where an error happened. */
export interface ErrorPlace {
  /** The id of the thread. Absent if the store failed to list the threads that need work. */
  readonly thread?: string
  /** The id of the turn. */
  readonly turn?: string
}

/** Receives an error. */
export type OnError = (error: unknown, at: ErrorPlace) => void

/** Returns a function that reports errors and never throws. A lost lease is not reported: the turn continues in the process that took it over. */
export function reporter(onError: OnError = warn): OnError {
  return (error, at) => {
    if (error instanceof LeaseLostError) return
    const report = async () => onError(error, at)
    report().catch((thrown: unknown) => warn(thrown, at))
  }
}

/** The names of the errors for which this process has printed a warning. */
const warned = new Set<string>()

/** The maximum number of names that are stored: user code can make any number of them. */
const MAX_NAMES = 100

function warn(error: unknown, { thread }: ErrorPlace): void {
  const name = error instanceof Error ? error.name : 'Error'
  if (warned.has(name) || warned.size >= MAX_NAMES) return
  warned.add(name)
  const place = thread === undefined ? '' : ` in the thread ${JSON.stringify(thread.slice(0, 64))}`
  const message = `${name}${place}: ${messageOf(error)}. Further errors with this name cause no warning. To receive every error, pass onError to createThreads.`
  if (typeof globalThis.process?.emitWarning === 'function')
    globalThis.process.emitWarning(message, { type: 'MeanwhileWarning', code: 'threads-error' })
  else console.warn(`threads: ${message}`)
}
