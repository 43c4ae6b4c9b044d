/** Quirks with errors: errors inside a stream with status 200, and streams that just end. */

import type { WireName } from '../wires/wire-name.ts'
import * as claude from './anthropic-events.ts'
import { begin, chunk, DONE, end, envelope, pieces } from './chat-events.ts'
import type { Failed, Quirk, QuirkEvent } from './quirk.ts'
import { call, created, message } from './responses-events.ts'

const truncated = 'vercel/ai#19165, #19169'
const openrouter = 'OmniRoute#8210, local-operator#223, jp#978 (retried a 400 to exhaustion), octo-agent#910'
const overloaded = 'gptel#1512, agent-os#2118, omadia#122, anthropic-sdk-python#1262'
const malformed = 'pydantic-ai#631, #3300, litellm#21744, coder#28470'

const hello: readonly QuirkEvent[] = [chunk({ role: 'assistant', content: 'Hel' }), chunk({ content: 'lo' })]

const bare = 'alibaba/spring-ai-alibaba#2691; the documentation of vLLM, MiniMax and FastAPI'
const tooLong = {
  object: 'error',
  message: "This model's maximum context length is 8192 tokens.",
  type: 'BadRequestError',
  param: null,
  code: 400,
}

/** Errors without the member `error`: their form, what they stand for, and what they are. */
const BARE: readonly (readonly [form: string, error: object, expected: Failed['error']])[] = [
  ['with a number as its code (vLLM)', tooLong, { code: '400', status: 400, retryable: false }],
  [
    'with a code in words (DashScope)',
    { code: 'Throttling.RateQuota', message: 'Requests rate limit exceeded.', request_id: 'r1' },
    { code: 'Throttling.RateQuota', status: 429, retryable: true },
  ],
  [
    'with a status of its own (MiniMax)',
    { choices: null, base_resp: { status_code: 1004, status_msg: 'login fail' } },
    { code: '1004', status: 401, retryable: false },
  ],
  ['that is a detail (FastAPI)', { detail: [{ loc: ['body'], msg: 'field required' }] }, { retryable: false }],
  [
    'inside of a detail (FastAPI)',
    { detail: { message: 'Quota used up', code: 429 } },
    { code: '429', status: 429, retryable: true },
  ],
  [
    'as a detail with a status',
    { detail: { msg: 'Too busy', status_code: 503 } },
    { code: 'unknown', status: 503, retryable: true },
  ],
]

/** The status is next to the member `error`, or in it under another name. */
const BESIDE: readonly (readonly [place: string, error: object, expected: Failed['error']])[] = [
  [
    'next to the error',
    {
      type: 'error',
      status_code: 429,
      error: { type: 'usage_limit_reached', message: 'The usage limit has been reached' },
    },
    { code: 'usage_limit_reached', status: 429, retryable: true },
  ],
  [
    'http_code in the error',
    { type: 'error', error: { type: 'busy', message: 'The cluster is busy', http_code: '503' } },
    { code: 'busy', status: 503, retryable: true },
  ],
  [
    'only its code (server_is_overloaded)',
    { type: 'error', error: { code: 'server_is_overloaded', message: 'Our servers are overloaded' } },
    { code: 'server_is_overloaded', status: 503, retryable: true },
  ],
]

/** An error that is not the data of an event. */
const OUTSIDE: readonly (readonly [form: string, body: string])[] = [
  ['in a field named error (llama.cpp)', `error: ${JSON.stringify(tooLong)}\n\n`],
  ['as a line of JSON', `${JSON.stringify({ error: tooLong })}\n\n`],
  ['as JSON in several lines', `${JSON.stringify({ error: tooLong }, null, 2)}\n\n`],
]

const WIRE_NAMES: readonly WireName[] = ['openai-chat', 'openai-responses', 'anthropic']

