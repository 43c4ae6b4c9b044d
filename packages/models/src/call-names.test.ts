import { call, end, respond, say } from '@meanwhile/assemble/testing'
import { createAgent, type Message } from '@meanwhile/core'
import { mockModels } from '@meanwhile/harness'
import { anyText } from '@meanwhile/tests/text'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { handMade, VERSIONS } from '../test/ai-sdk.ts'
import { ask, bodyOf } from '../test/ask.ts'
import { realModels } from '../test/real-models.ts'
import { wires } from '../test/wires.ts'
import { aiSdk } from './ai-sdk.ts'

const usage = { inputTokens: 1, outputTokens: 1 }

const NAMES: readonly (readonly [came: string, sent: string])[] = [
  ['read_file', 'read_file'],
  ['a'.repeat(64), 'a'.repeat(64)],
  ['', 'unknown'],
  ['functions.read file!', 'functions_read_file_'],
  ['weather\n"}', 'weather___'],
  ['天気🌦', '___'],
  ['x'.repeat(1_000_000), 'x'.repeat(64)],
  [`${'😀'.repeat(63)}é${'z'.repeat(9)}`, '_'.repeat(64)],
]

/** A history in which a tool with this name was called. */
function called(name: string): readonly Message[] {
  return [
    { role: 'user', content: 'Go' },
    {
      role: 'assistant',
      content: [{ type: 'tool-call', id: 'call_1', name, input: {} }],
      finishReason: 'tool-calls',
    },
    { role: 'tool', callId: 'call_1', name, content: [{ type: 'text', text: 'Done.' }] },
  ]
}

/** All names in a body; none of these requests declares a tool. */
function namesIn(body: unknown): string[] {
  if (typeof body !== 'object' || body === null) return []
  return Object.entries(body).flatMap(([key, value]) =>
    /^(name|toolName)$/.test(key) && typeof value === 'string' ? [value] : namesIn(value),
  )
}

test.each(wires)('$name: a name that providers reject is sent back in a valid form (P12, M16)', async (wire) => {
  for (const [came, sent] of NAMES) expect(namesIn(await bodyOf(wire, { messages: called(came) }))).toEqual([sent])
})

test.each(realModels)('$title: a name that providers reject is sent back in a valid form (P12, M16)', async (real) => {
  for (const [came, sent] of NAMES) {
    const mock = mockModels({ script: [respond(say('Done.'), end({ usage }))] })
    await ask(aiSdk(real.model(mock.fetch)), { messages: called(came) })
    expect(namesIn(mock.requests[0]?.body)).toEqual([sent])
  }
})

test.each(VERSIONS)('%s: a call and its result have the same name, whatever the model wrote (P12)', async (version) => {
  const stop = [{ type: 'finish', finishReason: 'stop', usage }] as const
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.string(), anyText({ maxLength: 100 })), async (name) => {
      const { model, asked } = handMade(version, stop)
      await ask(aiSdk(model), { messages: called(name) })
      const [of, result] = namesIn(asked[0]?.prompt)
      expect(of).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
      expect(result).toBe(of)
      if (/^[A-Za-z0-9_-]{1,64}$/.test(name)) expect(of).toBe(name)
    }),
  )
})

test.each(wires)('$name: a run whose model calls a tool by an impossible name continues (P12)', async (wire) => {
  const name = `no tool: ${'n'.repeat(5_000)}`
  const mock = mockModels({ script: [respond(call(name, {})), respond(say('Done.'))] })
  const { text } = await createAgent({ model: wire.model(mock.fetch) }).run('Go')
  expect(text).toBe('Done.')
  expect(namesIn(mock.requests[1]?.body)).toEqual([`no_tool__${'n'.repeat(55)}`])
})

test('a call that the provider ran itself is sent back with its original name (G16)', async () => {
  const name = 'mcp.read file'
  const parts = [
    { type: 'tool-call', toolCallId: 'c1', toolName: name, input: '{}', providerExecuted: true },
    { type: 'tool-result', toolCallId: 'c1', toolName: name, result: {} },
    { type: 'finish', finishReason: 'stop', usage },
  ] as const
  const { model, asked } = handMade('v4', parts)
  const { message } = await ask(aiSdk(model))
  await ask(aiSdk(model), { messages: [{ role: 'user', content: 'Go' }, message] })
  expect(namesIn(asked[1]?.prompt)).toEqual([name, name])
})
