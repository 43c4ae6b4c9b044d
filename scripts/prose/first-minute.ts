/**
 * A textlint rule: what a newcomer reads in the first minute has no words that only the guides explain. That is the README, the home page,
 * and what the chat shows; the comments of its sources are for readers of the code.
 */

import type { TextlintRuleReporter } from '@textlint/types'

const FIRST =
  /(?:^|\/)(?:docs\/index\.md$|examples\/chat\/(?!trials\/)|(?<!(?:apps|docs|examples|packages)\/.*)README\.md$)/

/** A word, and what a newcomer understands. */
const WORDS: readonly (readonly [word: RegExp, instead: string])[] = [
  [/\beager\s+tools?\b/gi, 'early tools'],
  [/\bhead\s+starts?\b/gi, 'saved'],
  [/\b(?:physical\s+)?bounds?\b/gi, 'at most'],
  [/\b(?:un)?sealed\b/gi, 'written'],
  [/\bclosed\b/gi, 'complete'],
  [/\bcommitted\b/gi, 'used'],
  [/\bprovisional(?:ly)?\b/gi, 'early'],
  [/\bwires?\b/gi, 'the API of a provider'],
  [/\beffects?\b/gi, 'a tool that only reads'],
]

export const firstMinute: TextlintRuleReporter = ({ getFilePath, report, RuleError }) => {
  if (!FIRST.test(getFilePath() ?? '')) return {}
  return {
    Str(node) {
      const { parent } = node
      if (parent && 'kind' in parent && parent.kind !== 'string') return
      for (const [word, instead] of WORDS)
        for (const { 0: found, index } of node.value.matchAll(word))
          report(node, new RuleError(`${found} => ${instead}: a newcomer does not know this word`, { index }))
    },
  }
}