export const errorQuirks: readonly Quirk[] = [
  {
    id: 'T6',
    wire: 'openai-chat',
    title: 'the stream ends without a finish reason',
    source: truncated,
    events: hello,
    expected: { error: { code: 'stream_truncated', retryable: true }, text: 'Hello' },
  },
  {
    id: 'T6',
    wire: 'openai-chat',
    title: 'the protocol ends without a finish reason, a call is open',
    source: truncated,
    events: [...hello, pieces({ i: 0, id: 'call_a', n: 'f', a: '{"x":1}' }), DONE],
    expected: {
      error: { code: 'stream_truncated', retryable: true },
      text: 'Hello',
      calls: [{ id: 'call_a', name: 'f', input: { x: 1 } }],
    },
  },
  {
    id: 'T6',
    wire: 'openai-responses',
    title: 'the stream ends without response.completed, a call is open',
    source: truncated,
    events: [created, ...message('Hel', 'lo'), ...openCall()],
    expected: {
      error: { code: 'stream_truncated', retryable: true },
      text: 'Hello',
      calls: [{ id: 'call_a', name: 'f', invalid: true }],
    },
  },
  {
    id: 'T8',
    wire: 'openai-chat',
    title: 'an error in a choice, and the protocol ends',
    source: openrouter,
    events: [...hello, failed(502, 'Upstream went away', true), DONE],
    expected: { error: { code: '502', status: 502, retryable: true }, text: 'Hello' },
  },
  {
    id: 'T8',
    wire: 'openai-chat',
    title: 'an error in a choice, and the stream ends',
    source: openrouter,
    events: [...hello, failed(502, 'Upstream went away', true)],
    expected: { error: { code: '502', status: 502, retryable: true }, text: 'Hello' },
  },
  {
    id: 'T8',
    wire: 'openai-chat',
    title: 'an error without choices',
    source: openrouter,
    events: [...hello, failed(503, 'No capacity', false), DONE],
    expected: { error: { code: '503', status: 503, retryable: true }, text: 'Hello' },
  },
  {
    id: 'T8',
    wire: 'openai-chat',
    title: 'an error that a retry cannot fix',
    source: openrouter,
    events: [...hello, failed(400, 'Invalid tool schema', true), DONE],
    expected: { error: { code: '400', status: 400, retryable: false }, text: 'Hello' },
  },
  {
    id: 'T9',
    wire: 'anthropic',
    title: 'an error event with the type overloaded comes, and the stream ends',
    source: overloaded,
    events: [
      claude.start,
      ...claude.text(0, 'Hel', 'lo'),
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
    ],
    expected: { error: { code: 'overloaded_error', status: 529, retryable: true }, text: 'Hello' },
  },
  {
    id: 'T10',
    wire: 'openai-chat',
    title: 'the code of the error is a word',
    source: 'litellm#40566, groq-typescript#28 (Groq)',
    events: [
      {
        error: {
          message: 'Failed to call a function. Please adjust your prompt.',
          type: 'invalid_request_error',
          code: 'tool_use_failed',
          failed_generation: '<function=f>{"x":1</function>',
        },
      },
      DONE,
    ],
    expected: { error: { code: 'tool_use_failed', status: 400, retryable: false } },
  },
  {
    id: 'T11',
    wire: 'openai-chat',
    title: 'the error is only a sentence',
    source: "Ollama's documentation of errors; nativ#195, huggingface_hub#2558",
    events: [...hello, { error: 'an error was encountered while running the model' }],
    expected: { error: { code: 'unknown', retryable: false }, text: 'Hello' },
  },
  {
    id: 'T12',
    wire: 'openai-chat',
    title: 'the error comes as in a response that is not streamed: it is the whole body, under status 200',
    source: 'llm_wiki#628, Codewhale#1717',
    events: ['{\n  "error": { "message": "No credit", "code": "insufficient_quota" }\n}\n'],
    expected: { error: { code: 'insufficient_quota', status: 429, retryable: false } },
  },
  ...WIRE_NAMES.flatMap(withoutMember),
  ...WIRE_NAMES.flatMap(besides),
  ...WIRE_NAMES.flatMap(outside),
  {
    id: 'T20',
    wire: 'openai-chat',
    title: 'an error without the member error comes after a whole call, and the protocol ends',
    source: bare,
    events: [...hello, pieces({ i: 0, id: 'call_a', n: 'f', a: '{"x":1}' }), tooLong, DONE],
    expected: {
      error: { code: '400', status: 400, retryable: false },
      text: 'Hello',
      calls: [{ id: 'call_a', name: 'f', input: { x: 1 } }],
    },
  },
  {
    id: 'T20',
    wire: 'openai-chat',
    title: 'an error inside of a detail (FastAPI) comes after a whole call and its finish reason',
    source: bare,
    events: [
      ...hello,
      pieces({ i: 0, id: 'call_a', n: 'f', a: '{"x":1}' }),
      chunk({}, 'tool_calls'),
      { detail: { reason: 'Budget has been exceeded' } },
      DONE,
    ],
    expected: { error: { retryable: false }, text: 'Hello', calls: [{ id: 'call_a', name: 'f', input: { x: 1 } }] },
  },
  {
    id: 'T21',
    wire: 'openai-responses',
    title: 'the host responds with Chat Completions',
    source: 'as C56',
    events: [...hello, ...end('stop')].map((event) =>
      typeof event === 'string' ? event : `data: ${JSON.stringify(event)}\n\n`,
    ),
    expected: { error: { code: 'wrong_api', retryable: false } },
  },
  {
    id: 'G4',
    wire: 'openai-chat',
    title: 'the finish reason is a malformed function call, and there is no content',
    source: malformed,
    events: [begin, ...end('function_call_filter: MALFORMED_FUNCTION_CALL')],
    expected: { error: { retryable: true } },
  },
]

