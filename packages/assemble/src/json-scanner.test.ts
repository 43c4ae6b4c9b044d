import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { anyText } from '@meanwhile/tests/text'
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

function seen({ blank, begin, closedAt, complete, empty, dirty, tooDeep }: JsonScanner): object {
  return { blank, begin, closedAt, complete, empty, dirty, tooDeep }
}

/** `key value` of each member, as they are in the text, and how much of the text had arrived when it was reported. */
function membersOf(deltas: readonly string[]): string[] {
  const whole = deltas.join('')
  const members: string[] = []
  let fed = 0
  const scanner = new JsonScanner(512, (key, value) => {
    members.push(`${fed}: ${whole.slice(key.start, key.end)} ${whole.slice(value.start, value.end)}`)
  })
  for (const delta of deltas) {
    fed += delta.length
    scanner.feed(delta)
  }
  return members
}

function units(text: string): string[] {
  return text.split('')
}

function untimed(member: string): string {
  return member.slice(member.indexOf(':'))
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

test('white space after the root object is allowed, everything else is garbage', () => {
  expect(scan(['{"a":1} \n\t\r']).dirty).toBe(false)
  for (const junk of ['x', '}', '{', '{"a":1}', ',', '\u00a0']) expect(scan([`{"a":1} ${junk}`]).dirty).toBe(true)
})

test('garbage does not change where the root object closed', () => {
  expect(scan(['{"a":1} {"b":2}']).closedAt).toBe(7)
})

test('an object that follows {} takes its place (qC13)', () => {
  expect(seen(scan(['{}{"a":1}']))).toMatchObject({ begin: 2, closedAt: 9, empty: false, dirty: false })
  expect(seen(scan(['{ } {} {"a":1}']))).toMatchObject({ begin: 7, closedAt: 14, dirty: false })
  expect(seen(scan(['{}{"a"']))).toMatchObject({ begin: 2, closedAt: undefined, dirty: false })
})

test('only an object can replace {}, and only {} can be replaced (qC13)', () => {
  for (const text of ['{}x', '{}[]', '{1}{"a":1}', '{]{"a":1}', '{"a":1}{}']) expect(scan([text]).dirty).toBe(true)
})

test('nesting beyond the limit is found in objects and arrays, and not in strings (G14)', () => {
  expect(scan(['{"a":[{"b":1}]}'], 3).tooDeep).toBe(false)
  expect(scan(['{"a":[{"b":[]}]}'], 3).tooDeep).toBe(true)
  expect(scan(['[[[['], 3).tooDeep).toBe(true)
  expect(scan(['{"a":"[[[["}'], 3).tooDeep).toBe(false)
  expect(scan(['{"a":[],"b":[],"c":[]}'], 2).tooDeep).toBe(false)
  // Its end is still seen, and what comes after it.
  const deep = '{"a":[{"b":[[{"c":"]}"}]]}]}'
  expect(scan([deep, ' '], 3)).toMatchObject({ tooDeep: true, end: deep.length, dirty: false })
  expect(scan([deep, '{'], 3)).toMatchObject({ tooDeep: true, end: deep.length, dirty: true })
  expect(scan([deep.slice(0, -1)], 3).end).toBeUndefined()
})

test('every character is examined once (G13)', () => {
  const look = vi.spyOn(String.prototype, 'charCodeAt')
  const text = JSON.stringify({ path: 'a"b\\c', lines: Array.from({ length: 100 }, (_, n) => ({ n })) })
  const scanner = scan(units(text))
  const looks = look.mock.calls.length
  look.mockRestore()
  expect(scanner.closedAt).toBe(text.length)
  expect(looks).toBe(text.length)
})

test('a member is reported with the last character of its value, a number or literal with the next token', () => {
  expect(membersOf(units('{"s":"x" ,"o":{"a":[1]},"l":[ ] , "n": 10 ,"t":true,"f":false\n}'))).toEqual([
    '8: "s" "x"',
    '23: "o" {"a":[1]}',
    '31: "l" [ ]',
    '43: "n" 10',
    '52: "t" true',
    '63: "f" false',
  ])
  expect(membersOf(units('{"n":null}'))).toEqual(['10: "n" null'])
})

test.each([
  ['{}', []],
  ['{"a":1', []],
  ['{"a":tru', []],
  ['[{"a":1}]', []],
  ['"{"a":1}"', []],
  ['{"a":{"b":1}', ['12: "a" {"b":1}']],
  [String.raw`{"\u0061":"\"","a\\":"}"}`, [String.raw`25: "\u0061" "\""`, String.raw`25: "a\\" "}"`]],
  ['{"a":1,"a":2}', ['13: "a" 1', '13: "a" 2']],
  ['{} {"a":1}', ['10: "a" 1']],
])('the members of %s', (text, members) => {
  expect(membersOf([text])).toEqual(members)
})

test.each([
  '{"b" 2,"c":3}',
  '{b:2,"c":3}',
  '{"b":,"c":3}',
  '{"b":2 2,"c":3}',
  '{"b":2"","c":3}',
  '{"b":[},"c":3}',
  '{,"c":3}',
])('no member is reported from where %s is not JSON', (text) => {
  expect(membersOf([text])).toEqual([])
  expect(membersOf([`{"a":1,${text.slice(1)}`])).toHaveLength(1)
})

test('members are found where they were written, and each decodes as JSON.parse decodes it', () => {
  const space = fc.stringMatching(/^[ \t\r\n]{0,2}$/)
  const value = fc.oneof(fc.jsonValue(), fc.constantFrom('}', '"', '\\', '{"a":1,', '\ud83c'))
  const key = fc.tuple(anyText(), fc.boolean()).map(([name, escaped]) => {
    if (!escaped) return JSON.stringify(name)
    return `"${units(name)
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join('')}"`
  })
  const member = fc.tuple(space, key, space, space, fc.tuple(value, fc.constantFrom(0, 1)), space)
  fc.assert(
    fc.property(fc.array(member), fc.nat({ max: 3 }), (written, size) => {
      const expected: object[] = []
      let text = '{'
      for (const [a, name, b, c, [content, indent], d] of written) {
        const start = text.length + a.length
        const [head, body] = [`${a}${name}${b}:${c}`, JSON.stringify(content, null, indent)]
        const at = text.length + head.length
        expected.push([
          { start, end: start + name.length },
          { start: at, end: at + body.length },
        ])
        text += `${head}${body}${d},`
      }
      text = `${written.length > 0 ? text.slice(0, -1) : text}}`
      const told: object[] = []
      const decoded: [string, unknown][] = []
      const scanner = new JsonScanner(512, (...spans) => {
        told.push(spans)
        const [name, content] = spans.map(({ start, end }) => JSON.parse(text.slice(start, end)) as unknown)
        decoded.push([String(name), content])
      })
      for (let i = 0; i < text.length; i += size + 1) scanner.feed(text.slice(i, i + size + 1))
      expect(scanner.complete).toBe(true)
      expect(told).toEqual(expected)
      expect(Object.fromEntries(decoded)).toEqual(JSON.parse(text))
    }),
  )
})

test.each(['{"a":1', '[1}', '{"a":[1}}', '[{]}', '{"a":1]', '{}x', '[] []', '{}{', '1', '""', ' '])(
  '%j is not complete',
  (text) => {
    expect(scan([text]).complete).toBe(false)
  },
)

test.each(['{}', ' [ ] ', '{"a":[{}]}\n', '{}{"a":1}', '["]"]'])('%j is complete', (text) => {
  expect(scan([text]).complete).toBe(true)
})

test('the places where a text is cut make no difference (G2)', () => {
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
      expect(membersOf(deltas).map(untimed)).toEqual(membersOf([whole]).map(untimed))
    }),
  )
})

