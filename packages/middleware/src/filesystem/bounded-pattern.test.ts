import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { boundedPattern } from './bounded-pattern.ts'

test('the size of a pattern is counted without compiling it, and never far below what RE2 makes of it (W56)', () => {
  const atoms = [
    'a',
    '.',
    '\\d',
    '\\{',
    '\\(',
    '^',
    '$',
    '\\b',
    '\\pL',
    '\\p{Greek}',
    '\\x{41}',
    '\\Qab\\E',
    '\\Q(((\\E',
  ]
  const classes = ['[a-z]', '[]a]', '[^]a]', '[[:alpha:]x]', '[(]', '[\\]]', '[a{5}]']
  const atom = fc.constantFrom(...atoms, ...classes, '{', '{2', 'é', '😀', '(?i)', '|', 'a|')
  const repetition = fc.constantFrom('', '', '', '*', '+', '?', '{3}', '{2,5}', '{4,}', '{0,7}', '*?', '{3}?', '{0}')
  const { pattern } = fc.letrec<{ pattern: string }>((tie) => {
    const begin = fc.constantFrom('(', '(?:', '(?i:', '(?P<n>', '(?<n>')
    const group = fc.tuple(begin, tie('pattern'), fc.constant(')'), repetition)
    const part = fc.oneof({ weight: 3, arbitrary: fc.tuple(atom, repetition) }, group).map((parts) => parts.join(''))
    return { pattern: fc.array(part, { maxLength: 4 }).map((parts) => parts.join('')) }
  })
  let compiled = 0
  fc.assert(
    fc.property(pattern, (source) => {
      let bounded: ReturnType<typeof boundedPattern>
      try {
        bounded = boundedPattern(source)
      } catch {
        return
      }
      compiled++
      expect(bounded.regex.programSize()).toBeLessThanOrEqual(bounded.size + 16)
    }),
    propertyRuns({ small: 250, middle: 400, whole: 100_000 }),
  )
  expect(compiled).toBeGreaterThan(125)
})
