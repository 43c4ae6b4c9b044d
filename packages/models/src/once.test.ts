import type { Message, Model } from '@meanwhile/core'
import { afterEach, expect, test, vi } from 'vitest'
import { ask, failureOf } from '../test/ask.ts'
import { anthropic } from './anthropic.ts'
import { openai } from './openai.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

interface Body {
  readonly messages?: readonly { readonly content?: unknown }[]
  readonly input?: readonly object[]
}

/** The bodies that a client gets. It answers none of them. */
function watchedClient() {
  const bodies: Body[] = []
  const create = (body: object) => {
    bodies.push(body)
    throw new Error('enough')
  }
  const client = { baseURL: 'https://api.openai.com/v1', chat: { completions: { create } }, responses: { create } }
  return { bodies, client: { ...client, messages: { create } } }
}

type Client = ReturnType<typeof watchedClient>['client']

interface Wire {
  readonly name: string
  model(client: Client): Model
  /** What the history has become. */
  history(body: Body | undefined): readonly unknown[]
}

const WIRES: readonly Wire[] = [
  {
    name: 'openai-chat',
    model: (client) => openai({ client, model: 'm', api: 'chat' }),
    history: (body) => body?.messages ?? [],
  },
  { name: 'openai-responses', model: (client) => openai({ client, model: 'm' }), history: (body) => body?.input ?? [] },
  {
    name: 'anthropic',
    model: (client) => anthropic({ client, model: 'm' }),
    history: (body) => (body?.messages ?? []).flatMap(({ content }) => content),
  },
]

function step(id: string, text = 'sunny'): readonly Message[] {
  return [
    {
      role: 'assistant',
      content: [{ type: 'tool-call', id, name: 'look', input: { city: 'Bern' } }],
      finishReason: 'tool-calls',
    },
    { role: 'tool', callId: id, name: 'look', content: [{ type: 'text', text }] },
  ]
}

function frozen<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value
  for (const member of Object.values(value)) frozen(member)
  return Object.freeze(value)
}

test.each(WIRES)('$name: each message of a run is converted once, however many steps send it', async (wire) => {
  const { bodies, client } = watchedClient()
  const model = wire.model(client)
  const ids = Array.from({ length: 40 }, (_, n) => `call_${n}`)
  const messages = frozen([{ role: 'user', content: 'Go' } as const, ...ids.flatMap((id) => step(id))])
  const read = vi.spyOn(String.prototype, 'toWellFormed')
  const reads: number[] = []
  for (let length = 1; length <= messages.length; length += 2) {
    const before = read.mock.calls.length
    await failureOf(ask(model, { messages: messages.slice(0, length) }))
    reads.push(read.mock.calls.length - before)
  }
  // The first request has the user's message, each later one the same number of new texts.
  expect(new Set(reads.slice(1)).size).toBe(1)
  const last = wire.history(bodies.at(-1))
  expect(last.length).toBe(messages.length)
  for (const body of bodies) for (const [place, one] of wire.history(body).entries()) expect(one).toBe(last[place])
})

test.each(WIRES)(
  '$name: so is a message whose ids the provider does not take, and its result has the same id',
  async (wire) => {
    const { bodies, client } = watchedClient()
    const model = wire.model(client)
    const messages = frozen([{ role: 'user', content: 'Go' } as const, ...step('a:1'), ...step('a:1')])
    await failureOf(ask(model, { messages: messages.slice(0, 3) }))
    await failureOf(ask(model, { messages }))
    const [first, second] = bodies.map(wire.history)
    expect(first).toHaveLength(3)
    for (const [place, one] of (first ?? []).entries()) expect(one).toBe(second?.[place])
    expect(JSON.stringify(second)).not.toContain('a:1')
  },
)

test.each(WIRES)('$name: a message that can change is converted again', async (wire) => {
  const { bodies, client } = watchedClient()
  const model = wire.model(client)
  const part = { type: 'text' as const, text: 'Hello' }
  const messages: Message[] = [{ role: 'user', content: [part] }]
  // Frozen outside only.
  Object.freeze(messages[0])
  await failureOf(ask(model, { messages }))
  part.text = 'Goodbye'
  await failureOf(ask(model, { messages }))
  expect(bodies.map((body) => JSON.stringify(wire.history(body)))).toEqual([
    expect.stringContaining('Hello'),
    expect.stringContaining('Goodbye'),
  ])
})

test.each(WIRES)('$name: a client cannot change what the requests of a run share', async (wire) => {
  const { bodies, client } = watchedClient()
  const messages = frozen([{ role: 'user', content: 'Go' } as const, ...step('call_1')])
  await failureOf(ask(wire.model(client), { messages }))
  const shared = wire.history(bodies[0])
  expect(shared).toHaveLength(3)
  for (const one of shared) expect(() => Object.assign(one as object, { own: true })).toThrow(TypeError)
})

test('the bytes of a file are read once', async () => {
  const { client } = watchedClient()
  const model = openai({ client, model: 'm', api: 'chat' })
  const data = `iVBOR${'A'.repeat(100_000)}`
  const file = { type: 'file', mediaType: 'image/png', data } as const
  const messages = frozen([{ role: 'user', content: [file] }, ...step('call_1')] as const)
  const test = vi.spyOn(RegExp.prototype, 'test')
  for (let n = 0; n < 5; n++) await failureOf(ask(model, { messages }))
  expect(test.mock.calls.filter(([text]) => text === data)).toHaveLength(1)
})
