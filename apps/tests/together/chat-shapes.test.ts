import { respond, say } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { mockModels, rawResponse } from '@meanwhile/harness'
import { openai } from '@meanwhile/models/openai'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { expectRefusal } from './expect-refusal.ts'

// Calls that are known, written to a Chat Completions stream as different hosts write them.

interface Call {
  readonly name: string
  readonly input: object
  readonly cuts: readonly number[]
}

/** A piece of a call before it is placed. */
interface Piece {
  readonly call: number
  readonly isHeader: boolean
  readonly text: string
}

interface Manner {
  /** How pieces get their index. */
  readonly index: 'own' | 'next' | 'after' | 'same' | 'none'
  /** Which pieces have the id of their call, and its form. */
  readonly ids: 'first' | 'all'
  readonly id: 'text' | 'number' | 'null'
  /** What comes twice. */
  readonly twice: 'nothing' | 'header' | 'call'
  readonly form: 'delta' | 'message' | 'object'
  /** Whether all headers come before all arguments. */
  readonly headersFirst: boolean
  /** Whether the header of the last call is lost. */
  readonly lost: boolean
  readonly reason: string
  readonly comments: boolean
  readonly nulls: boolean
}

const NAMES = ['look', 'look_up', 'send', 'log']

const someCall: fc.Arbitrary<Call> = fc.record({
  name: fc.constantFrom(...NAMES),
  input: fc.dictionary(fc.constantFrom('to', 'at'), fc.string({ maxLength: 8 }), { maxKeys: 2 }),
  cuts: fc.array(fc.nat(), { maxLength: 3 }),
})

const someManner: fc.Arbitrary<Manner> = fc
  .record({
    index: fc.constantFrom('own', 'next', 'after', 'same', 'none'),
    ids: fc.constantFrom('first', 'all'),
    id: fc.constantFrom('text', 'text', 'number', 'null'),
    twice: fc.constantFrom('nothing', 'header', 'call'),
    form: fc.constantFrom('delta', 'delta', 'delta', 'message', 'object'),
    headersFirst: fc.boolean(),
    lost: fc.nat(9).map((n) => n === 0),
    reason: fc.constantFrom('tool_calls', 'stop', 'STOP', 'TOOL_CALLS', 'tool-calls', 'function_call'),
    comments: fc.boolean(),
    nulls: fc.boolean(),
  })
  .map(known)

/** Without what no reader could know. */
function known(manner: Manner): Manner {
  const isPlaced = manner.index === 'own' || manner.index === 'next' || (manner.ids === 'all' && manner.id !== 'null')
  return {
    ...manner,
    // Without an id, what comes twice is two calls.
    twice: manner.id === 'null' ? 'nothing' : manner.twice,
    // All arguments would be those of the last call, or have the index of another one.
    headersFirst: manner.headersFirst && isPlaced && manner.index !== 'after',
    // The arguments of the lost call would be those of the call before it.
    lost: manner.lost && manner.index !== 'same' && manner.index !== 'none',
  }
}

function piecesOf(calls: readonly Call[], { form, twice, headersFirst, lost }: Manner): Piece[] {
  const all = calls.flatMap(({ input, cuts }, call) => {
    const text = JSON.stringify(input)
    const whole = form !== 'delta'
    const places = whole ? [] : [...new Set(cuts.map((cut) => cut % text.length))].filter(Boolean).sort((a, b) => a - b)
    const parts = [0, ...places].map((from, i) => text.slice(from, places[i]))
    const header = { call, isHeader: true, text: whole ? text : '' }
    const body = whole ? [] : parts.map((part) => ({ call, isHeader: false, text: part }))
    const again =
      twice === 'call' ? [{ call, isHeader: true, text }] : twice === 'header' ? [{ ...header, text: '' }] : []
    return twice === 'header' ? [header, ...again, ...body] : [header, ...body, ...again]
  })
  const sent = lost ? all.filter(({ call, isHeader }) => !(isHeader && call === calls.length - 1)) : all
  return headersFirst ? sent.toSorted((a, b) => Number(b.isHeader) - Number(a.isHeader)) : sent
}

