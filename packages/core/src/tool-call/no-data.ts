/** What tools return that is no data, and of which JSON would say nothing. */

import { isPlain } from '../vocabulary/json.ts'

/** What to return in its place, by what it is. */
const INSTEAD = new Map([
  ['Response', 'return what it holds, as await response.text()'],
  ['Map', 'return Object.fromEntries(map)'],
  ['Set', 'return [...set]'],
  ['Error', 'throw it, or return its message'],
  ['Promise', 'await it'],
])

/** What an output is and what to return instead, if it is no data. What has a `toJSON` says itself what it is. */
export function noDataProblem(output: unknown): string | undefined {
  if (typeof output === 'function') return problem('a function', 'return what it gives')
  if (typeof output !== 'object' || output === null || Array.isArray(output)) return undefined
  if ('toJSON' in output && typeof output.toJSON === 'function') return undefined
  const kind = output instanceof Error ? 'Error' : Object.prototype.toString.call(output).slice(8, -1)
  const instead = INSTEAD.get(kind)
  if (instead) return problem(withArticle(kind), instead)
  if (Symbol.asyncIterator in output) return problem('an async iterable', 'return a list of what it gives')
  if (Symbol.iterator in output) return problem('an iterable', 'return a list, as [...it]')
  const what = kind === 'Object' ? output.constructor?.name : kind
  if (isPlain(output) || Object.keys(output).length > 0) return undefined
  return problem(what ? withArticle(what) : 'an object that shows nothing of itself', 'return a plain object')
}

function problem(what: string, instead: string): string {
  return `${what}, which is no JSON; ${instead}, or give the tool a toContent`
}

export function withArticle(word: string): string {
  return `${/^[AEIOU]/i.test(word) ? 'an' : 'a'} ${word}`
}
