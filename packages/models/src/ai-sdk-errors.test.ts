import { APICallError, InvalidResponseDataError, JSONParseError, TypeValidationError } from '@ai-sdk/provider'
import { expect, test } from 'vitest'
import { handMade, readParts } from '../test/ai-sdk.ts'
import { ask, failureOf } from '../test/ask.ts'
import { aiSdk } from './ai-sdk.ts'

const spoken = [
  { type: 'text-start', id: '0' },
  { type: 'text-delta', id: '0', delta: 'Hello' },
] as const

const request = { url: 'https://example.com', requestBodyValues: {} }

test.each<[string, unknown, object]>([
  [
    'the error of a newer provider',
    { message: 'busy', code: 503, type: 'server_error', statusCode: 503, isRetryable: true, data: {} },
    { code: '503', status: 503, message: 'busy', retryable: true },
  ],
  [
    'the error of the wire, as older providers pass it on',
    { type: 'overloaded_error', message: 'busy' },
    { code: 'overloaded_error', status: 529, message: 'busy', retryable: true },
  ],
  [
    'an error that a retry cannot fix',
    { code: 'tool_use_failed', type: 'invalid_request_error', message: 'no' },
    { code: 'tool_use_failed', status: 400, message: 'no', retryable: false },
  ],
  [
    'a failed response',
    new APICallError({
      ...request,
      message: 'busy',
      statusCode: 500,
      data: { type: 'response.failed', response: { error: { code: 'server_error', message: 'busy' } } },
    }),
    { code: 'server_error', status: 500, message: 'busy', retryable: true },
  ],
  [
    'an error with an unparsed body',
    new APICallError({
      ...request,
      message: 'busy',
      statusCode: 529,
      responseBody: '{"type":"error","error":{"type":"overloaded_error","message":"busy"}}',
    }),
    { code: 'overloaded_error', status: 529, message: 'busy', retryable: true },
  ],
  [
    'an HTML page',
    new APICallError({ ...request, message: 'Bad Gateway', statusCode: 502, responseBody: '<html></html>' }),
    { code: '502', status: 502, message: 'Bad Gateway', retryable: true },
  ],
  [
    'a body that its package could not read',
    new APICallError({
      ...request,
      message: 'Bad Request',
      statusCode: 400,
      responseBody: `{"error":{"message":"too long","details":${'['.repeat(50_000)}${']'.repeat(50_000)}}}`,
    }),
    { status: 400, message: 'too long', retryable: false },
  ],
  [
    'a body of plain text',
    new APICallError({ ...request, message: 'Bad Gateway', statusCode: 502, responseBody: 'no healthy upstream' }),
    { code: '502', status: 502, message: 'no healthy upstream', retryable: true },
  ],
  [
    'advice against a retry',
    new APICallError({
      ...request,
      message: 'busy',
      statusCode: 429,
      responseHeaders: { 'x-should-retry': 'false', 'retry-after-ms': '20' },
    }),
    { code: '429', status: 429, message: 'busy', retryable: false, retryAfter: 20 },
  ],
  [
    'a connection that failed',
    new APICallError({ ...request, message: 'Cannot connect to API', isRetryable: true }),
    { code: 'connection', message: 'Cannot connect to API', retryable: true },
  ],
  ['words', 'it broke', { code: 'unknown', message: 'it broke', retryable: false }],
  ['nothing', undefined, { retryable: true }],
  [
    'a chunk that is no JSON',
    new JSONParseError({ text: '{', cause: new SyntaxError('end') }),
    { code: 'invalid_chunk', retryable: true },
  ],
  [
    'a chunk of an unexpected type',
    new TypeValidationError({ value: {}, cause: new Error('no') }),
    { code: 'invalid_chunk', retryable: true },
  ],
  [
    'a call without a name',
    new InvalidResponseDataError({ data: {}, message: 'no name' }),
    { code: 'invalid_chunk', message: 'no name', retryable: true },
  ],
  ['a socket that broke', new TypeError('terminated'), { code: 'connection', message: 'terminated', retryable: true }],
])(
  'an error part becomes a ModelError of its own kind, and the partial message is kept (A19, qT8, qT9, qT10): %s',
  async (_, error, expected) => {
    const failure = await failureOf(readParts([...spoken, { type: 'error', error }]))
    expect(failure).toMatchObject({ name: 'ModelError', ...expected, partial: { content: [{ text: 'Hello' }] } })
  },
)

test('the cause is the original error, so that nothing is lost', async () => {
  const error = new APICallError({ ...request, message: 'busy', statusCode: 503 })
  expect(await failureOf(readParts([{ type: 'error', error }]))).toHaveProperty('cause', error)
})

test('an error that a model throws before its request is a ModelError that is not retried', async () => {
  const { model } = handMade('v4', [])
  const broken = { ...model, doStream: () => Promise.reject(new Error('no key today')) }
  expect(await failureOf(ask(aiSdk(broken)))).toMatchObject({
    name: 'ModelError',
    code: 'unknown',
    message: 'no key today',
    retryable: false,
  })
})
