/** Decides what a browser may see, for streams and histories. */

import { type ToolMessage, textOf } from '@meanwhile/core'
import type { ErrorInfo } from '@meanwhile/threads'

/** What a client may see of errors and outputs. */
export interface Present {
  /**
   * Returns the text to show for an error. Default: a sentence that contains nothing of the error itself, because errors of tools and providers may
   * contain hosts, keys and paths.
   */
  readonly errorText?: (error: ShownError) => string
  /** Returns what to show of a tool's output, and of its progress. It must return JSON. Default: everything. */
  readonly output?: (output: unknown, call: ShownCall) => unknown
  /** Whether a page may answer an approval with another input for the call. Default false: no question offers it. */
  readonly edits?: boolean
}

/** An error to show in an interface. */
export type ShownError =
  /** A call has failed, or did not run. `message`: the text that the model reads. */
  | { readonly of: 'call'; readonly toolName: string; readonly callId: string; readonly message: string }
  /** The turn has failed. */
  | { readonly of: 'turn'; readonly name: string; readonly message: string }

/** The call that the output belongs to. */
export interface ShownCall {
  /** The name of the tool. */
  readonly toolName: string
  /** The id of the call. */
  readonly callId: string
  /** Whether this is progress of the running tool, and not its output. */
  readonly isProgress: boolean
}

/** The reasons why a call did not run: the full sentences of core and its middleware. */
const NOT_RUN = [
  'the run ended before this call started',
  'the call was cancelled before it started',
  'the limit of \\d+ steps? is reached, so no model call could read the result',
  '\\S+ had not started when its time limit of \\d+ ms ended',
  '\\S+ is already running \\d+ calls?, its maximum',
  '\\S+ waits for call \\S+, which ends only after this call',
  '\\S+ is not available in this step',
  '\\S+ was not found yet\\. Find it with \\S+ first, and call it in a later step',
  'the request for approval of \\S+ failed',
  'the answer to the request for approval of \\S+ is invalid',
  'the limit of (model calls|tool calls|calls of \\S+|calls in one response|tokens) is reached \\(\\d+\\)',
].join('|')

/** Complete sentences, so that a tool's own text that begins in the same way does not match. */
const SENTENCES: readonly (readonly [sentence: RegExp, shown: string])[] = [
  [/^Not run: the call was denied: /, 'This call was denied.'],
  [new RegExp(`^Not run: (${NOT_RUN})\\.$`), 'This call was not run.'],
  [/^The user (stopped this|wrote another message|wrote a message instead of answering)\.$/, 'This call was stopped.'],
  [
    /^No result: the limit of (tool calls|calls of \S+) is reached \(\d+\)\. This call had started early, and its effect may have happened\.$/,
    'This call was stopped: its effect may have happened.',
  ],
  [
    /^The run ended while this call was running\. The call was cut off, and its effect may have happened\.$/,
    'This call was cut off: its effect may have happened.',
  ],
  [
    /^The call was cancelled while it was running\. It was cut off, and its effect may have happened\.$/,
    'This call was cancelled: its effect may have happened.',
  ],
  [
    /^This call had started when the run was (cancelled|cut off)\. Its result is unknown: it may have happened\. It was not run again\./,
    'This call was cut off: its effect may have happened.',
  ],
]

/**
 * The line in a call's result that states the input that it ran with, if that is not what the model wrote; otherwise empty. Core adds it as a
 * separate part in front of the result, so a tool whose text looks the same does not get it shown.
 */
export function otherInputOf({ content: [first, ...result] }: ToolMessage): string {
  if (first?.type !== 'text' || result.length === 0) return ''
  const [, input] = /^This call ran with another input: (.*)\.\n$/s.exec(first.text) ?? []
  return input !== undefined && isInput(input) ? first.text : ''
}

/** Whether core writes an input in this way: as JSON, as its beginning if it is long, or as words if it is not JSON. */
function isInput(text: string): boolean {
  if (text === 'a value that is not JSON' || /^[[{"].*… \(\d+ characters\)$/s.test(text)) return true
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** The error text of a call's result. */
export function callErrorText({ errorText }: Present, message: ToolMessage): string {
  const text = textOf(message)
  const { callId, name: toolName } = message
  if (errorText) return errorText({ of: 'call', toolName, callId, message: text })
  const otherInput = otherInputOf(message)
  const [rest = '', inside] = text.slice(otherInput.length).split('\nInside this call:\n', 2)
  const sentence = SENTENCES.find(([sentence]) => sentence.test(rest))?.[1]
  if (sentence === undefined) return `${otherInput}This call has failed.`
  return `${otherInput}${sentence}${inside === undefined ? '' : ' Calls inside it may have run.'}`
}

/** The error text of a failed turn. */
export function turnErrorText({ errorText }: Present, error: ErrorInfo | undefined): string {
  const { name = 'Error', message = '' } = error ?? {}
  return errorText ? errorText({ of: 'turn', name, message }) : 'Something went wrong.'
}

/** What to show of a call's result: the output of the tool, or its text. If that is a text, it begins with the input that ran, as in the message. */
export function resultShown(present: Present, message: ToolMessage): unknown {
  const otherInput = otherInputOf(message)
  const { callId, name: toolName, output = textOf(message).slice(otherInput.length) } = message
  const shown = outputShown(present, output, { toolName, callId, isProgress: false })
  return typeof shown === 'string' ? otherInput + shown : shown
}

export function outputShown({ output }: Present, value: unknown, call: ShownCall): unknown {
  return output ? output(value, call) : value
}
