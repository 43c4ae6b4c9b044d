import { expect, test } from 'vitest'
import { REDACTED, redactor } from './secrets.ts'

const KEY = `sk-${'a1B2'.repeat(6)}`

test('a very short header value is not a secret: the word is kept elsewhere', () => {
  const { learn, text } = redactor()
  learn('https://host/v1?api_key=none', new Headers({ authorization: 'Bearer test', 'x-api-key': 'none' }))
  expect(text('none of the tests')).toBe('none of the tests')
})

test('overlapping secrets are removed completely', () => {
  const { text } = redactor([/a1B2/])
  expect(text(`the key ${KEY}, and a1B2`)).toBe(`the key ${REDACTED}, and ${REDACTED}`)
})

test('a secret is found in its URL-encoded form', () => {
  const { learn, text } = redactor()
  learn('https://host/v1', new Headers({ 'x-api-key': 'a/b c+d=e&f' }))
  expect(text('?key=a%2Fb%20c%2Bd%3De%26f&n=1')).toBe(`?key=${REDACTED}&n=1`)
})

test('in bytes that are not text a secret is removed, and all others are kept', () => {
  const around = [0xff, 0xfe, 0x80]
  const body = Uint8Array.from([...around, ...Buffer.from(KEY), ...around])
  const pieces = redactor().pieces([
    { at: 1, bytes: body.subarray(0, 10) },
    { at: 2, bytes: body.subarray(10) },
  ])
  expect(pieces.map(({ at, bytes }) => [at, [...bytes]])).toEqual([
    [1, [...around, ...Buffer.from(REDACTED)]],
    [2, around],
  ])
})
