import { respond, say } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import { bodyFor } from '../test/requests.ts'
import { HarnessError } from './errors.ts'
import { mockModels } from './msw.ts'
import { serveModels } from './serve-models.ts'

const hello = respond(say('Hello'))

const RULE = 'chat/unknown-member'

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
  [
    'a rule that is expected and excepted',
    { script: [{ refused: RULE, except: [RULE] }] },
    /expects \S+ and excepts it$/,
  ],
  [
    'an expected refusal with a fault',
    { script: [{ refused: RULE, fault: { end: 'fin' } }] },
    /a refusal cannot have a fault$/,
  ],
  ['a level of rules', { script: [{ ...hello, rules: 'report' }] }, /^rules of response 1 .* can only be false/],
  ['an exception that is no list', { script: [{ ...hello, except: RULE }] }, /^except of response 1 .* must be a list/],
  ['exceptions of an endpoint that are no list', { rules: { except: RULE } }, /^except must be a list/],
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

test.for<[what: string, reply: unknown, message: string]>([
  ['no response', { text: 'Hello' }, 'the response of the script is not a response'],
  ['an exception that is not known', { ...hello, except: ['chat/no'] }, 'there is no rule chat/no'],
  ['a level of rules', { ...hello, rules: 'report' }, 'rules of the response of the script can only be false'],
])('%s is an error at the request, if a function returns it', async ([, reply, message]) => {
  const mock = mockModels({ script: () => reply as never })
  const response = await mock.fetch('http://models.test/v1/messages', { method: 'POST', body: bodyFor('anthropic') })
  expect(response.status).toBe(500)
  expect(mock.assertComplete).toThrow(HarnessError)
  expect(mock.assertComplete).toThrow(message)
})
