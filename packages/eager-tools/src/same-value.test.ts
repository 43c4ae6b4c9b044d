import { expect, test } from 'vitest'
import { copyOf, sameValue } from './same-value.ts'

class Money {
  readonly cents: number
  constructor(cents: number) {
    this.cents = cents
  }
}

const price = new Money(5)

/** Creates an equal value. */
const values: readonly (() => unknown)[] = [
  () => 1,
  () => Number.NaN,
  () => 'one',
  () => null,
  () => undefined,
  () => [1, [2, { a: 3 }]],
  () => ({ a: 1, b: { c: [true] } }),
  () => ({ a: 1, b: { c: [false] } }),
  () => ({ a: undefined }),
  () => ({}),
  () => [],
  () => JSON.parse('{"__proto__":{"a":1}}'),
  () => Object.assign(Object.create(null), { a: 1 }),
  () => new Date(5),
  () => new Date(Number.NaN),
  () => new Map([['a', { b: 1 }]]),
  () => new Set([1, 2]),
  () => new Set([1, 3]),
]

test('values with equal content are the same, and others are not (R2, R3)', () => {
  for (const [one, make] of values.entries())
    for (const [other, makeOther] of values.entries()) expect(sameValue(make(), makeOther())).toBe(one === other)
})

test('instances of an unknown class are the same only if they are the same object (R3)', () => {
  expect(sameValue({ price }, { price })).toBe(true)
  expect(sameValue(new Money(5), new Money(5))).toBe(false)
})

test('a copy is equal and does not change with the original (R2)', () => {
  for (const make of values) expect(sameValue(copyOf(make()), make())).toBe(true)
  const value = { list: [1], at: new Date(0), map: new Map([['a', [1]]]), set: new Set([1]), price }
  const copy = copyOf(value)
  value.list.push(2)
  value.at.setTime(9)
  value.map.get('a')?.push(2)
  value.set.add(2)
  expect(copy).toEqual({ list: [1], at: new Date(0), map: new Map([['a', [1]]]), set: new Set([1]), price })
})
