/** Reports errors that no response shows: to `onError`, or as warnings of the process if there is no `onError`. */

import { messageOf } from '@meanwhile/core'

/** Receives an error and the request in which it happened. */
export type OnError = (error: unknown, request: Request) => void

/** Returns a function that reports errors and never throws. */
export function reporter(owner: string, onError: OnError | undefined): OnError {
  const warned = new Set<string>()
  const warn = (error: unknown) => {
    const message = messageOf(error)
    if (warned.has(message) || warned.size >= MOST_WARNINGS) return
    warned.add(message)
    emitWarning(`${owner}: ${message} To receive every such error, pass onError to ${owner}.`)
  }
  return (error, request) => {
    const report = async () => (onError ?? warn)(error, request)
    report().catch(warn)
  }
}

const MOST_WARNINGS = 10

function emitWarning(message: string): void {
  if (typeof globalThis.process?.emitWarning === 'function')
    globalThis.process.emitWarning(message, { type: 'MeanwhileWarning', code: 'ui-error' })
  else console.warn(message)
}
