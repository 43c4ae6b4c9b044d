/** A response that breaks off after each of its events, and the response to the repeated request. */

import { call, fail, respond, type ScriptResponse, say } from '@meanwhile/assemble/testing'
import { type Fault, mockModels } from '@meanwhile/harness'
import { WIRE_NAMES, type WireName } from '@meanwhile/harness/server'
import type { LoopTool } from './loop.ts'

/** Whether the response to the repeated request says the same as the one that broke off. */
export const NEXTS = ['same', 'other'] as const
export type Next = (typeof NEXTS)[number]

/** The connection is reset, the body ends as HTTP requires, or the provider reports an error. */
export const ENDS = ['reset', 'complete', 'reported'] as const

export interface Cut {
  readonly wire: WireName
  readonly next: Next
  readonly end: (typeof ENDS)[number]
  /** How many events are sent; before a reported error how many texts and calls. */
  readonly after: number
}

export interface Call {
  readonly tool: LoopTool
  readonly input: object
}

/** What a tool returns: a request with this is not a repeated one. */
export const RESULT = 'It is done.'
export const ANSWER = 'Done.'

const LOOK: Call = { tool: 'look', input: { q: 'Oslo' } }
const LOOK_AGAIN: Call = { tool: 'look', input: { q: 'Rome' } }

interface Said {
  readonly before: string
  readonly calls: readonly Call[]
  readonly after: string
}

const FIRST: Said = {
  before: 'Let me look at both.',
  calls: [LOOK, LOOK_AGAIN, { tool: 'send', input: { to: 'Ada' } }],
  after: ' One moment.',
}

const OTHER: Said = {
  before: 'Let me ask instead.',
  calls: [LOOK_AGAIN, { tool: 'send', input: { to: 'Bob' } }],
  after: ' Soon.',
}

/** The response to the repeated request. */
export function nextOf(next: Next): Said {
  return next === 'same' ? FIRST : OTHER
}

/** How many texts and calls it has. */
const PARTS = 2 + FIRST.calls.length

/** The text of the response that breaks off. */
export const BROKEN_TEXT = FIRST.before + FIRST.after
export const BROKEN_CALLS = FIRST.calls

export interface Endpoint {
  readonly fetch: typeof globalThis.fetch
  /** How many requests for the first response there were. */
  asked(): number
}

/** Without a cut, the first request gets the response that is otherwise that to the repeated one. */
export function endpointOf(next: Next, cut?: Cut): Endpoint {
  let asked = 0
  const mock = mockModels({
    rules: 'report',
    script: ({ body }) => {
      if (JSON.stringify(body).includes(RESULT)) return respond(say(ANSWER))
      asked++
      if (!cut || asked > 1) return responseOf(nextOf(next), 'b')
      return brokenOff(cut)
    },
  })
  return { fetch: mock.fetch, asked: () => asked }
}

/** All of them, on these wires. After the last one nothing of the response is missing but its end. */
export async function cutsOf(wires: readonly WireName[] = WIRE_NAMES, step = 1): Promise<readonly Cut[]> {
  const lengths = await Promise.all(wires.map(async (wire) => [wire, await lengthOf(wire)] as const))
  return lengths.flatMap(([wire, length]) =>
    NEXTS.flatMap((next) =>
      ENDS.flatMap((end) => placesOf(end, length, step).map((after) => ({ wire, next, end, after }))),
    ),
  )
}

/** An error before all of a response is one of its HTTP status. */
function placesOf(end: Cut['end'], length: number, step: number): readonly number[] {
  if (end === 'reported') return Array.from({ length: PARTS }, (_, at) => at + 1)
  return Array.from({ length: Math.ceil((length + 1) / step) }, (_, at) => at * step)
}

/** How many events come before those that end the response: a finish reason, and what follows it. */
async function lengthOf(wire: WireName): Promise<number> {
  const { path, body, last } = REQUESTS[wire]
  const mock = mockModels({ rules: 'report', script: [responseOf(FIRST, 'a')] })
  const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const events = (await (await mock.fetch(`http://model.test${path}`, request)).text()).split('\n\n')
  return events.findIndex((event) => event.includes(last))
}

const REQUESTS: Readonly<Record<WireName, { readonly path: string; readonly body: object; readonly last: string }>> = {
  'openai-chat': {
    path: '/v1/chat/completions',
    body: { model: 'm', stream: true, messages: [] },
    last: '"finish_reason":"tool_calls"',
  },
  'openai-responses': {
    path: '/v1/responses',
    body: { model: 'm', stream: true, input: 'go' },
    last: '"type":"response.completed"',
  },
  anthropic: {
    path: '/v1/messages',
    body: { model: 'm', stream: true, max_tokens: 100, messages: [] },
    last: '"type":"message_delta"',
  },
}

function brokenOff({ end, after }: Cut): ScriptResponse & { readonly fault?: Fault } {
  if (end !== 'reported') return { ...responseOf(FIRST, 'a'), fault: { after: { events: after }, end } }
  return respond(...partsOf(FIRST, 'a').slice(0, after), fail({ code: 'overloaded_error', message: 'overloaded' }))
}

function responseOf(said: Said, attempt: string): ScriptResponse {
  return respond(...partsOf(said, attempt))
}

function partsOf({ before, calls, after }: Said, attempt: string): ScriptResponse['steps'] {
  const made = calls.map(({ tool, input }, at) => call(tool, input, { id: `call_${attempt}${at}` }))
  return [say(before), ...made, say(after)]
}
