/** Reports errors that no caller awaits: to `onError`, or without it as warnings of the process. */

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

/** Any code can invent error names, so this many are kept at most. */
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
