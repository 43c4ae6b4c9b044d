/** The middleware `visibleText()`: removes invisible characters from the results of tools. */

import { AgentError, type ContentPart, checkOptions, type Middleware, type ToolMessage } from '@meanwhile/core'
import { branded, errorMessage } from '@meanwhile/core/calls'
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

/** The flags of England, Scotland and Wales: the only sequences of tags that Unicode recommends (UTS #51, emoji tag sequences). */
const FLAG =
  /\u{1F3F4}\u{E0067}\u{E0062}(?:\u{E0065}\u{E006E}\u{E0067}|\u{E0073}\u{E0063}\u{E0074}|\u{E0077}\u{E006C}\u{E0073})\u{E007F}/u
/** A joiner between two pictures, which may have a colour of skin or a selector. */
const IN_EMOJI = /(?<=\p{Extended_Pictographic}|\p{Emoji_Modifier}|\uFE0F)\u200D(?=\p{Extended_Pictographic})/u
/** A joiner after a visible letter or sign of a script whose writing needs it (UAX #31, section 2.3). */
const IN_SCRIPT =
  /(?<!\p{Default_Ignorable_Code_Point})(?<=[\p{scx=Arab}\p{scx=Syrc}\p{scx=Mong}\p{scx=Nkoo}\p{scx=Deva}\p{scx=Beng}\p{scx=Guru}\p{scx=Gujr}\p{scx=Orya}\p{scx=Taml}\p{scx=Telu}\p{scx=Knda}\p{scx=Mlym}\p{scx=Sinh}\p{scx=Khmr}\p{scx=Mymr}\p{scx=Tibt}])[\u200C\u200D]/u
/** A variation selector after a visible character that has variants (UTS #37 for ideographs). */
const VARIANT =
  /(?<!\p{Default_Ignorable_Code_Point})(?:(?<=\p{Emoji})[\uFE0E\uFE0F]|(?<=[\p{Sm}\p{So}\p{Lo}])[\uFE00-\uFE0F]|(?<=\p{Unified_Ideograph})[\u{E0100}-\u{E01EF}]|(?<=\p{sc=Mong})[\u180B-\u180D\u180F])/u
/** A filler in an old Korean syllable. */
const IN_KOREAN = /\u115F(?=[\u1161-\u11A7])|(?<=[\u1100-\u115E])\u1160/u

const KEPT = [FLAG, IN_EMOJI, IN_SCRIPT, VARIANT, IN_KOREAN].map(({ source }) => source).join('|')
const INVISIBLE = new RegExp(`(${KEPT})|[\\p{Default_Ignorable_Code_Point}\\uFFF9-\\uFFFB]`, 'gu')
