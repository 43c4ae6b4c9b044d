/**
 * Derives from a pattern another one that matches the beginnings of its matches. It shows whether a growing text may
 * end inside a match.
 */

import { type AST, RegExpParser, visitRegExpAST } from '@eslint-community/regexpp'

/**
 * Returns a pattern that matches from any place where a match could begin if more text followed, up to the end of the
 * text. It may match too much, which holds text back unnecessarily, but never too little.
 *
 * @throws {TypeError} The pattern has a backreference.
 */
export function beginningOf({ source, flags }: RegExp): RegExp {
  const kept = flags.replace(/[gyd]/g, '')
  const ast = new RegExpParser().parsePattern(source, 0, source.length, {
    unicode: kept.includes('u'),
    unicodeSets: kept.includes('v'),
  })
  visitRegExpAST(ast, { onBackreferenceEnter: refuse })
  return new RegExp(beginning(ast.alternatives) ?? NEVER, `${kept}g`)
}

function refuse(): never {
  throw new TypeError('a pattern with a backreference cannot be used on a stream')
}

const END = '(?![\\s\\S])'
const NEVER = '(?!)'

function beginning(alternatives: readonly AST.Alternative[]): string | undefined {
  return oneOf(alternatives.map(({ elements }) => beginningOfSequence(elements)))
}

/** The text ends within the first element, or after it within the others. */
function beginningOfSequence([first, ...rest]: readonly AST.Element[]): string | undefined {
  if (!first) return undefined
  const within = beginningOfOne(first)
  const after = beginningOfSequence(rest)
  return oneOf([within, after === undefined ? undefined : whole(first) + after])
}

function beginningOfOne(element: AST.Element): string | undefined {
  switch (element.type) {
    case 'Group':
    case 'CapturingGroup':
      return beginning(element.alternatives)
    case 'Quantifier': {
      const last = element.max > 0 ? beginningOfOne(element.element) : undefined
      const before = Number.isFinite(element.max) ? `{0,${element.max - 1}}` : '*'
      return last === undefined ? undefined : `${whole(element.element)}${before}${last}`
    }
    case 'Assertion':
      return beginningOfAssertion(element)
    default:
      return END
  }
}

/** A lookahead matches as long as the text could still continue as it requires. */
function beginningOfAssertion(assertion: AST.Assertion): string | undefined {
  if (assertion.kind === 'lookahead') {
    const ahead = beginning(assertion.alternatives)
    return ahead === undefined ? undefined : `(?=${ahead})`
  }
  return assertion.kind === 'word' || assertion.kind === 'end' ? END : undefined
}

/** The element itself. Names of groups are removed, because an element may occur twice. */
function whole(element: AST.Element): string {
  switch (element.type) {
    case 'Group':
      return `(?${element.modifiers?.raw ?? ''}:${wholes(element.alternatives)})`
    case 'CapturingGroup':
      return `(?:${wholes(element.alternatives)})`
    case 'Quantifier':
      return whole(element.element) + element.raw.slice(element.element.raw.length)
    case 'Assertion':
      if (element.kind !== 'lookahead' && element.kind !== 'lookbehind') return element.raw
      return `(?${element.kind === 'lookbehind' ? '<' : ''}${element.negate ? '!' : '='}${wholes(element.alternatives)})`
    default:
      return element.raw
  }
}

function wholes(alternatives: readonly AST.Alternative[]): string {
  return alternatives.map(({ elements }) => elements.map(whole).join('')).join('|')
}

function oneOf(options: readonly (string | undefined)[]): string | undefined {
  const given = options.filter((option) => option !== undefined)
  return given.length > 1 ? `(?:${given.join('|')})` : given[0]
}