function framesOf(calls: readonly Call[], manner: Manner): string[] {
  const { form, nulls } = manner
  const begun = new Map<number, number>()
  const written = piecesOf(calls, manner).map(({ call, isHeader, text }, at) => {
    const time = (begun.get(call) ?? 0) + (isHeader ? 1 : 0)
    begun.set(call, time)
    const index = indexOf(manner, { call, isHeader, at, time, count: calls.length })
    return {
      ...(index !== undefined && { index }),
      ...((isHeader || manner.ids === 'all') && { id: idOf(manner, call) }),
      function: {
        ...(isHeader && { name: calls[call]?.name }),
        arguments: form === 'object' && text !== '' ? JSON.parse(text) : text,
      },
    }
  })
  const inChunk = (list: unknown[]) => (nulls ? [null, ...list] : list)
  const choices =
    form === 'message'
      ? [{ index: 0, message: { role: 'assistant', content: null, tool_calls: inChunk(written) } }]
      : written.map((piece) => ({ index: 0, delta: { tool_calls: inChunk([piece]) } }))
  const last = { index: 0, delta: {}, finish_reason: manner.reason }
  return [...choices, last].map((choice) => `data: ${JSON.stringify({ id: 'chatcmpl-1', choices: [choice] })}\n\n`)
}

interface Place {
  readonly call: number
  readonly isHeader: boolean
  readonly at: number
  readonly time: number
  readonly count: number
}

function indexOf({ index }: Manner, { call, isHeader, at, time, count }: Place): number | undefined {
  if (index === 'none') return undefined
  if (index === 'same') return 0
  if (index === 'next') return at
  // A header that comes again has another index.
  const own = time > 1 ? count + call : call
  return index === 'after' && !isHeader ? own + 1 : own
}

function idOf({ id }: Manner, call: number): string | number {
  return id === 'null' ? 'null' : id === 'number' ? call + 1 : `call_${call}`
}

const anything = z.looseObject({})

async function executed(
  bytes: string,
  isEager: boolean,
  random: number,
): Promise<{ readonly ran: readonly string[]; readonly error: unknown }> {
  const ran: string[] = []
  const tools = NAMES.map((name) =>
    tool({
      name,
      description: name,
      input: anything,
      ...(name.startsWith('look') && { effect: 'read' as const }),
      execute: (input) => void ran.push(`${name} ${JSON.stringify(input)}`),
    }),
  )
  const { fetch } = mockModels({
    script: [
      { ...rawResponse([{ bytes }], { wire: 'openai-chat' }), slice: { random, most: 60 } },
      respond(say('Done.')),
    ],
  })
  const client = new OpenAI({ apiKey: 'none', fetch, maxRetries: 0 })
  const model = openai({ client, model: 'm', api: 'chat' })
  const error = await createAgent({ model, tools, middleware: isEager ? [eagerTools()] : [] })
    .run('Go')
    .then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
  return { ran: ran.toSorted(), error }
}

test('however hosts write calls, only these calls run, each once and with its input, and most of them do (P2, P3, qC50, qC51, qC52, qC53, qC61)', async () => {
  let responses = 0
  let whole = 0
  const cases = fc.record({
    calls: fc.array(someCall, { minLength: 1, maxLength: 3 }),
    manner: someManner,
    isEager: fc.boolean(),
    random: fc.nat(),
  })
  await fc.assert(
    fc.asyncProperty(cases, async ({ calls, manner, isEager, random }) => {
      const frames = framesOf(calls, manner)
      const bytes = frames.flatMap((frame) => (manner.comments ? ['data: : keepalive\n\n', frame] : [frame])).join('')
      const meant = calls.map(({ name, input }) => `${name} ${JSON.stringify(input)}`).toSorted()
      const { ran, error } = await executed(`${bytes}data: [DONE]\n\n`, isEager, random)
      expectRefusal(error)
      const left = [...meant]
      for (const one of ran) {
        expect(left).toContain(one)
        left.splice(left.indexOf(one), 1)
      }
      if (!manner.lost) responses += 1
      if (!manner.lost && left.length === 0) whole += 1
    }),
    propertyRuns({ small: 8, middle: 12, whole: 20_000 }),
  )
  expect(whole / responses).toBeGreaterThan(0.6)
})
