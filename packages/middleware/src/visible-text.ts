/** The middleware `visibleText()`: removes invisible characters from the results of tools. */

import { AgentError, type ContentPart, checkOptions, type Middleware, type ToolMessage } from '@meanwhile/core'
import { branded, errorMessage } from '@meanwhile/core/calls'
import { hiddenCharacters } from './hidden-characters.ts'
import { type MayBeMissing, namedTools } from './named-tools.ts'

/** The options of `visibleText`. */
export interface VisibleTextOptions extends MayBeMissing {
  /** The tools whose results are changed, for example those that return pages, mails or issues. An alias means its tool. */
  readonly tools: readonly string[]
}

/**
 * Removes characters that nobody sees from what the model reads of a result or error: tags (U+E0000 to U+E007F), other
 * characters that Unicode says to ignore, controls of the direction of text, and zero-width characters. A model reads
 * them, so a text can carry instructions that no reader of a page or a card finds. The result ends with their number.
 *
 * Joiners in emoji and in scripts that need them, flags, and one variation selector after a character stay. Files and
 * the `output` for the caller are not changed.
 *
 * @throws {ConfigError} `tools` is not a list of names.
 */
export function visibleText(options: VisibleTextOptions): Middleware {
  checkOptions('visibleText', options, { tools: '', mayBeMissing: '' })
  const named = namedTools('visibleText', 'tools', options?.tools, options)
  return branded('middleware', {
    name: 'visible-text',
    ignoresInput: true,
    ...named.hook,
    async *wrapToolCall(call, next, run) {
      if (!named.hasName(call.name, run)) return yield* next(call)
      try {
        return visible(yield* next(call))
      } catch (error) {
        // An error without such characters is thrown unchanged, because it can be retried.
        if (error instanceof AgentError || run.signal.aborted) throw error
        const failed = errorMessage(call, error)
        const shown = visible(failed)
        if (shown === failed) throw error
        return shown
      }
    },
  })
}

function visible(message: ToolMessage): ToolMessage {
  let count = 0
  const content = message.content.map((part): ContentPart => {
    if (part.type !== 'text') return part
    const text = part.text.replace(INVISIBLE, (_, kept?: string) => {
      if (kept !== undefined) return kept
      count++
      return ''
    })
    return { ...part, text }
  })
  if (count === 0) return message
  const note = count === 1 ? '1 invisible character was removed' : `${count} invisible characters were removed`
  return { ...message, content: [...content, { type: 'text', text: `\n[${note}]` }] }
}

const INVISIBLE = hiddenCharacters()
