import Anthropic from '@anthropic-ai/sdk'
import { ModelError } from '@meanwhile/core'
import { byTurns } from '@meanwhile/tests/size'
import OpenAI, { AzureOpenAI } from 'openai'
import { expect, test } from 'vitest'
import { ask, failureOf } from '../test/ask.ts'
import { realModels } from '../test/real-models.ts'
import { aiSdk } from './ai-sdk.ts'
import { anthropic } from './anthropic.ts'
import { openai } from './openai.ts'

type Fetch = typeof globalThis.fetch

const options = (fetch: Fetch) => ({ apiKey: 'none', fetch, maxRetries: 0, logLevel: 'off' }) as const
const azure = { endpoint: 'https://azure.test', apiVersion: '2026-01-01', deployment: 'd' }

const MODELS = [
  ['OpenAI Chat', (fetch: Fetch) => openai({ client: new OpenAI(options(fetch)), model: 'm', api: 'chat' })],
  ['OpenAI Responses', (fetch: Fetch) => openai({ client: new OpenAI(options(fetch)), model: 'm' })],
  ['Azure', (fetch: Fetch) => openai({ client: new AzureOpenAI({ ...options(fetch), ...azure }), model: 'm' })],
  ['Anthropic', (fetch: Fetch) => anthropic({ client: new Anthropic(options(fetch)), model: 'm' })],
] as const

function answering(status: number, body: string, headers: Record<string, string> = {}): Fetch {
  return async () => new Response(body, { status, headers: { 'content-type': 'application/json', ...headers } })
}

function nested(key: string): string {
  return `${`{"${key}":`.repeat(50_000)}1${'}'.repeat(50_000)}`
}

const STATUSES = [
  [500, true],
  [429, true],
  [400, false],
] as const

const LISTS = '['.repeat(50_000) + ']'.repeat(50_000)

test.each(MODELS)(
  '%s: an HTTP error whose body is nested 50,000 levels deep keeps its status (A19, P12)',
  async (_, model) => {
    const bodies = [nested('a'), nested('error'), nested('detail'), `{"error":${LISTS}}`, `{"detail":${LISTS}}`]
    for (const [at, body] of bodies.entries()) {
      for (const [status, retryable] of byTurns(STATUSES, { small: 1, middle: 1, whole: 3 }, at)) {
        const failure = await failureOf(ask(model(answering(status, body))))
        expect(failure).toBeInstanceOf(ModelError)
        expect(failure).toMatchObject({ status, retryable, message: expect.stringContaining('nested too deeply') })
      }
    }
  },
)

test.each(MODELS)('%s: such an error also keeps its words, its code and its wait (A19, J5)', async (_, model) => {
  const body = `{"error":{"message":"Slow down","code":"rate_limit_exceeded","details":${LISTS}}}`
  const failure = await failureOf(ask(model(answering(429, body, { 'retry-after': '2' }))))
  expect(failure).toMatchObject({
    status: 429,
    code: 'rate_limit_exceeded',
    message: 'Slow down',
    retryable: true,
    retryAfter: 2000,
  })
})

test.each(MODELS)('%s: an HTTP error without the member error keeps its words (qT20)', async (_, model) => {
  const of = (body: object) => failureOf(ask(model(answering(400, JSON.stringify(body)))))
  const bare = { object: 'error', message: 'Too long', type: 'BadRequestError', code: 400 }
  expect(await of(bare)).toMatchObject({ status: 400, message: 'Too long', data: bare, retryable: false })
  expect(await of({ detail: { msg: 'Too busy' } })).toMatchObject({ status: 400, message: 'Too busy' })
})

test.each([
  ...MODELS,
  ...realModels.map(({ title, model }) => [title, (fetch: Fetch) => aiSdk(model(fetch))] as const),
])('%s: an HTTP error in a list, as Google sends it, keeps its words (qT20)', async (_, model) => {
  const body = [{ error: { code: 400, message: 'Too long', status: 'INVALID_ARGUMENT' } }]
  const failure = await failureOf(ask(model(answering(400, JSON.stringify(body)))))
  expect(failure).toMatchObject({ status: 400, message: 'Too long', data: body, retryable: false })
})

test('the method of a client that several models share is replaced once (A19)', async () => {
  const client = new OpenAI(options(answering(500, nested('a'))))
  const other = (of: OpenAI) => openai({ client: of, model: 'm', api: 'chat' })
  other(client)
  const method = Reflect.get(client, 'makeStatusError')
  other(client)
  // A tracer returns another function each time.
  const traced = new Proxy(client, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const model = other(traced)
  expect(Reflect.get(client, 'makeStatusError')).toBe(method)
  expect(Object.keys(client)).not.toContain('makeStatusError')
  expect(await failureOf(ask(model))).toMatchObject({ status: 500, retryable: true })
})

test('a client that is a proxy, or has its own method, also keeps the status (A19)', async () => {
  const proxy = new Proxy(new Anthropic(options(answering(529, nested('a')))), {})
  expect(await failureOf(ask(anthropic({ client: proxy, model: 'm' })))).toMatchObject({ status: 529, retryable: true })

  let made = 0
  class Counting extends OpenAI {
    protected override makeStatusError(...given: Parameters<OpenAI['makeStatusError']>) {
      made += 1
      return super.makeStatusError(...given)
    }
  }
  const client = new Counting(options(answering(500, nested('a'))))
  expect(await failureOf(ask(openai({ client, model: 'm' })))).toMatchObject({ status: 500 })
  expect(made).toBe(2)
})

test('a client that cannot be changed is used as it is (A19)', async () => {
  const body = JSON.stringify({ error: { message: 'try later' } })
  const refusing = new Proxy(new OpenAI(options(answering(500, body))), {
    defineProperty() {
      throw new TypeError('read-only')
    },
  })
  for (const client of [Object.freeze(new OpenAI(options(answering(500, body)))), refusing]) {
    expect(await failureOf(ask(openai({ client, model: 'm' })))).toMatchObject({ status: 500, message: 'try later' })
  }
})
