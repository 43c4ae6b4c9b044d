import { respond, say } from '@meanwhile/core/testing'
import { expect, test } from 'vitest'
import { HarnessError } from './errors.ts'
import { mockModels } from './msw.ts'
import { serveModels } from './serve-models.ts'

const hello = respond(say('Hello'))

const refused: readonly (readonly [what: string, options: unknown, message: RegExp])[] = [
  ['a list without an object around it', [hello], /^the options must be an object: \{ script: \[respond\(…\)\] \}$/],
  ['no options', null, /^the options must be an object/],
  ['one response', { script: hello }, /^the script must be a list of responses/],
  ['a step in place of a response', { script: [hello, say('Hello')] }, /^response 2 of the script is not a response/],
  ['a text in place of a response', { script: ['Hello'] }, /^response 1 of the script is not a response/],
  [
    'a fault that is a text',
    { script: [{ ...hello, fault: 'reset' }] },
    /^response 1 .* complete, fin, reset, bad-chunk, stall$/,
  ],
  [
    'a fault without an end',
    { script: [{ ...hello, fault: { after: 'headers' } }] },
    /^response 1 of the script has a fault/,
  ],
  ['an unknown end', { script: [{ ...hello, fault: { end: 'rest' } }] }, /^response 1 of the script has a fault/],
]

test.for(refused)(
  '%s is refused before any request, and the error states what is expected',
  async ([, options, message]) => {
    const error = expect.objectContaining({ name: 'HarnessError', message: expect.stringMatching(message) })
    expect(() => mockModels(options as object)).toThrow(error)
    await expect(serveModels(options as object)).rejects.toEqual(error)
  },
)

test('a server also refuses a script that is loaded later', async () => {
  await using server = await serveModels()
  await expect(server.load({ script: ['Hello'] as never })).rejects.toBeInstanceOf(HarnessError)
})
