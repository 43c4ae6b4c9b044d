import { createAgent, type Model, type Tool, textOf, tool } from '@meanwhile/core'
import { sized } from '@meanwhile/tests/size'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { handMade } from '../test/ai-sdk.ts'
import { chat, chatChunk, claude, type TestWire } from '../test/wires.ts'
import { aiSdk } from './ai-sdk.ts'

/** The text of an object with this many levels. */
const nested = (levels: number) => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`

/** First responds with these events, with DEEP replaced by this text, then with "Hello". */
function answering(wire: TestWire, events: readonly object[], deep: string): Model {
  let requests = 0
  const body = (events: readonly object[]) =>
    events
      .map((event) => `event: ${'type' in event ? (event.type as string) : ''}\ndata: ${JSON.stringify(event)}\n\n`)
      .join('')
      .replace('"DEEP"', deep)
  const headers = { 'content-type': 'text/event-stream' }
  return wire.model(async () => new Response(body(requests++ === 0 ? events : wire.hello), { headers }))
}

const called = { index: 0, id: 'call_1', function: { name: 'f', arguments: 'DEEP' } }
const begun = { type: 'tool_use', id: 'call_1', name: 'f', input: 'DEEP' }

/** Wires on which arguments may be an object instead of text. */
const models: Readonly<Record<string, (levels: number) => Model>> = {
  Chat: (levels) => answering(chat, [chatChunk({ tool_calls: [called] }), chatChunk({}, 'tool_calls')], nested(levels)),
  Messages: (levels) =>
    answering(
      claude,
      [
        { type: 'message_start', message: { id: 'msg_1', model: 'm', content: [] } },
        { type: 'content_block_start', index: 0, content_block: begun },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: 'tool_use' } },
        { type: 'message_stop' },
      ],
      nested(levels),
    ),
  'the AI SDK': (levels) => {
    const usage = { inputTokens: 1, outputTokens: 1 }
    const parts = [
      { type: 'tool-call', toolCallId: 'call_1', toolName: 'f', input: JSON.parse(nested(levels)) as unknown },
      { type: 'finish', finishReason: 'tool-calls', usage },
    ] as const
    const said = [
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'Hello' },
      { type: 'finish', finishReason: 'stop', usage },
    ] as const
    const answers = [handMade('v4', [...parts]).model, handMade('v4', [...said]).model]
    const { model } = handMade('v4', [])
    return aiSdk({
      ...model,
      specificationVersion: 'v4',
      doStream: (options) => (answers.shift() ?? model).doStream(options as never),
    })
  },
}

/** More than the stack has room for. */
const DEEPEST = sized({ small: 30_000, middle: 30_000, whole: 100_000 })

const cases = Object.keys(models).flatMap((name) =>
  [512, 513, 5_000, DEEPEST].flatMap((levels) =>
    [512, Number.POSITIVE_INFINITY].map((depth) => ({ name, levels, depth })),
  ),
)

test.for(cases)(
  '$name: arguments that are an object of $levels levels, with a limit of $depth, are an error result, or the call (P11, qC16)',
  async ({ name, levels, depth }) => {
    let runs = 0
    const f = tool({
      name: 'f',
      description: 'Works',
      input: z.looseObject({}),
      execute: () => `ran ${++runs}`,
    }) as Tool
    const model = models[name]?.(levels) as Model
    const { status, messages } = await createAgent({ model, tools: [f], inputLimits: { depth } }).run('Go')
    const isMade = levels <= 512
    expect(status).toBe('completed')
    expect(messages.filter(({ role }) => role === 'tool').map(textOf)).toEqual([
      isMade ? 'ran 1' : 'invalid input for f: arguments are nested deeper than 512 levels',
    ])
    expect(runs).toBe(isMade ? 1 : 0)
  },
)
