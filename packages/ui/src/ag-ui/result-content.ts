/** What a client of AG-UI sees of the result of a call that has not failed. */

import type { ToolMessage } from '@meanwhile/core'
import { otherInputOf, type Present, resultShown } from '../present.ts'
import { toAgUiParts } from './content.ts'
import type { AgUiMessage } from './wire.ts'

export type ResultContent = Extract<AgUiMessage, { role: 'tool' }>['content']

/** Returns the content of its message, and the output that it shows. */
export function shownResult(present: Present, message: ToolMessage): { content: ResultContent; output: unknown } {
  const output = resultShown(present, message)
  return { output, content: present.output ? textIn(message, output) : contentOf(message, output) }
}

/** The output of the tool; if it contains files, the content that the model reads. */
function contentOf(message: ToolMessage, output: unknown): ResultContent {
  const parts = toAgUiParts(message.content)
  return parts.some(({ type }) => type !== 'text') ? parts : textIn(message, output)
}

/** A text already begins with the input that ran. */
function textIn(message: ToolMessage, output: unknown): string {
  return typeof output === 'string' ? output : otherInputOf(message) + textOfValue(output)
}

function textOfValue(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}
