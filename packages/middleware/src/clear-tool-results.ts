/**
 * The middleware `clearToolResults()`: removes the content of old tool results when the history has become too long.
 */

import { checkOptions, type Message, type Middleware, type ToolMessage } from '@meanwhile/core'
import { branded } from '@meanwhile/core/calls'
import { checkCounts, checkFunctions } from './check-options.ts'
import { type CountTokens, countTokens } from './count-tokens.ts'
import { startOfLast } from './last-steps.ts'
import { type MayBeMissing, namedTools } from './named-tools.ts'
import { isStoredNote, storedNoteOf } from './stored-note.ts'

/** The options of `clearToolResults`. */
export interface ClearToolResultsOptions extends MayBeMissing {
  /** It acts when the history is longer than this. Default 160,000 tokens. */
  readonly at?: { readonly tokens: number }
  /** How many of the last steps keep their results. Default 1. */
  readonly keepSteps?: number
  /**
   * Does nothing unless at least this many tokens are freed, because each clearing invalidates the provider's cache.
   * Default 0.
   */
  readonly atLeastTokens?: number
  /** Names of tools whose results are kept; an alias means its tool. */
  readonly exclude?: readonly string[]
  /**
   * Counts the tokens of messages. Default: what the provider reported, and a quarter of the characters of all later
   * messages.
   */
  readonly countTokens?: CountTokens
}

/** The placeholder that the model reads in place of a cleared result. */
export const CLEARED = '[This old tool result was cleared.]'

/**
 * If the history exceeds `at.tokens`, the content of all tool results except those of the last steps is replaced by a
 * placeholder. The model can make the call again, or read the file in which `offloadToolResults` stored the result. The
 * call, its id and name, `isError` and `output` (which models do not read) stay. The run remembers what was cleared, so
 * between two clearings requests only grow at their end.
 */
export function clearToolResults(options: ClearToolResultsOptions = {}): Middleware {
  checkOptions('clearToolResults', options, {
    at: '',
    keepSteps: 'keep',
    atLeastTokens: '',
    exclude: '',
    countTokens: '',
    mayBeMissing: '',
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
  const kept = namedTools('clearToolResults', 'exclude', exclude, options)
  return branded('middleware', {
    name: 'clear-tool-results',
    async beforeModel(state, run) {
      kept.check(run)
      const { messages } = state
      const end = startOfLast(messages, keepSteps)
      const isOld = (message: Message, place: number): message is ToolMessage =>
        message.role === 'tool' && place < end && !kept.hasName(message.name, run) && !isCleared(message)
      if (!messages.some(isOld) || (await count(messages)) <= at.tokens) return
      const old = messages.filter(isOld)
      const freed = (await count(old)) - (await count(old.map(cleared)))
      if (freed < atLeastTokens) return
      return {
        ...state,
        messages: messages.map((message, place) => (isOld(message, place) ? cleared(message) : message)),
      }
    },
  })
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
