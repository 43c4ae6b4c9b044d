/** How hosts write the answer of a model: the ids of calls, reasoning, and what a call carries. */

import type { WireName } from '../wires/wire-name.ts'
import type { Host } from './hosts.ts'

/** What differs between the answers of hosts on Chat. */
interface Shape {
  /** The delta with a piece of reasoning. */
  readonly reasoning: (text: string) => object
  /** What the first call of an answer carries. */
  readonly call?: object
  /** The id of a call: of the request with this number, counted in the answer from 1. */
  readonly id?: (call: NumberedCall) => string
}

interface NumberedCall {
  readonly request: number
  readonly place: number
  readonly name: string
}

const DEFAULT: Shape = { reasoning: (text) => ({ reasoning_content: text }) }
const REASONING: Shape = { reasoning: (text) => ({ reasoning: text }) }

function digits(value: number, count: number): string {
  return String(value).padStart(count, '0').slice(-count)
}

/** One number for each call of a mock, with room for a thousand calls in an answer. */
function counted({ request, place }: NumberedCall): number {
  return (request - 1) * 1_000 + place - 1
}

/** Nine letters and digits. */
function mistralId({ request, place }: NumberedCall): string {
  return `m${digits(request, 5)}${digits(place, 3)}`
}

const SHAPES: Partial<Record<Host, Shape>> = {
  mistral: {
    reasoning: (text) => ({ content: [{ type: 'thinking', thinking: [{ type: 'text', text }] }] }),
    id: mistralId,
  },
  moonshot: { ...DEFAULT, id: (call) => `functions.${call.name}:${counted(call)}` },
  deepseek: { ...DEFAULT, id: ({ request, place }) => `call_00_${request}_${place}` },
  groq: { ...REASONING, id: ({ request, place }) => `fc_${request}_${place}` },
  cerebras: REASONING,
  gemini: {
    ...DEFAULT,
    call: { extra_content: { google: { thought_signature: 'c2lnbmF0dXJl' } } },
    id: (call) => `function-call-${counted(call)}`,
  },
  vllm: { ...REASONING, id: ({ request, place }) => `chatcmpl-tool-${request}-${place}` },
  'vllm-mistral': { ...REASONING, id: mistralId },
}

/** The id that a host gives a call of its answer. */
export function callIdOf(host: Host, wire: WireName, call: NumberedCall): string {
  const own = wire === 'openai-chat' ? shapeOf(host).id : undefined
  return own ? own(call) : `call_${call.request}_${call.place}`
}

/** The shape of a host's answers on Chat. */
export function shapeOf(host: Host): Shape {
  return SHAPES[host] ?? DEFAULT
}
