import type { AssistantMessage, AssistantPart, Message, ModelRequest, ToolMessage } from '@meanwhile/core'
import { expect, test } from 'vitest'
import { bodyOf, bodyThrough } from '../test/ask.ts'
import { chatHost, gemini, kimi, mistral } from '../test/hosts.ts'
import { realModels } from '../test/real-models.ts'
import { chat, claude, responses, type TestWire, wires } from '../test/wires.ts'

const user = (content: string): Message => ({ role: 'user', content })
const said = (...content: readonly AssistantPart[]): AssistantMessage => ({
  role: 'assistant',
  content,
  finishReason: 'stop',
})
const text = (text: string) => ({ type: 'text', text }) as const
const called = (id: string, input: unknown = {}) => ({ type: 'tool-call', id, name: 'f', input }) as const
const result = (callId: string, ...content: ToolMessage['content']): ToolMessage => ({
  role: 'tool',
  callId,
  name: 'f',
  content: content.length > 0 ? content : [text('ok')],
})

/** The thought of a wire's own provider. */
const thoughts: Readonly<Record<TestWire['name'], object>> = {
  'openai-chat': { openai: { field: 'reasoning_content' } },
  'openai-responses': { openai: { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'gAAA' } },
  anthropic: { anthropic: { signature: 'EqQB' } },
}
const thought = (wire: TestWire) =>
  ({ type: 'reasoning', text: 'Hm.', providerMetadata: { ...thoughts[wire.name] } }) as const

/** The messages or items of a request. */
async function sent(wire: TestWire, messages: readonly Message[], model?: TestWire['model']): Promise<unknown[]> {
  const body = (await bodyOf(wire, { messages }, model)) as { messages?: unknown[]; input?: unknown[] }
  return body.messages ?? body.input ?? []
}

const words = async (...given: Parameters<typeof sent>) => JSON.stringify(await sent(...given))

test.each(wires)('$name: a message that contains only reasoning is left out (W15)', async (wire) => {
  for (const parts of [[thought(wire)], [thought(wire), text(' \n')], [], [text('')]]) {
    const messages = [user('Go'), said(...parts), user('Please answer.')]
    expect(await words(wire, messages)).toBe(await words(wire, [user('Go'), user('Please answer.')]))
  }
})

test.each([responses, claude])(
  '$name: a message goes back up to its last part that is not reasoning (W15)',
  async (wire) => {
    const whole = [user('Go'), said(thought(wire), text('Hi')), user('And?')]
    const ending = [user('Go'), said(thought(wire), text('Hi'), thought(wire)), user('And?')]
    expect(await sent(wire, ending)).toEqual(await sent(wire, whole))
    expect(JSON.stringify(await sent(wire, whole))).toMatch(/EqQB|gAAA/)
  },
)

test.each(realModels)('$title: through the AI SDK, too (W15)', async (real) => {
  const metadata =
    real.wire === 'anthropic'
      ? { 'ai-sdk:anthropic': { signature: 'EqQB' } }
      : { 'ai-sdk:openai': { itemId: 'rs_1', reasoningEncryptedContent: 'gAAA' } }
  const hm = { type: 'reasoning', text: 'Hm.', providerMetadata: metadata } as const
  for (const parts of [[hm], [hm, text(' \n')]]) {
    const body = await bodyThrough(real, { messages: [user('Go'), said(...parts), user('And?')] })
    expect(body).toEqual(await bodyThrough(real, { messages: [user('Go'), user('And?')] }))
  }
})

const blankBeforeCall = [user('Go'), said(text('\n\n'), called('a1')), result('a1')]

test('blank text before a call is not sent (W15)', async () => {
  expect(await sent(claude, blankBeforeCall)).toMatchObject([{}, { content: [{ type: 'tool_use' }] }, {}])
  expect(await sent(chat, blankBeforeCall)).toMatchObject([{}, { content: null }, {}])
  expect(await sent(responses, blankBeforeCall)).toMatchObject([{}, { type: 'function_call' }, {}])
})

test.each(realModels)('$title: nor through the AI SDK (W15)', async (real) => {
  expect(JSON.stringify(await bodyThrough(real, { messages: blankBeforeCall }))).not.toContain('\\n\\n')
})

test.each(wires)('$name: a message of the user that says nothing has a short text (W15)', async (wire) => {
  for (const content of ['', '  \n', [], [text('')], [text(' '), text('\n')]])
    expect(await words(wire, [{ role: 'user', content }])).toContain('(empty message)')
  const picture = { type: 'file', mediaType: 'image/png', data: 'iVBORw0KGgo=' } as const
  const [message] = (await sent(wire, [{ role: 'user', content: [text(''), picture] }])) as { content: unknown[] }[]
  expect(message?.content).toHaveLength(1)
})

test('an error result without a text has one, and on Messages its files follow in the user message (W15)', async () => {
  const picture = { type: 'file', mediaType: 'image/png', data: 'iVBORw0KGgo=' } as const
  for (const content of [[], [text('')]]) {
    const failed: ToolMessage = { role: 'tool', callId: 'a1', name: 'f', content, isError: true }
    for (const wire of wires)
      expect(await words(wire, [user('Go'), said(called('a1')), failed])).toContain('The call failed')
  }
  const failed: ToolMessage = { ...result('a1', text('no'), picture), isError: true }
  const [, , answers] = await sent(claude, [user('Go'), said(called('a1'), called('b1')), failed, result('b1')])
  expect(answers).toMatchObject({
    content: [
      { type: 'tool_result', content: [{ text: 'no' }, { type: 'text' }], is_error: true },
      { type: 'tool_result', tool_use_id: 'b1' },
      { type: 'text' },
      { type: 'image' },
    ],
  })
})

