import { expect, test } from 'vitest'
import type { Slice } from './cutter.ts'
import type { Frame } from './frame.ts'
import { coalesce, slice } from './slice.ts'

const frames: readonly Frame[] = [
  { at: 10, data: 'ab€' },
  { at: 20, data: 'cd', argsDone: 'call_1' },
  { at: 20, data: 'e', argsDone: 'call_2' },
]

function writes(how: Slice) {
  return [...slice(frames, how)].map(({ at, bytes, argsDone }) => ({
    at,
    bytes: Buffer.from(bytes).toString('latin1'),
    argsDone,
  }))
}

test('each event is a separate write', () => {
  expect(writes('event')).toEqual([
    { at: 10, bytes: 'ab\xe2\x82\xac', argsDone: [] },
    { at: 20, bytes: 'cd', argsDone: ['call_1'] },
    { at: 20, bytes: 'e', argsDone: ['call_2'] },
  ])
})

test('the whole body is one write, due with its last byte', () => {
  expect(writes('whole')).toEqual([{ at: 20, bytes: 'ab\xe2\x82\xaccde', argsDone: ['call_1', 'call_2'] }])
})

test('with `bytes` every so many bytes are a write, even inside a character, due with its last byte', () => {
  expect(writes({ bytes: 3 })).toEqual([
    { at: 10, bytes: 'ab\xe2', argsDone: [] },
    { at: 20, bytes: '\x82\xacc', argsDone: [] },
    { at: 20, bytes: 'de', argsDone: ['call_1', 'call_2'] },
  ])
})

test('no slice changes the bytes', () => {
  const whole = Buffer.concat([...slice(frames, 'event')].map((write) => write.bytes))
  for (const how of [
    'whole',
    { bytes: 1 },
    { bytes: 4 },
    { bytes: 1000 },
    { at: [2, 3] },
    { character: 1 },
    { random: 5 },
  ] satisfies Slice[]) {
    expect(Buffer.concat([...slice(frames, how)].map((write) => write.bytes))).toEqual(whole)
  }
})

test('writes are joined only if they are due together, up to the limit', () => {
  const joined = (limit: number) =>
    [...coalesce(slice(frames, 'event'), limit)].map(({ at, bytes }) => [at, bytes.length])
  expect(joined(100)).toEqual([
    [10, 5],
    [20, 3],
  ])
  expect(joined(2)).toEqual([
    [10, 5],
    [20, 2],
    [20, 1],
  ])
})

/** The pieces of a text of one frame. */
function cuts(text: string, how: Slice): string[] {
  return [...slice([{ at: 0, data: text }], how)].map(({ bytes }) => Buffer.from(bytes).toString('latin1'))
}

test('a body is cut at listed offsets; those outside of it are ignored', () => {
  expect(cuts('abcdef', { at: [1, 4] })).toEqual(['a', 'bcd', 'ef'])
  expect(cuts('abcdef', { at: [0, 6, 99] })).toEqual(['abcdef'])
})

test('the k-th character of several bytes is cut between all of them, and no other', () => {
  expect(cuts('aé東🌍b', { character: 1 })).toEqual(['a\xc3', '\xa9\xe6\x9d\xb1\xf0\x9f\x8c\x8db'])
  expect(cuts('aé東🌍b', { character: 2 })).toEqual(['a\xc3\xa9\xe6', '\x9d', '\xb1\xf0\x9f\x8c\x8db'])
  expect(cuts('aé東🌍b', { character: 3 })).toEqual(['a\xc3\xa9\xe6\x9d\xb1\xf0', '\x9f', '\x8c', '\x8db'])
  expect(cuts('aé東🌍b', { character: 4 })).toHaveLength(1)
})

test('the k-th escape is cut between all of its bytes, and no other', () => {
  const text = String.raw`{"a":"\u00e9\n\u6771"}`
  expect(cuts(text, { escape: 1 })).toEqual(['{"a":"\\', 'u', '0', '0', 'e', String.raw`9\n\u6771"}`])
  expect(cuts(text, { escape: 2 })).toEqual(['{"a":"\\u00e9\\n\\', 'u', '6', '7', '7', '1"}'])
  expect(cuts(text, { escape: 3 })).toEqual([text])
})

test('a text that only looks like an escape is not one', () => {
  expect(cuts(String.raw`\x \t u00e9 \\`, { escape: 1 })).toHaveLength(1)
})

test('the k-th pair of surrogates is cut between its halves', () => {
  const text = String.raw`"\ud83c\udf0d\u6771\ud83c\udf0e"`
  expect(cuts(text, { surrogates: 1 })).toEqual([String.raw`"\ud83c`, String.raw`\udf0d\u6771\ud83c\udf0e"`])
  expect(cuts(text, { surrogates: 2 })).toEqual([String.raw`"\ud83c\udf0d\u6771\ud83c`, String.raw`\udf0e"`])
  expect(cuts(text, { surrogates: 3 })).toHaveLength(1)
})

test('a single half is not a pair', () => {
  const text = String.raw`"\ud83cx\ud83c\udf0e"`
  expect(cuts(text, { surrogates: 1 })).toEqual([String.raw`"\ud83cx\ud83c`, String.raw`\udf0e"`])
})

test('escapes of arguments, which are escaped once more in the event, are cut too', () => {
  const text = JSON.stringify(String.raw`{"a":"\ud83c\udf0d"}`)
  expect(cuts(text, { surrogates: 1 })).toEqual([String.raw`"{\"a\":\"\\ud83c`, String.raw`\\udf0d\"}"`])
})

test('random pieces depend only on the seed, and have at most the given size', () => {
  const text = 'x'.repeat(1_000)
  const sizes = (seed: number, most?: number) =>
    cuts(text, { random: seed, ...(most !== undefined && { most }) }).map((piece) => piece.length)
  expect(sizes(1)).toEqual(sizes(1))
  expect(sizes(1)).not.toEqual(sizes(2))
  expect(Math.max(...sizes(1))).toBeLessThanOrEqual(32)
  expect(new Set(sizes(1, 3))).toEqual(new Set([1, 2, 3]))
  expect(sizes(1, 1)).toHaveLength(1_000)
})

test('bytes stay the same in any frame', () => {
  const halves = [Uint8Array.of(0x61, 0xe6), Uint8Array.of(0x9d, 0xb1)].map((data) => ({ at: 0, data }))
  expect([...slice(halves, { character: 1 })].map(({ bytes }) => [...bytes])).toEqual([[0x61, 0xe6], [0x9d], [0xb1]])
})
