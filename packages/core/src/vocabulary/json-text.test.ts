import { propertyRuns } from '@meanwhile/tests/size'
import { anyText } from '@meanwhile/tests/text'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonical } from './canonical.ts'
import { extentOf, jsonText } from './json-text.ts'

/** The value inside this many lists and objects. */
function inside(value: unknown, levels: number): unknown {
  let whole = value
  for (let n = 0; n < levels; n++) whole = n % 2 === 0 ? [whole] : { a: whole }
  return whole
}

/** The text of that. */
function textInside(text: string, levels: number): string {
  const before: string[] = []
  const after: string[] = []
  for (let n = levels - 1; n >= 0; n--) {
    before.push(n % 2 === 0 ? '[' : '{"a":')
    after.push(n % 2 === 0 ? ']' : '}')
  }
  return before.join('') + text + after.reverse().join('')
}

/** Values that JSON leaves out, replaces, or takes from `toJSON`. */
const odd = fc.constantFrom<unknown>(
  undefined,
  Number.NaN,
  () => 1,
  Symbol('s'),
  new Date(0),
  new Map(),
  Array.from({ length: 2 }),
)

const values = fc.oneof(
  fc.jsonValue(),
  fc.object({
    values: [anyText(), fc.double(), odd],
    key: anyText(),
    maxDepth: 4,
  }),
)

test('the text of a value is that of JSON.stringify, however deep it is (P11)', () => {
  fc.assert(
    fc.property(values, (value) => {
      const text = JSON.stringify(value)
      expect(jsonText(value)).toBe(text)
      expect(jsonText(inside(value, 600))).toBe(textInside(text ?? 'null', 600))
    }),
  )
})

test('a value has as many levels as its text, and at least as many characters as are counted (P11)', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), fc.integer({ min: 0, max: 2_000 }), (value, levels) => {
      const { characters, levels: found } = extentOf(inside(value, levels))
      expect(found).toBe(levelsOf(value) + levels)
      expect(characters).toBeLessThanOrEqual(textInside(JSON.stringify(value), levels).length)
    }),
  )
  const plain = { text: 'abc', list: [true, null, 'd', []], none: undefined, inner: { of: {} } }
  expect(extentOf(plain)).toEqual({ characters: JSON.stringify(plain).length, levels: 3 })
})

function levelsOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(levelsOf))
}

test('shared values count at each place and take no time; a value that contains itself is endless (P10, P11)', () => {
  let graph: unknown = true
  for (let n = 0; n < 1_000; n++) graph = [graph, graph]
  expect(extentOf(graph)).toEqual({ characters: expect.any(Number), levels: 1_000 })
  const ring: { self?: unknown } = {}
  ring.self = [ring]
  expect(extentOf(ring)).toEqual({ characters: Number.POSITIVE_INFINITY, levels: Number.POSITIVE_INFINITY })
  expect(() => jsonText(ring)).toThrow(TypeError)
  // Each `toJSON` returns a larger value.
  const growing = { toJSON: (): unknown => [{ toJSON: growing.toJSON }] }
  expect(extentOf(growing).levels).toBe(Number.POSITIVE_INFINITY)
})

test('two inputs of any depth are the same if their values are equal, in any order of their members (P11)', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const other: unknown = JSON.parse(JSON.stringify(value))
      expect(canonical(inside(turned(other), 10_000))).toBe(canonical(inside(value, 10_000)))
      expect(canonical(inside([value], 10_000))).not.toBe(canonical(inside(value, 10_000)))
    }),
    propertyRuns({ small: 7, middle: 10, whole: 20 }),
  )
})

/** The same value with the members of all objects in reverse order. */
function turned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(turned)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, turned(member)]),
  )
}
