import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import { JsonScanner } from './json-scanner.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

function scan(deltas: Iterable<string>, maxDepth = 512): JsonScanner {
  const scanner = new JsonScanner(maxDepth)
  for (const delta of deltas) scanner.feed(delta)
  return scanner
}

function seen({ blank, begin, closedAt, empty, dirty, tooDeep }: JsonScanner): object {
  return { blank, begin, closedAt, empty, dirty, tooDeep }
}

function units(text: string): string[] {
  return text.split('')
}

test.each([
  ['{"a":1}', 7],
  [' \n\t\r{ } ', 7],
  ['{"a":{"b":[{}]}}', 16],
  ['{"}":"}"}', 9],
  [String.raw`{"a":"\"}"}`, 11],
  [String.raw`{"a":"\\"}`, 10],
  [String.raw`{"a":"\\\"}"}`, 13],
  ['{"a":"東京🌍"}', 12],
])('the root object of %s closes at its last brace', (text, end) => {
  expect(scan([text]).closedAt).toBe(end)
})

test.each(['', ' ', '{', '{"a":1', '{"a":"}', '{"a":[}', '[]', '[{}]', '"{}"', '1', 'true', 'null', 'x{}', '\ufeff{}'])(
  'no root object closes in %j',
  (text) => {
    expect(scan([text]).closedAt).toBeUndefined()
  },
)

test('only white space is blank', () => {
  expect(scan([]).blank).toBe(true)
  expect(scan([' \n', '\t\r']).blank).toBe(true)
  expect(scan([' \n1']).blank).toBe(false)
  expect(scan(['\u00a0']).blank).toBe(false)
})

test('white space after the root object is no garbage, everything else is', () => {
  expect(scan(['{"a":1} \n\t\r']).dirty).toBe(false)
  for (const junk of ['x', '}', '{', '{"a":1}', ',', '\u00a0']) expect(scan([`{"a":1} ${junk}`]).dirty).toBe(true)
})

test('garbage changes nothing of where the root object closed', () => {
  expect(scan(['{"a":1} {"b":2}']).closedAt).toBe(7)
})

test('an object that follows {} takes its place (qC13)', () => {
  expect(seen(scan(['{}{"a":1}']))).toMatchObject({ begin: 2, closedAt: 9, empty: false, dirty: false })
  expect(seen(scan(['{ } {} {"a":1}']))).toMatchObject({ begin: 7, closedAt: 14, dirty: false })
  expect(seen(scan(['{}{"a"']))).toMatchObject({ begin: 2, closedAt: undefined, dirty: false })
})

test('nothing but an object takes the place of {}, and nothing but {} gives it up (qC13)', () => {
  for (const text of ['{}x', '{}[]', '{1}{"a":1}', '{]{"a":1}', '{"a":1}{}']) expect(scan([text]).dirty).toBe(true)
})

test('nesting beyond the limit is found in objects and arrays, and not in strings (G14)', () => {
  expect(scan(['{"a":[{"b":1}]}'], 3).tooDeep).toBe(false)
  expect(scan(['{"a":[{"b":[]}]}'], 3).tooDeep).toBe(true)
  expect(scan(['[[[['], 3).tooDeep).toBe(true)
  expect(scan(['{"a":"[[[["}'], 3).tooDeep).toBe(false)
  expect(scan(['{"a":[],"b":[],"c":[]}'], 2).tooDeep).toBe(false)
})

test('every character is looked at once (G13)', () => {
  const look = vi.spyOn(String.prototype, 'charCodeAt')
  const text = JSON.stringify({ path: 'a"b\\c', lines: Array.from({ length: 100 }, (_, n) => ({ n })) })
  const scanner = scan(units(text))
  const looks = look.mock.calls.length
  look.mockRestore()
  expect(scanner.closedAt).toBe(text.length)
  expect(looks).toBe(text.length)
})

test('where a text is cut makes no difference (G2)', () => {
  const token = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    '"',
    '\\',
    ',',
    ':',
    ' ',
    '\n',
    '1',
    'true',
    'a',
    '\\u00e9',
    '\ud83c',
    '\udf0d',
  )
  const text = fc.oneof(
    fc.array(token, { maxLength: 30 }).map((tokens) => tokens.join('')),
    fc.jsonValue().map((value) => JSON.stringify(value)),
    fc
      .tuple(fc.object(), fc.object())
      .map((objects) => `{}${objects.map((object) => JSON.stringify(object)).join('')}`),
  )
  fc.assert(
    fc.property(text, fc.array(fc.nat(), { maxLength: 8 }), (whole, cuts) => {
      const at = [0, ...cuts.map((cut) => cut % (whole.length + 1)).sort((a, b) => a - b), whole.length]
      const deltas = at.slice(1).map((end, i) => whole.slice(at[i], end))
      expect(seen(scan(deltas, 4))).toEqual(seen(scan([whole], 4)))
    }),
  )
})

const folder = join(import.meta.dirname, '../test-data/JSONTestSuite/test_parsing')
const files = readdirSync(folder).map((name) => {
  const bytes = readFileSync(join(folder, name))
  return { name, text: new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes) }
})
const accepted = files.filter(({ text }) => parses(text))
const objects = accepted.filter(({ text }) => text.trimStart().startsWith('{'))

test('JSONTestSuite is all there', () => {
  expect(files.length).toBe(318)
  expect(accepted.filter(({ name }) => name.startsWith('y_')).length).toBe(95)
  expect(accepted.filter(({ name }) => name.startsWith('n_')).length).toBe(0)
  expect(objects.length).toBe(13)
})

test('JSONTestSuite: an object closes exactly at its last brace, whole and by single characters (G3)', () => {
  for (const { name, text } of objects) {
    const end = text.lastIndexOf('}') + 1
    expect({ name, ...seen(scan([text])) }).toMatchObject({ name, closedAt: end, dirty: false })
    const scanner = new JsonScanner(512)
    units(text).forEach((unit, i) => {
      expect(scanner.closedAt).toBe(i < end ? undefined : end)
      scanner.feed(unit)
    })
    expect(scanner.closedAt).toBe(end)
  }
})

test('JSONTestSuite: nothing but an object closes cleanly and parses (G3)', () => {
  const closed = files.filter(({ text }) => {
    const { closedAt, dirty } = scan([text])
    return closedAt !== undefined && !dirty && parses(text)
  })
  expect(closed).toEqual(objects)
})

test('JSONTestSuite: no text throws, and cuts make no difference (G2)', () => {
  for (const { text } of files) expect(seen(scan(units(text)))).toEqual(seen(scan([text])))
})

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
