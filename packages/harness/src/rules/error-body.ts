/** How a host writes that it refuses a request. */

import type { WireName } from '../wires/wire-name.ts'
import type { Host } from './hosts.ts'
import type { Refusal } from './refusals.ts'

type Write = (refusal: Refusal) => object

const INVALID = 'invalid_request_error'

const openai: Write = ({ message, path }) => ({ error: { message, type: INVALID, param: path || null, code: null } })
const bare: Write = ({ message }) => ({ error: { message, type: INVALID } })
const numbered: Write = ({ message, status }) => ({ error: { code: status, message, type: INVALID } })

const BODIES: Partial<Record<Host, Write>> = {
  mistral: ({ message, status }) =>
    status === 422
      ? { object: 'error', message: { detail: [{ type: 'extra_forbidden', msg: message }] }, type: INVALID, code: null }
      : { object: 'error', message, type: INVALID, param: null, code: null },
  moonshot: bare,
  groq: bare,
  deepseek: ({ message }) => ({ error: { message, type: INVALID, param: null, code: INVALID } }),
  cerebras: ({ message, path }) => ({ message, type: INVALID, param: path || null, code: null }),
  gemini: ({ message, status }) => [{ error: { code: status, message, status: 'INVALID_ARGUMENT' } }],
  xai: ({ message }) => ({ code: 'Client specified an invalid argument', error: message }),
  vllm: ({ message, status }) => ({ error: { message, type: 'BadRequestError', param: null, code: status } }),
  llamacpp: numbered,
}

/** The body of the refusal, as this host writes it. */
export function refusalBody(wire: WireName, host: Host, refusal: Refusal): object {
  if (wire !== 'anthropic') return (BODIES[host] ?? openai)(refusal)
  const type = ERROR_TYPES.get(refusal.status) ?? INVALID
  return { type: 'error', error: { type, message: refusal.message }, request_id: 'req_refused' }
}

const ERROR_TYPES: ReadonlyMap<number, string> = new Map([
  [404, 'not_found_error'],
  [413, 'request_too_large'],
])
