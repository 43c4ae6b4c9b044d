import { expect, test } from 'vitest'
import type { WireName } from '../wires/wire-name.ts'
import { refusalBody } from './error-body.ts'
import type { Host } from './hosts.ts'

const type = 'invalid_request_error'
const message = 'No.'
const path = 'messages[1]'

test.for<[host: Host, body: object]>([
  ['openai', { error: { message, type, param: path, code: null } }],
  ['azure', { error: { message, type, param: path, code: null } }],
  ['mistral', { object: 'error', message, type, param: null, code: null }],
  ['moonshot', { error: { message, type } }],
  ['groq', { error: { message, type } }],
  ['deepseek', { error: { message, type, param: null, code: type } }],
  ['cerebras', { message, type, param: path, code: null }],
  ['gemini', [{ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }]],
  ['xai', { code: 'Client specified an invalid argument', error: message }],
  ['vllm', { error: { message, type: 'BadRequestError', param: null, code: 400 } }],
  ['llamacpp', { error: { code: 400, message, type } }],
])('%s writes its refusals like this (W23)', ([host, body]) => {
  expect(refusalBody('openai-chat', host, refusal(400))).toEqual(body)
})

test.for<[what: string, body: object, wire: WireName, host: Host, status: number, path?: string]>([
  [
    'of the whole request',
    { error: { message, type, param: null, code: null } },
    'openai-responses',
    'openai',
    400,
    '',
  ],
  ['of the whole request at Cerebras', { message, type, param: null, code: null }, 'openai-chat', 'cerebras', 400, ''],
  [
    'of a member at Mistral',
    { object: 'error', message: { detail: [{ type: 'extra_forbidden', msg: message }] }, type, code: null },
    'openai-chat',
    'mistral',
    422,
  ],
  ['of a host of Messages', ofMessages(type), 'anthropic', 'bedrock', 400],
  ['of what is missing', ofMessages('not_found_error'), 'anthropic', 'anthropic', 404],
  ['of what is too large', ofMessages('request_too_large'), 'anthropic', 'anthropic', 413],
])('the refusal %s has its own form (W23)', ([, body, wire, host, status, at]) => {
  expect(refusalBody(wire, host, refusal(status, at))).toEqual(body)
})

function refusal(status: number, at: string = path) {
  return { rule: 'chat/role', path: at, message, source: 'a thread', status }
}

function ofMessages(kind: string): object {
  return { type: 'error', error: { type: kind, message }, request_id: 'req_refused' }
}