/** Each form, in the stream and as the whole body. */
function withoutMember(wire: WireName): readonly Quirk[] {
  return BARE.flatMap(([form, error, expected]) => [
    {
      id: 'T20',
      wire,
      title: `an error without the member error comes in the stream, ${form}`,
      source: bare,
      events: [`data: ${JSON.stringify(error)}\n\n`],
      expected: { error: expected },
    },
    {
      id: 'T20',
      wire,
      title: `an error without the member error is the whole body under status 200, ${form}`,
      source: bare,
      events: [`${JSON.stringify(error, null, 2)}\n`],
      expected: { error: expected },
    },
  ])
}

function besides(wire: WireName): readonly Quirk[] {
  return [
    ...BESIDE.map(
      ([place, error, expected]): Quirk => ({
        id: 'T23',
        wire,
        title: `the status of an error is ${place}`,
        source: bare,
        events: [error],
        expected: { error: expected },
      }),
    ),
    {
      id: 'T24',
      wire,
      title: 'the name of an event is that of an exception (AWS)',
      source: "the documentation of Bedrock's streams",
      events: ['event: throttlingException\ndata: {"message":"Too many tokens"}\n\n'],
      expected: { error: { code: 'throttlingException', status: 429, retryable: true } },
    },
  ]
}

/** Each form, with the end of the protocol after it: it must not become a response without content. */
function outside(wire: WireName): readonly Quirk[] {
  return OUTSIDE.map(([form, body]) => ({
    id: 'T22',
    wire,
    title: `an error comes ${form}`,
    source: 'as T12, the server of llama.cpp',
    events: [body, DONE],
    expected: { error: { code: '400', status: 400, retryable: false } },
  }))
}

function openCall(): readonly object[] {
  const { added, delta } = call(1, 'call_a', 'f', 'fc_1')
  return [added, delta('{"x":')]
}

/** In OpenRouter's format. */
function failed(code: number, message: string, inChoice: boolean): object {
  const choices = inChoice ? [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: 'error' }] : []
  return envelope({ error: { code, message }, choices })
}
