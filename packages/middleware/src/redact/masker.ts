/** Finds secrets in texts and replaces them with masks. */

import { beginningOf } from './beginning-of.ts'
import { isSecretPattern, type SecretPattern } from './secret-patterns.ts'

/** What a mask is made from. */
export interface Secret {
  /** The kind of its pattern. */
  readonly kind: string
  /** The secret itself. */
  readonly text: string
}

export interface Match extends Secret {
  readonly start: number
  readonly end: number
}

export class Masker {
  readonly #patterns: readonly Compiled[]
  readonly #replace: (secret: Secret) => string

  /** @throws {TypeError} A pattern cannot be used. */
  constructor(patterns: readonly SecretPattern[], replace: (secret: Secret) => string) {
    if (!Array.isArray(patterns) || !patterns.every(isSecretPattern))
      throw new TypeError(
        'must be a list of { kind, pattern }: the name for the mask, and a RegExp that finds the secret',
      )
    this.#patterns = patterns.map(compile)
    this.#replace = replace
  }

  /** The text with its secrets masked; the same text if it has none. */
  mask(text: string): string {
    let masked = ''
    let from = 0
    for (const match of this.matches(text)) {
      masked += text.slice(from, match.start) + this.maskOf(match)
      from = match.end
    }
    return from === 0 ? text : masked + text.slice(from)
  }

  /** The matches in a whole text, in order. If several begin at one place, the longest counts. */
  *matches(text: string): Generator<Match, void, undefined> {
    const next = this.finder(text)
    for (let from = 0; ; ) {
      const match = next(from)
      if (!match) return
      yield match
      from = match.end
    }
  }

  maskOf({ kind, text }: Match): string {
    return this.#replace({ kind, text })
  }

  /** Returns a function that finds the next match at or after a place. The places must not decrease. */
  finder(text: string): (from: number) => Match | undefined {
    const found: (Match | undefined)[] = []
    return (from) => {
      let first: Match | undefined
      for (const [index, pattern] of this.#patterns.entries()) {
        const known = found[index]
        if (index >= found.length || (known && known.start < from)) found[index] = nextMatch(pattern, text, from)
        const match = found[index]
        if (match && (!first || match.start < first.start || (match.start === first.start && match.end > first.end)))
          first = match
      }
      return first
    }
  }

  /**
   * The first place, from the given one on, at which an incomplete match may begin; the text's end if there is none.
   */
  openAt(text: string, from: number): number {
    let first = text.length
    for (const { beginning } of this.#patterns) {
      beginning.lastIndex = from
      const found = beginning.exec(text)
      if (found && found.index < first) first = found.index
    }
    return first
  }
}

interface Compiled extends SecretPattern {
  readonly beginning: RegExp
}

function compile({ kind, pattern, isSecret }: SecretPattern): Compiled {
  const global = new RegExp(pattern.source, `${pattern.flags.replace(/[gy]/g, '')}g`)
  if (global.exec('')) throw new TypeError(`the pattern of ${kind} matches an empty text`)
  return { kind, pattern: global, beginning: beginningOf(pattern), ...(isSecret && { isSecret }) }
}

function nextMatch(compiled: Compiled, text: string, from: number): Match | undefined {
  const { kind, pattern } = compiled
  for (let at = from; ; ) {
    pattern.lastIndex = at
    const found = pattern.exec(text)
    if (!found) return undefined
    const [matched] = found
    at = found.index + 1
    if (matched === '' || compiled.isSecret?.(matched) === false) continue
    return { kind, text: matched, start: found.index, end: found.index + matched.length }
  }
}