test('Mistral gets no user message directly after a result: an answer stands between them (W13)', async () => {
  const picture = { type: 'file', mediaType: 'image/png', data: 'iVBORw0KGgo=' } as const
  for (const messages of [
    [user('Go'), said(called('abcdefgh1')), result('abcdefgh1'), user('Hurry')],
    [user('Go'), said(called('abcdefgh1')), result('abcdefgh1', picture)],
    [user('Go'), said(called('abcdefgh1')), result('abcdefgh1', picture), user('Hurry')],
    [user('Go'), said(called('abcdefgh1')), result('abcdefgh1'), said(text('')), user('Hurry')],
  ]) {
    for (const model of [mistral, chatHost('vllm', 'mistralai/Devstral-2')]) {
      const roles = (await sent(chat, messages, model)).map((message) => (message as { role: string }).role)
      expect(roles.slice(0, 5)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user'])
    }
    const others = (await sent(chat, messages, kimi)).map((message) => (message as { role: string }).role)
    expect(others.slice(0, 4)).toEqual(['user', 'assistant', 'tool', 'user'])
  }
})

test('Mistral gets neighbouring messages of one role as one, which the templates of its models require (W13)', async () => {
  const messages = [
    user('Go'),
    user('Hurry'),
    said(text('A.')),
    said(text('B.'), called('abcdefgh1')),
    result('abcdefgh1'),
  ]
  for (const model of [mistral, chatHost('vllm', 'mistralai/Devstral-2')]) {
    expect(await sent(chat, [...messages, user('So?'), user('Well?')], model)).toMatchObject([
      { role: 'user', content: [{ text: 'Go' }, { text: 'Hurry' }] },
      { role: 'assistant', content: 'A.B.', tool_calls: [{ id: 'abcdefgh1' }] },
      { role: 'tool' },
      { role: 'assistant' },
      { role: 'user', content: [{ text: 'So?' }, { text: 'Well?' }] },
    ])
  }
  expect(await sent(chat, messages, kimi)).toHaveLength(5)
})

test.each(wires)('$name: arguments that are not JSON go back as the JSON of an object (W18)', async (wire) => {
  for (const input of ['{"a":', [1], 'x', null]) {
    const call = { ...called('a1', input), inputError: 'not valid JSON' }
    const body = await sent(wire, [user('Go'), said(call), result('a1')])
    const [args] = [...JSON.stringify(body).matchAll(/"arguments":("(?:[^"\\]|\\.)*")/g)].map(([, args]) => args)
    if (wire === claude) expect(body).toMatchObject([{}, { content: [{ input: { arguments: input } }] }, {}])
    else expect(JSON.parse(JSON.parse(args ?? '') as string)).toEqual({ arguments: input })
  }
})

test.each(wires)(
  '$name: no half of a surrogate pair goes out, in texts, inputs, keys and tools (W18)',
  async (wire) => {
    const half = 'a\ud83d b \udc00'
    const messages = [
      user(half),
      said(text(half), called('a1', { [half]: [half] })),
      result('a1', text(half)),
      { role: 'user', content: [text(half)] } as const,
    ]
    const tools = [
      { name: 'f', description: half, inputSchema: { type: 'object', properties: { x: { description: half } } } },
    ]
    const request = { instructions: half, messages, tools }
    const own = await bodyOf(wire, request)
    const through = realModels.filter((real) => real.wire === wire.name).map((real) => bodyThrough(real, request))
    for (const body of [own, ...(await Promise.all(through))].map((body) => JSON.stringify(body))) {
      expect(body).not.toMatch(/\\+ud83d|\\+udc00/)
      expect(body.match(/a\ufffd b \ufffd/g)).toHaveLength(9)
    }
    expect(JSON.stringify(messages)).toContain('ud83d')
  },
)

test.each(wires)('$name: nor in an output, in stop sequences and in options of the provider (W18)', async (wire) => {
  const half = 'a\ud83d b \udc00'
  const schema = { type: 'object', properties: { x: { type: 'string', description: half } }, required: ['x'] }
  const request: Partial<ModelRequest> = {
    output: { name: 'out', schema },
    settings: {
      stopSequences: [half],
      providerOptions: { openai: { user: half }, anthropic: { metadata: { user_id: half } } },
    },
  }
  const body = JSON.stringify(await bodyOf(wire, request))
  expect(body).not.toMatch(/\\+ud83d|\\+udc00/)
  // Responses has no stop sequences.
  expect(body.match(/a\ufffd b \ufffd/g)).toHaveLength(wire === responses ? 2 : 3)
})

test('a sound pair is not changed (W18)', async () => {
  for (const wire of wires) expect(await words(wire, [user('a😀b')])).toContain('a😀b')
})

test('the stored history is not changed by what is sent (W13, W14, W15, W18)', async () => {
  const messages: readonly Message[] = [
    { role: 'user', content: '' },
    said(thought(claude)),
    said(text(' '), called('functions.f:0', 'x\ud83d')),
    result('functions.f:0', { type: 'file', mediaType: 'image/svg+xml', data: 'PHN2Zy8+' }),
    user('Hurry'),
  ]
  const before = JSON.stringify(messages)
  for (const wire of wires) await sent(wire, messages)
  for (const model of [mistral, kimi, gemini]) await sent(chat, messages, model)
  expect(JSON.stringify(messages)).toBe(before)
})
