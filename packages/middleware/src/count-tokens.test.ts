import type { Message } from '@meanwhile/core'
import { expect, test, vi } from 'vitest'
import { countTokens } from './count-tokens.ts'

const user = (content: string): Message => ({ role: 'user', content })
const answer = (text: string, usage?: object): Message => ({
  role: 'assistant',
  content: [{ type: 'text', text }],
  finishReason: 'stop',
  ...(usage && { usage }),
})

test('the last reported usage counts, then a quarter of the characters (N30)', () => {
  expect(countTokens([user('x'.repeat(400))])).toBe(100)
  expect(countTokens([user('x'.repeat(400)), answer('y'.repeat(40))])).toBe(110)
  const reported = answer('y'.repeat(40), { inputTokens: 900, outputTokens: 50 })
  expect(countTokens([user('x'.repeat(400)), reported])).toBe(950)
  expect(countTokens([user('Hi'), reported, user('x'.repeat(40)), answer('z'.repeat(8))])).toBe(962)
  expect(countTokens([user('Hi'), reported, user('x'), answer('', { inputTokens: 7 })])).toBe(7)
  expect(countTokens([])).toBe(0)
})

test('a report of no input, or of less than its output, does not count (N30, W22)', () => {
  const long = user('x'.repeat(4_000))
  for (const usage of [
    { inputTokens: 0, outputTokens: 10 },
    { inputTokens: 0 },
    { inputTokens: 3, outputTokens: 10 },
    { inputTokens: 3 },
  ])
    expect(countTokens([long, answer('y'.repeat(40), usage)])).toBe(1_010)
  const sound = answer('y'.repeat(40), { inputTokens: 900, outputTokens: 50 })
  expect(countTokens([sound, long, answer('y'.repeat(40), { inputTokens: 0, outputTokens: 10 })])).toBe(1_960)
})

test('calls count with their arguments, files count a fixed number (N30)', () => {
  const parts: Message = {
    role: 'assistant',
    content: [
      { type: 'reasoning', text: 'abcd' },
      { type: 'tool-call', id: 'c', name: 'look', input: { n: 12 } },
      { type: 'tool-call', id: 'd', name: 'none', input: undefined },
    ],
    finishReason: 'tool-calls',
    usage: { outputTokens: 5 },
  }
  expect(countTokens([parts])).toBe((4 + 4 + 8 + 4) / 4)
  const picture: Message = {
    role: 'user',
    content: [{ type: 'file', mediaType: 'image/png', data: 'A'.repeat(1_000_000) }],
  }
  expect(countTokens([picture])).toBe(1_600)
})

test('a message that cannot change is counted once, another one each time (N30)', () => {
  const input = { city: 'Bern' }
  const asking = (): Message => ({
    role: 'assistant',
    content: [{ type: 'tool-call', id: 'a', name: 'look', input }],
    finishReason: 'tool-calls',
  })
  const written = vi.spyOn(JSON, 'stringify')
  const counts = () => written.mock.calls.filter(([value]) => value === input).length
  const fixed = Object.freeze(asking())
  expect([countTokens([fixed]), countTokens([fixed, user('abcd')])]).toEqual([4.75, 5.75])
  expect(counts()).toBe(1)
  const free = asking()
  for (let n = 0; n < 3; n++) countTokens([free])
  expect(counts()).toBe(4)
  written.mockRestore()
})
