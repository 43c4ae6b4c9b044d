import { expect, test } from 'vitest'
import { ofEachKind } from './size.ts'

const cases = 'aaaaaaabbc'.split('').map((kind, at) => ({ kind, at }))
const picked = (most: number) =>
  ofEachKind(cases, ({ kind }) => kind, { small: most, middle: most, whole: most }).map(({ kind, at }) => kind + at)

test('of each kind some cases stay, spread over it', () => {
  expect(picked(1)).toEqual(['a0', 'b7', 'c9'])
  expect(picked(2)).toEqual(['a0', 'a4', 'b7', 'b8', 'c9'])
  expect(picked(3)).toEqual(['a0', 'a3', 'a5', 'b7', 'b8', 'c9'])
  expect(picked(7)).toHaveLength(cases.length)
})
