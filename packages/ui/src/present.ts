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

/** Why a call was not run, each as our packages write it as a whole. */
const NOT_RUN = [
  'the run ended before this call was started',
  'the call was cancelled before it was started',
  'the limit of \\d+ steps? is reached, so no model call could read the result',
  '\\S+ had not started when its limit of \\d+ ms was over',
  '\\S+ is busy with \\d+ calls?, as many as it allows at once',
  "\\S+ needs a resource that call \\S+ uses, and that call waits for one that this call's maker uses",
  '\\S+ was not found yet\\. Find it with \\S+ first, and call it in a later step',
  'the request for approval of \\S+ failed',
  'the answer to the request for approval of \\S+ is invalid',
  'the limit of (model calls|tool calls|calls of \\S+|tokens) is reached \\(\\d+\\)',
].join('|')

/** Our own sentences, and no beginnings of them: the text of a tool may begin with the same words. Only a reason may follow. */
const SENTENCES: readonly (readonly [sentence: RegExp, shown: string])[] = [
  [/^Not run: the call was denied: /, 'This call was denied.'],
  [new RegExp(`^Not run: (${NOT_RUN})\\.$`), 'This call was not run.'],
  [/^The user (stopped this|wrote another message|wrote a message instead of answering)\.$/, 'This call was stopped.'],
  [
    /^The run ended while this call was at work: it was cut off, and its effect may have happened\.$/,
    'This call was cut off: its effect may have happened.',
  ],
  [
    /^The call was cancelled while it was at work: it was cut off, and its effect may have happened\.$/,
    'This call was cancelled: its effect may have happened.',
  ],
  [
    /^This call was started, and the run was (cancelled|cut off) before its result was known: it may have happened\. It was not made again\./,
    'This call was cut off: its effect may have happened.',
  ],
]

/** The error text of a call's result. */
export function callErrorText({ errorText }: Present, message: ToolMessage): string {
  const text = textOf(message)
  const { callId, name: toolName } = message
  if (errorText) return errorText({ of: 'call', toolName, callId, message: text })
  return SENTENCES.find(([sentence]) => sentence.test(text))?.[1] ?? 'This call has failed.'
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
