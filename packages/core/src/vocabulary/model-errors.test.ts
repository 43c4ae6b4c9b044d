import { expect, test } from 'vitest'
import { ModelError } from '../index.ts'

const data = { code: 'c', retryable: false }

test('the message of a ModelError has at most 500 characters, and does not end with half a surrogate pair (P12)', () => {
  const messageOf = (message: string) => new ModelError(message, data).message
  expect(messageOf('m'.repeat(500))).toBe('m'.repeat(500))
  expect(messageOf('m'.repeat(501))).toBe(`${'m'.repeat(499)}…`)
  expect(messageOf('😀'.repeat(300))).toBe(`${'😀'.repeat(249)}…`)
})

test('its data is a copy of at most 64 KiB, as JSON, or otherwise as the beginning of its text (P12)', () => {
  const dataOf = (said: unknown) => new ModelError('m', { ...data, data: said }).data
  const said = { error: { message: 'no', list: [1, null] } }
  expect(dataOf(said)).toEqual(said)
  expect(dataOf(said)).not.toBe(said)
  expect(dataOf('<html>')).toBe('<html>')
  expect(dataOf('x'.repeat(65_536))).toBe('x'.repeat(65_536))
  expect(dataOf(`${'x'.repeat(65_535)}é`)).toBe('x'.repeat(65_535))
  expect(dataOf({ s: 'é'.repeat(65_536) })).toBe(`{"s":"${'é'.repeat(32_765)}`)
})

test('a value that is not JSON becomes no data, and is harmless (P12)', () => {
  const deep = Array.from({ length: 100_000 }).reduce<unknown[]>((inner) => [inner], [])
  for (const said of [
    undefined,
    () => 1,
    1n,
    deep,
    {
      get x() {
        throw new Error('no')
      },
    },
  ]) {
    expect(new ModelError('m', { ...data, data: said }).data).toBeUndefined()
  }
})
