import { scriptedModel } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import { bodyOf, requestTo } from '../test/ask.ts'
import { history, settings, tools } from '../test/history.ts'
import { mistral } from '../test/hosts.ts'
import { chat, wires } from '../test/wires.ts'
import { requestOn, type WireName } from './request.ts'

const request = { instructions: 'Be brief.', messages: history({}), tools, settings }

test.each(wires)('$name: a request can be written without a client, as its adapter sends it (W17)', async (wire) => {
  const sent = await bodyOf(wire, request)
  const model = wire.model(fetch)
  expect(JSON.parse(JSON.stringify(requestOn(wire.name, requestTo(model, request))))).toEqual(sent)
})

test('for the host of its model, or for the provider of the wire (W14)', async () => {
  const messages = [
    { role: 'assistant', content: [{ type: 'tool-call', id: 'a:1', name: 'f', input: {} }], finishReason: 'stop' },
    { role: 'tool', callId: 'a:1', name: 'f', content: [] },
  ] as const
  const host = mistral(fetch)
  expect(requestOn('openai-chat', requestTo(host, { messages }))).toEqual(await bodyOf(chat, { messages }, mistral))
  const scripted = requestTo(scriptedModel([], { id: 'gpt-4o' }), { messages })
  expect(requestOn('openai-responses', scripted)).toMatchObject({ model: 'gpt-4o', store: false })
  expect(JSON.stringify(requestOn('openai-chat', scripted))).not.toContain('a:1')
  expect(requestOn('anthropic', scripted)).toMatchObject({ max_tokens: 16_384 })
  expect(() => requestOn('chat' as WireName, scripted)).toThrow(
    'wire: must be openai-chat, openai-responses, anthropic, not chat',
  )
})
