/** Empties old tool results when the history has grown too long. */

import { checkOptions, type Message, type Middleware, type ToolMessage } from '@meanwhile/core'
import { checkCounts, checkFunctions, checkToolNames } from './check-options.ts'
import { type CountTokens, countTokens } from './count-tokens.ts'
import { startOfLast } from './last-steps.ts'
import { isStoredNote, storedNoteOf } from './stored-note.ts'

export interface ClearToolResultsOptions {
  /** Act when the history is more than this. Default 160,000 tokens. */
  readonly at?: { readonly tokens: number }
  /** How many of the last steps keep their results. Default 1. */
  readonly keepSteps?: number
  /** Do nothing unless this many tokens are freed at once: each clearing makes the provider's cache useless. Default 0. */
  readonly atLeastTokens?: number
  /** Names of tools whose results stay. */
  readonly exclude?: readonly string[]
  readonly countTokens?: CountTokens
}

/** What the model reads in the place of a result that was cleared. */
export const CLEARED = '[This old tool result was cleared.]'

/**
 * When the history exceeds `at.tokens`, the content of all tool results but those of the last steps becomes a placeholder: the model
 * may make the call again, or read the file in which `offloadToolResults` has put it. Call, id, name and `isError` stay, and so does `output`, which no model reads. What is cleared the run
 * remembers, so that between two clearings a request only grows at its end.
 */
export function clearToolResults(options: ClearToolResultsOptions = {}): Middleware {
  checkOptions('clearToolResults', options, {
    at: '',
    keepSteps: 'keep',
    atLeastTokens: '',
    exclude: '',
    countTokens: '',
  })
  checkOptions('clearToolResults', options.at, { tokens: '' }, 'at.')
  const {
    at = { tokens: 160_000 },
    keepSteps = 1,
    atLeastTokens = 0,
    exclude = [],
    countTokens: count = countTokens,
  } = options
  checkCounts({ 'at.tokens': at.tokens, keepSteps, atLeastTokens })
  checkFunctions({ countTokens: count })
  checkToolNames('exclude', exclude)
  return {
    name: 'clear-tool-results',
    async beforeModel(state) {
      const { messages } = state
      const end = startOfLast(messages, keepSteps)
      const isOld = (message: Message, place: number): message is ToolMessage =>
        message.role === 'tool' && place < end && !exclude.includes(message.name) && !isCleared(message)
      const old = messages.filter(isOld)
      if (old.length === 0 || (await count(messages)) <= at.tokens) return
      const freed = (await count(old)) - (await count(old.map(cleared)))
      if (freed < atLeastTokens) return
      return {
        ...state,
        messages: messages.map((message, place) => (isOld(message, place) ? cleared(message) : message)),
      }
    },
  }
}

function cleared(message: ToolMessage): ToolMessage {
  const note = storedNoteOf(message)
  return { ...message, content: [{ type: 'text', text: note === undefined ? CLEARED : `${CLEARED} [${note}]` }] }
}

function isCleared({ content: [part, ...rest] }: ToolMessage): boolean {
  return part?.type === 'text' && isPlaceholder(part.text) && rest.length === 0
}

function isPlaceholder(text: string): boolean {
  if (!text.startsWith(CLEARED)) return false
  const rest = text.slice(CLEARED.length)
  return rest === '' || isStoredNote(rest)
}
