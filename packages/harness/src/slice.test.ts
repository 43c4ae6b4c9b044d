import { expect, test } from 'vitest'
import type { Frame } from './frame.ts'
import { coalesce, type Slice, slice } from './slice.ts'

const frames: readonly Frame[] = [
  { at: 10, text: 'ab€' },
  { at: 20, text: 'cd', argsDone: 'call_1' },
  { at: 20, text: 'e', argsDone: 'call_2' },
]

function writes(how: Slice) {
  return [...slice(frames, how)].map(({ at, bytes, argsDone }) => ({
    at,
    bytes: Buffer.from(bytes).toString('latin1'),
    argsDone,
  }))
}

test('each event is a write of its own', () => {
  expect(writes('event')).toEqual([
    { at: 10, bytes: 'ab\xe2\x82\xac', argsDone: [] },
    { at: 20, bytes: 'cd', argsDone: ['call_1'] },
    { at: 20, bytes: 'e', argsDone: ['call_2'] },
  ])
})

test('the whole body is one write, due with its last byte', () => {
  expect(writes('whole')).toEqual([{ at: 20, bytes: 'ab\xe2\x82\xaccde', argsDone: ['call_1', 'call_2'] }])
})

test('every so many bytes is a write, even inside a character, due with its last byte', () => {
  expect(writes({ bytes: 3 })).toEqual([
    { at: 10, bytes: 'ab\xe2', argsDone: [] },
    { at: 20, bytes: '\x82\xacc', argsDone: [] },
    { at: 20, bytes: 'de', argsDone: ['call_1', 'call_2'] },
  ])
})

test('no slicing changes the bytes', () => {
  const whole = Buffer.concat([...slice(frames, 'event')].map((write) => write.bytes))
  for (const how of ['whole', { bytes: 1 }, { bytes: 4 }, { bytes: 1000 }] satisfies Slice[]) {
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
