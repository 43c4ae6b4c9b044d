import { ModelError } from '@meanwhile/core'
import { mockModels, rawResponse, type WireName } from '@meanwhile/harness'
import { expect, test } from 'vitest'
import { handMade } from '../test/ai-sdk.ts'
import { ask, failureOf } from '../test/ask.ts'
import { realModels } from '../test/real-models.ts'
import { chat, claude, wires } from '../test/wires.ts'
import { aiSdk } from './ai-sdk.ts'

const KIB = 1024

const said = (message: string) => ({ type: 'invalid_request_error', message })
const long = said(`No: ${'é'.repeat(2_000)}`)
const huge = said(`No: ${'é'.repeat(200 * KIB)}`)

async function errorOf(asked: Promise<unknown>): Promise<ModelError> {
  const error = await failureOf(asked)
  if (!(error instanceof ModelError)) throw new Error('it did not fail')
  return error
}

/** An endpoint that responds with this status and body. */
function answering(status: number, body: string): typeof globalThis.fetch {
  const headers = { 'content-type': body.startsWith('{') ? 'application/json' : 'text/html' }
  return async () => new Response(body, { status, headers })
}

function bytesOf(text: unknown): number {
  return new TextEncoder().encode(typeof text === 'string' ? text : JSON.stringify(text)).length
}

function expectBounded({ message, data }: ModelError, beginning: string): void {
  expect(message.length).toBeLessThanOrEqual(500)
  expect(message.startsWith(beginning)).toBe(true)
  expect(bytesOf(data)).toBeLessThanOrEqual(64 * KIB)
}

const models = [
  ...wires.map((wire) => ({ name: wire.name, wire: wire.name, model: wire.model })),
  ...realModels.map(({ title, wire, model }) => ({
    name: `AI SDK, ${title}`,
    wire,
    model: (fetch: typeof globalThis.fetch) => aiSdk(model(fetch)),
  })),
]

/** The body of a response with this error. */
function bodyOf(wire: WireName, error: object): object {
  return wire === 'anthropic' ? { type: 'error', error } : { error }
}

test.each(models)(
  '$name: for an HTTP error the message is short and the body complete (P12)',
  async ({ wire, model }) => {
    const body = bodyOf(wire, long)
    const error = await errorOf(ask(model(answering(400, JSON.stringify(body)))))
    expectBounded(error, 'No: ééé')
    // OpenAI's client exposes the `error` member of the body.
    expect([body, long]).toContainEqual(error.data)
  },
)

test.each(models)('$name: of a body of more than 64 KiB the beginning is kept (P12)', async ({ wire, model }) => {
  const error = await errorOf(ask(model(answering(400, JSON.stringify(bodyOf(wire, huge))))))
  expectBounded(error, 'No: ééé')
  expect(error.data).toMatch(/^\{.*No: é+$/)
  expect(bytesOf(error.data)).toBeGreaterThan(64 * KIB - 4)
})

test.each(models)('$name: an HTML page is also data, and not the message (P12)', async ({ model }) => {
  const page = `<html>${'<p>Bad gateway'.repeat(1_000)}`
  const error = await errorOf(ask(model(answering(502, page))))
  expectBounded(error, '')
  expect(error).toMatchObject({ status: 502, data: page })
})

/** The event of such an error; for Responses also in its older form. */
function eventOf(wire: WireName, error: object): object {
  const coded = { ...error, code: 'c', param: null }
  return wire === 'openai-responses'
    ? { ...coded, type: 'error', sequence_number: 0, error: coded }
    : bodyOf(wire, error)
}

test.each(models)(
  '$name: for an error inside the stream the message is short and its text complete (P12)',
  async (of) => {
    for (const error of [long, huge]) {
      const raw = rawResponse([{ event: eventOf(of.wire, error) }], { wire: of.wire })
      const failure = await errorOf(ask(of.model(mockModels({ script: [raw] }).fetch)))
      expectBounded(failure, 'No: ééé')
      expect(JSON.stringify(failure.data)).toContain(`No: ${'é'.repeat(2_000)}`)
    }
  },
)

test.each(models)('$name: of a very long code the beginning is kept (P12)', async ({ wire, model }) => {
  const error = { type: 't'.repeat(101), code: 'c'.repeat(5_600), message: 'No.' }
  const body = JSON.stringify(bodyOf(wire, error))
  const { code, message, data } = await errorOf(ask(model(answering(418, body))))
  expect(code).toMatch(/^(c{100}|t{100})$/)
  expect(message).toBe('No.')
  expect(JSON.stringify(data)).toContain('c'.repeat(5_600))
})

test('an error without a body has no data (P12)', async () => {
  const fetch = async () => new Response(null, { status: 503 })
  expect((await errorOf(ask(claude.model(fetch)))).data).toBeUndefined()
  const refused = () => Promise.reject(new TypeError('fetch failed'))
  expect((await errorOf(ask(chat.model(refused)))).data).toBeUndefined()
})

test('a body that is not a stream, and an unreadable event, are data (P12, qT12)', async () => {
  const page = `<html>${'x'.repeat(1_000)}`
  expect(await errorOf(ask(chat.model(answering(200, page))))).toMatchObject({ code: 'invalid_chunk', data: page })
  const event = 'data: what?\n\n'
  expect(await errorOf(ask(chat.model(async () => new Response(`${event}data: [DONE]\n\n`))))).toMatchObject({
    code: 'invalid_chunk',
    data: 'what?',
  })
})

test('no event and no log contains the data of an error, which may repeat the request (P12, B2)', async () => {
  const error = await errorOf(ask(chat.model(answering(400, JSON.stringify({ error: long })))))
  expect(Object.keys(error)).not.toContain('data')
  expect(JSON.parse(JSON.stringify(error))).toMatchObject({ code: 'invalid_request_error', message: error.message })
})

test('an error part of any form is limited, whatever its JSON is (P12)', async () => {
  const round: { self?: unknown } = {}
  round.self = round
  const forms: [unknown, unknown][] = [
    [
      { message: 'm'.repeat(9_000), code: 'x' },
      { message: 'm'.repeat(9_000), code: 'x' },
    ],
    ['w'.repeat(9_000), 'w'.repeat(9_000)],
    [round, undefined],
    [{ n: 1n }, undefined],
  ]
  for (const [error, data] of forms) {
    const failure = await errorOf(ask(aiSdk(handMade('v4', [{ type: 'error', error }]).model)))
    expectBounded(failure, '')
    expect(failure.data).toEqual(data)
  }
})
