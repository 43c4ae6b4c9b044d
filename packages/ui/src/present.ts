/** What a browser may see: said once, for streams and histories alike. */

import { type ToolMessage, textOf } from '@meanwhile/core'
import type { ErrorInfo } from '@meanwhile/threads'

export interface Present {
  /**
   * The text that is shown of an error. Default: a sentence that holds nothing of the error itself, as errors of tools and providers may
   * hold hosts, keys and paths.
   */
  readonly errorText?: (error: ShownError) => string
  /** What is shown of a tool's output, and of the progress it reports. It must be JSON. Default: all of it. */
  readonly output?: (output: unknown, call: ShownCall) => unknown
}

/** An error that has an interface to show. */
export type ShownError =
  /** A call has failed, or was not run. `message`: what the model reads. */
  | { readonly of: 'call'; readonly toolName: string; readonly callId: string; readonly message: string }
  /** The turn has failed. */
  | { readonly of: 'turn'; readonly name: string; readonly message: string }

/** Whose output is shown. */
export interface ShownCall {
  readonly toolName: string
  readonly callId: string
  /** It is what the tool reports while it works, and not its output. */
  readonly isProgress: boolean
}

/** By their beginnings, which are core's own words: nothing of what follows them is shown. */
const SENTENCES: readonly (readonly [beginning: string, shown: string])[] = [
  ['Not run: it was denied', 'This call was denied.'],
  ['Not run', 'This call was not run.'],
  ['The user ', 'This call was stopped.'],
  ['The run ended while', 'This call was cut off: its effect may have happened.'],
  ['The call was cancelled', 'This call was cancelled: its effect may have happened.'],
  ['This call was started', 'This call was cut off: its effect may have happened.'],
]

/** The error text of a call's result. */
export function callErrorText({ errorText }: Present, message: ToolMessage): string {
  const text = textOf(message)
  const { callId, name: toolName } = message
  if (errorText) return errorText({ of: 'call', toolName, callId, message: text })
  return SENTENCES.find(([beginning]) => text.startsWith(beginning))?.[1] ?? 'This call has failed.'
}

/** The text of the error that a turn has failed with. */
export function turnErrorText({ errorText }: Present, error: ErrorInfo | undefined): string {
  const { name = 'Error', message = '' } = error ?? {}
  return errorText ? errorText({ of: 'turn', name, message }) : 'Something went wrong.'
}

/** What is shown of a call's result: of what the tool returned, or of its text. */
export function resultShown(present: Present, message: ToolMessage): unknown {
  const { callId, name: toolName, output = textOf(message) } = message
  return outputShown(present, output, { toolName, callId, isProgress: false })
}

export function outputShown({ output }: Present, value: unknown, call: ShownCall): unknown {
  return output ? output(value, call) : value
}
