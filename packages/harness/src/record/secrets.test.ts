import { expect, test } from 'vitest'
import { REDACTED, redactor } from './secrets.ts'

const KEY = `sk-${'a1B2'.repeat(6)}`

test('a header that says hardly anything is no secret: the word stays where it stands otherwise', () => {
  const { learn, text } = redactor()
  learn('https://host/v1?api_key=none', new Headers({ authorization: 'Bearer test', 'x-api-key': 'none' }))
  expect(text('none of the tests')).toBe('none of the tests')
})

test('of secrets that lie in one another all is taken out', () => {
  const { text } = redactor([/a1B2/])
  expect(text(`the key ${KEY}, and a1B2`)).toBe(`the key ${REDACTED}, and ${REDACTED}`)
})

test('a secret is found as a URL has it', () => {
  const { learn, text } = redactor()
  learn('https://host/v1', new Headers({ 'x-api-key': 'a/b c+d=e&f' }))
  expect(text('?key=a%2Fb%20c%2Bd%3De%26f&n=1')).toBe(`?key=${REDACTED}&n=1`)
})

test('in bytes that are no text a secret is taken out, and all others stay', () => {
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
