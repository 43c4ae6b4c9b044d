import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { type AssistantMessage, callsOf } from '@meanwhile/core'
import { byTurns } from '@meanwhile/tests/size'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Called, FieldWire } from './field-agent.ts'
import { type Body, type Cut, type FieldServer, fieldServer, type Played } from './field-server.ts'

// Streams of public reports, as real servers send them. Each must have the outcome that was decided before it was read.

interface Stream {
  readonly id: string
  readonly wire: FieldWire
  readonly what: string
  readonly bodies: readonly Body[]
  readonly right: Right
}

/** The outcome that a stream must have; absent members are not compared. */
interface Right {
  /** Each of these is right. */
  readonly either?: readonly Right[]
  /** All calls of the assistant's messages. */
  readonly calls?: readonly (Partial<Called> & { readonly name: string; readonly notRun?: boolean })[]
  readonly text?: string
  readonly reasoning?: string
  readonly finishReason?: string
  readonly usage?: object
  readonly error?: true | ({ readonly says?: string; readonly not?: object } & object)
  /** Executions that eager tools may add. */
  readonly wasted?: readonly Called[]
  readonly requests?: number
  /** The request after these responses. */
  readonly next?: { readonly contains?: readonly string[]; readonly lacks?: readonly string[] }
}

const streams: readonly Stream[] = JSON.parse(
  readFileSync(new URL('../test-data/streams.json', import.meta.url), 'utf8'),
)

const CUTS: readonly Cut[] = ['whole', 'event', 'byte', { seed: 7 }, { seed: 8 }]

let server: FieldServer

beforeAll(async () => {
  server = await fieldServer()
})

afterAll(() => server.close())

const cases = streams.flatMap((stream) =>
  [true, false].flatMap((eager) => (['client', 'ai-sdk'] as const).map((door) => ({ ...stream, eager, door }))),
)

/** In small runs each case has two of the cuts, by turns, so that the four cases of a stream have all of them. */
const cutCases = cases.map((one, at) => ({ ...one, cuts: byTurns(CUTS, { small: 1, middle: 2, whole: 5 }, at) }))

test.each(cutCases)(
  '$id: $what, eager $eager, by $door (P3, P18)',
  async ({ wire, bodies, right, eager, door, cuts }) => {
    // OpenAI's package of the AI SDK sends no data of other hosts back.
    const isForgetful = door === 'ai-sdk' && wire === 'chat'
    for (const cut of cuts) {
      const played = await server.play(wire, bodies, cut, eager, door)
      const ways = (right.either ?? [right]).map((way) => (isForgetful ? withoutSent(way) : way))
      const faults = ways.map((way) => faultsOf(way, played, bodies.length, eager))
      expect({ cut, faults: faults.some(({ length }) => length === 0) ? [] : faults }).toEqual({ cut, faults: [] })
    }
  },
)

/** The same outcome, for a package that sends back less. */
function withoutSent({ next, ...rest }: Right): Right {
  return next?.lacks ? { ...rest, next: { lacks: next.lacks } } : rest
}

/** What is wrong, in words. */
function faultsOf(right: Right, played: Played, responses: number, eager: boolean): readonly string[] {
  const { error, requests } = played
  const next = requests[responses] ?? ''
  return [
    ...errorFaults(right.error, error),
    ...messageFaults(right, played),
    ...callFaults(right, played),
    ...executionFaults(right, played, eager),
    ...(right.requests === undefined || right.requests === requests.length ? [] : [`${requests.length} requests`]),
    ...(right.next?.contains ?? []).filter((text) => !next.includes(text)).map((text) => `no ${text} in ${next}`),
    ...(right.next?.lacks ?? []).filter((text) => next.includes(text)).map((text) => `${text} in ${next}`),
  ]
}

function errorFaults(right: Right['error'], error: unknown): readonly string[] {
  const said = error instanceof Error ? error.message : ''
  if (!right) return error === undefined ? [] : [`the error: ${said}`]
  if (error === undefined) return ['no error']
  if (right === true) return []
  const { says = '', not = {}, ...members } = right
  return [
    ...(said.includes(says) ? [] : [`the error: ${said}`]),
    ...Object.entries(members).flatMap(([name, value]) => (has(error, name, value) ? [] : [`another ${name}`])),
    ...Object.entries(not).flatMap(([name, value]) => (has(error, name, value) ? [`the wrong ${name}`] : [])),
  ]
}

function has(error: unknown, name: string, value: unknown): boolean {
  return typeof error === 'object' && error !== null && Reflect.get(error, name) === value
}

function messageFaults(right: Right, { messages }: Played): readonly string[] {
  const first = messages.find((message) => message.role === 'assistant')
  const joined = (type: 'text' | 'reasoning') =>
    (first?.content ?? []).map((part) => (part.type === type ? part.text : '')).join('')
  const usage = right.usage && { ...first?.usage, ...right.usage }
  return [
    ...(right.text === undefined || right.text === joined('text') ? [] : [`text: ${joined('text')}`]),
    ...(right.reasoning === undefined || right.reasoning === joined('reasoning') ? [] : [joined('reasoning')]),
    ...(right.finishReason === undefined || right.finishReason === first?.finishReason
      ? []
      : [`${first?.finishReason}`]),
    ...(!usage || isDeepStrictEqual(usage, { ...first?.usage }) ? [] : [JSON.stringify(first?.usage)]),
  ]
}

function callFaults({ calls, error }: Right, { messages }: Played): readonly string[] {
  const made = messages
    .filter((message) => message.role === 'assistant')
    .flatMap((message: AssistantMessage) => callsOf(message))
  if (error) return []
  const expected = calls ?? []
  const isSame = expected.length === made.length && expected.every((call, i) => fits(call, made[i]))
  const refused = expected.flatMap(({ notRun }, i) => (notRun ? [made[i]?.id] : []))
  const results = messages.filter((message) => message.role === 'tool')
  const unanswered = refused.filter((id) => {
    const own = results.filter(({ callId }) => callId === id)
    return own.length !== 1 || !own[0]?.isError
  })
  return [...(isSame ? [] : [`calls: ${JSON.stringify(made)}`]), ...unanswered.map((id) => `no error result for ${id}`)]
}

function fits(expected: Partial<Called>, call: Called | undefined): boolean {
  return call?.name === expected.name && (!('input' in expected) || isDeepStrictEqual(call?.input, expected.input))
}

/** Each call runs once, with its input. */
function executionFaults({ calls = [], wasted = [], error }: Right, { executions }: Played, eager: boolean): string[] {
  const left = [...executions]
  const missing = (error ? [] : calls).filter(({ notRun }) => !notRun).filter((call) => !took(left, call))
  for (const waste of eager ? wasted : []) took(left, waste)
  return [
    ...missing.map(({ name }) => `${name} did not run`),
    ...left.map(({ name, input }) => `${name} ran with ${JSON.stringify(input)}`),
  ]
}

function took(executions: Called[], call: Partial<Called>): boolean {
  const at = executions.findIndex((execution) => fits(call, execution))
  if (at >= 0) executions.splice(at, 1)
  return at >= 0
}
