import { expect, test } from 'vitest'
import { differences, inWords } from './difference.ts'

const paths = (expected: unknown, actual: unknown, exact = false) =>
  differences(expected, actual, { exact }).map(({ path }) => path)

test('members that are not expected may have any value, unless the comparison is exact', () => {
  expect(paths({ a: 1 }, { a: 1, b: 2 })).toEqual([])
  expect(paths({ a: 1 }, { a: 1, b: 2 }, true)).toEqual(['b'])
})

test('lists are compared item by item, whatever their length', () => {
  expect(paths({ m: [{ a: 1 }, { a: 2 }] }, { m: [{ a: 1, b: 1 }, { a: 3 }, 'more'] })).toEqual(['m[1].a', 'm[2]'])
  expect(paths([1, 2], [1])).toEqual(['[1]'])
})

test('a RegExp is searched in a text, and in nothing else', () => {
  expect(paths({ url: /messages$/g }, { url: '/v1/messages' })).toEqual([])
  expect(paths({ url: /\d/ }, { url: 1 })).toEqual(['url'])
})

test('an expected undefined means that the member is missing, also in prototypes', () => {
  expect(paths({ tools: undefined, toString: undefined }, {})).toEqual([])
  expect(paths({ tools: undefined }, { tools: [] })).toEqual(['tools'])
})

test('null, a list and an object are three different things', () => {
  expect(paths({ a: null, b: [], c: {} }, { a: {}, b: {}, c: [] })).toEqual(['a', 'b', 'c'])
})

test('the message contains the place, the expected and the actual value, and no more than necessary', () => {
  expect(inWords(differences({ body: { model: 'gpt' } }, { body: { model: 'claude' } }))).toBe(
    '\n  body.model: expected "gpt", got "claude"',
  )
  const long = 'x'.repeat(1_000)
  const [text] = differences(`${long}a`, `${long}b`)
  expect(text).toEqual({ path: '', expected: `…"${'x'.repeat(40)}a"`, actual: `…"${'x'.repeat(40)}b"` })
  const many = Array.from({ length: 10 }, (_, i) => i)
  expect(inWords(differences(many, []))).toMatch(/… and 2 more$/)
})
