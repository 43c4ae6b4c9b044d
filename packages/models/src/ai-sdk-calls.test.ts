import { expect, test } from 'vitest'
import { handMade, readParts } from '../test/ai-sdk.ts'
import { ask, failureOf } from '../test/ask.ts'
import { aiSdk } from './ai-sdk.ts'

const usage = { inputTokens: 1, outputTokens: 2 }
const calls = { type: 'finish', finishReason: 'tool-calls', usage } as const
const stop = { type: 'finish', finishReason: 'stop', usage } as const
const sealed = { type: 'tool-call', id: 'c1', name: 'f', input: { x: 1 } }
const begun = { type: 'tool-input-start', id: 'c1', toolName: 'f' } as const
const piece = (delta: string) => ({ type: 'tool-input-delta', id: 'c1', delta }) as const
const whole = { type: 'tool-call', toolCallId: 'c1', toolName: 'f', input: '{"x":1}' } as const

test('two calls with one id stay two, at the same time and one after the other (G9, G10)', async () => {
  const { message } = await readParts([
    { type: 'tool-input-start', id: 'c1', toolName: 'f' },
    { type: 'tool-input-delta', id: 'c1', delta: '{"x":1}' },
    { type: 'tool-input-start', id: 'c1', toolName: 'f' },
    { type: 'tool-input-delta', id: 'c1', delta: '{"x":2}' },
    { type: 'tool-call', toolCallId: 'c1', toolName: 'f', input: '{"x":1}' },
    { type: 'tool-call', toolCallId: 'c1', toolName: 'f', input: '{"x":2}' },
    { type: 'tool-call', toolCallId: 'c1', toolName: 'f', input: '{"x":3}' },
    calls,
  ])
  expect(message.content).toEqual([
    sealed,
    { ...sealed, id: 'c1_1', input: { x: 2 } },
    { ...sealed, id: 'c1_2', input: { x: 3 } },
  ])
})

test('a call that comes twice with one id, name and input is one, whether its input comes in pieces or not (P3, qR21, qA18)', async () => {
  const pieces = [
    { type: 'tool-input-start', id: 'c1', toolName: 'f' },
    { type: 'tool-input-delta', id: 'c1', delta: '{"x":1}' },
  ] as const
  for (const provider of ['openai.responses', 'openrouter']) {
    for (const parts of [
      [whole, { ...whole, input: '{ "x": 1 }' }],
      [...pieces, whole, ...pieces, whole],
    ]) {
      const { message } = await ask(aiSdk(handMade('v4', [...parts, calls], { provider }).model))
      expect(message.content).toEqual([sealed])
    }
    const unnamed = { ...whole, toolCallId: 'null' }
    const { message } = await ask(aiSdk(handMade('v4', [unnamed, unnamed, calls], { provider }).model))
    expect(message.content).toMatchObject([{ id: 'call_1' }, { id: 'call_2' }])
  }
})

test('a call whose pieces each repeat all input is the same call when it comes whole (P3, qR21)', async () => {
  const pieces = ['{"x"', '{"x":', '{"x":1}'].map(piece)
  const parts = [begun, ...pieces, whole, begun, piece('{ "x": 1 }'), whole, calls] as const
  const { message } = await ask(aiSdk(handMade('v4', parts, { provider: 'openrouter' }).model))
  expect(message.content).toEqual([sealed])
})

test('a result belongs to the call that was shown, even if that came twice (G16, qR21)', async () => {
  const { message } = await readParts([
    whole,
    whole,
    { type: 'tool-result', toolCallId: 'c1', toolName: 'f', result: { y: 1 } },
    stop,
  ])
  expect(message.content).toMatchObject([{ ...sealed, providerResult: { y: 1 } }])
})

test.each([
  ['is not the one that its model made before', [whole]],
  ['is read although input had no owner before', [{ ...piece('{'), id: 'c9' }]],
  ['is read although another one is open', [{ ...begun, id: 'c9' }]],
])('after another model took over, its call %s (qA11, qA17, qA18)', async (_, before) => {
  const input = { type: 'tool-input-delta', id: '', delta: '{"x":1}' } as const
  const { message } = await readParts([
    ...before,
    { type: 'custom', kind: 'anthropic.fallback' },
    begun,
    input,
    whole,
    calls,
  ])
  const ran = message.content.filter((part) => part.type === 'tool-call' && part.providerResult === undefined)
  expect(ran).toMatchObject([{ name: 'f', input: { x: 1 } }])
})

test('input for a call that no part contains fails the response, and a call without input does not run (qR19, qA17)', async () => {
  const stray = { type: 'tool-input-delta', id: 'c9', delta: '{"x":1}' } as const
  const bare = { type: 'tool-call', toolCallId: 'c1', toolName: 'f', input: '' } as const
  const failure = await failureOf(readParts([bare, stray, calls]))
  expect(failure).toMatchObject({ code: 'invalid_chunk', retryable: true })
  const { message } = await readParts([stray, { ...whole, toolCallId: 'c9' }, calls])
  expect(message.content).toEqual([{ ...sealed, id: 'c9' }])
})