const folder = join(import.meta.dirname, '../test-data/JSONTestSuite/test_parsing')
const files = readdirSync(folder).map((name) => {
  const bytes = readFileSync(join(folder, name))
  return { name, text: new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes) }
})
const accepted = files.filter(({ text }) => parses(text))
const enclosed = accepted.filter(({ text }) => /^[{[]/.test(text.trimStart()))
const objects = accepted.filter(({ text }) => text.trimStart().startsWith('{'))

test('the JSONTestSuite is complete', () => {
  expect(files.length).toBe(318)
  expect(accepted.filter(({ name }) => name.startsWith('y_')).length).toBe(95)
  expect(accepted.filter(({ name }) => name.startsWith('n_')).length).toBe(0)
  expect(enclosed.filter(({ name }) => name.startsWith('y_')).length).toBe(87)
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

test('JSONTestSuite: an object or array is complete exactly from its last character on, whole and by single characters', () => {
  for (const { name, text } of enclosed) {
    expect({ name, complete: scan([text]).complete }).toEqual({ name, complete: true })
    const end = text.trimEnd().length
    const scanner = new JsonScanner(512)
    const complete = units(text).map((unit) => {
      scanner.feed(unit)
      return scanner.complete
    })
    expect({ name, complete }).toEqual({ name, complete: units(text).map((_, i) => i >= end - 1) })
  }
})

test('JSONTestSuite: complete and one JSON.parse agree with JSON.parse by itself, whole and by single characters', () => {
  expect(files.filter(({ text }) => scan([text]).complete && parses(text))).toEqual(enclosed)
  expect(files.filter(({ text }) => scan(units(text)).complete && parses(text))).toEqual(enclosed)
})

test('JSONTestSuite: no text throws, and cuts make no difference (G2)', () => {
  for (const { text } of files) {
    expect(seen(scan(units(text)))).toEqual(seen(scan([text])))
    expect(membersOf(units(text)).map(untimed)).toEqual(membersOf([text]).map(untimed))
  }
})

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
