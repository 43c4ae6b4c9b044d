import { createAgent, type Middleware, ModelError, map, tool } from '@meanwhile/core'
import { mockModels, recordedResponse } from '@meanwhile/harness'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { readParts } from '../test/ai-sdk.ts'
import { failureOf, read } from '../test/ask.ts'
import { chat, chatChunk, responses } from '../test/wires.ts'

// Calls that the client must run, in ways that core does not support.

const usage = { input_tokens: 7, output_tokens: 3 }
const counted = { inputTokens: 7, outputTokens: 3 }
const f = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{"x":1}', status: 'completed' }

function done(item: object, index = 0): object {
  return { type: 'response.output_item.done', output_index: index, item }
}

function ended(status: string, ...output: object[]): object {
  return { type: `response.${status}`, response: { id: 'resp_1', status, usage, output } }
}

const custom = { type: 'custom_tool_call', id: 'ctc_1', call_id: 'call_2', name: 'sh', input: 'ls' }

test.each([
  [custom],
  [{ type: 'computer_call', id: 'cu_1', call_id: 'call_2', actions: [], pending_safety_checks: [] }],
  [{ type: 'local_shell_call', id: 'lsh_1', call_id: 'call_2', action: { type: 'exec', command: ['ls'], env: {} } }],
  [{ type: 'shell_call', id: 'sh_1', call_id: 'call_2', environment: { type: 'local' }, action: { commands: ['ls'] } }],
  [{ type: 'apply_patch_call', id: 'ap_1', call_id: 'call_2', operation: { type: 'delete_file', path: 'a' } }],
  [{ type: 'mcp_approval_request', id: 'mcpr_1', name: 'f', server_label: 's', arguments: '{}' }],
  [{ type: 'tool_search_call', id: 'ts_1', call_id: 'call_2', execution: 'client', arguments: {} }],
])(
  'Responses: $type is an error that contains its name and its usage, and is not retried (A19, B17, qR13)',
  async (item) => {
    const failure = await failureOf(read(responses, [done(f), done(item, 1), ended('completed', f, item)]))
    expect(failure).toBeInstanceOf(ModelError)
    expect(failure).toMatchObject({
      code: 'unsupported_call',
      retryable: false,
      message: `the response contains a "${item.type}", which its client must run, and core cannot: do not request such tools through providerOptions, or run them yourself, without core`,
      partial: { content: [{ type: 'tool-call', name: 'f', input: { x: 1 } }], usage: counted },
    })
  },
)

test.each([
  ['its beginning', [{ type: 'response.output_item.added', output_index: 0, item: custom }, ended('completed')]],
  ['its end', [done(custom), ended('completed')]],
  ['the end of the response', [ended('completed', custom)]],
  ['a truncated response', [ended('incomplete', custom)]],
])('Responses: it is detected if it comes only with %s (qR13)', async (_, events) => {
  expect(await failureOf(read(responses, events))).toMatchObject({
    code: 'unsupported_call',
    partial: { usage: counted },
  })
})

test('Responses: it is also detected without an id, and next to an item without a type', async () => {
  const { id: _, call_id: __, ...bare } = custom
  const failure = await failureOf(read(responses, [done({}), done(bare, 1), ended('completed')]))
  expect(failure).toMatchObject({ code: 'unsupported_call' })
})

test('Responses: an error of the provider takes precedence', async () => {
  const failed = { type: 'response.failed', response: { error: { code: 'server_error', message: 'try later' } } }
  expect(await failureOf(read(responses, [done(custom), failed]))).toMatchObject({ code: 'server_error' })
})

test('Responses: the result of one call does not count for another (qR14)', async () => {
  const result = { type: 'custom_tool_call_output', id: 'cto_1', call_id: 'call_2', output: 'a' }
  const { message } = await read(responses, [done(custom), done(result, 1), ended('completed')])
  expect(message).toMatchObject({ content: [], finishReason: 'stop' })

  const other = { ...custom, id: 'ctc_2', call_id: 'call_3' }
  const failure = await failureOf(read(responses, [done(custom), done(result, 1), done(other, 2), ended('completed')]))
  expect(failure).toMatchObject({ code: 'unsupported_call' })
})

test('Chat: a custom call is an error as soon as it arrives (A19, qC45)', async () => {
  const call = { index: 0, id: 'call_1', type: 'custom', custom: { name: 'sh', input: '' } }
  const failure = await failureOf(read(chat, [chatChunk({ content: 'So' }), chatChunk({ tool_calls: [call] })]))
  expect(failure).toMatchObject({
    name: 'ModelError',
    code: 'unsupported_call',
    retryable: false,
    message: expect.stringContaining('contains a "custom", which its client must run'),
    partial: { content: [{ type: 'text', text: 'So' }] },
  })
})

test('AI SDK: so is a request for an approval, once its usage is known (A19, B17)', async () => {
  const failure = await failureOf(
    readParts([
      { type: 'tool-call', toolCallId: 'a', toolName: 'f', input: '{"x":1}', providerExecuted: true },
      { type: 'tool-approval-request' },
      {
        type: 'finish',
        finishReason: { unified: 'stop', raw: undefined },
        usage: {
          inputTokens: { total: 7, cacheRead: undefined, cacheWrite: undefined },
          outputTokens: { total: 3, reasoning: undefined },
        },
      },
    ]),
  )
  expect(failure).toMatchObject({
    name: 'ModelError',
    code: 'unsupported_call',
    retryable: false,
    message: expect.stringContaining('contains a "tool-approval-request", which its client must run'),
    partial: { usage: counted },
  })
})

/** Starts every call as soon as it is sealed. */
const early: Middleware = {
  name: 'early',
  wrapModel: (request, next, run) =>
    map(next(request), (event) => {
      if (event.type === 'tool-call') run.callTool(event.call).catch(() => undefined)
      return event
    }),
}

test('a call that started in the same response is discarded, and the run ends with the error (H21, qR13)', async () => {
  const lines = [done(f), done(custom, 1), ended('completed')].map((event) => JSON.stringify(event))
  const mock = mockModels({ script: [recordedResponse('openai-responses', lines)] })
  const ran: unknown[] = []
  const agent = createAgent({
    model: responses.model(mock.fetch),
    middleware: [early],
    tools: [
      tool({ name: 'f', description: 'f', input: z.object({ x: z.number() }), execute: (input) => ran.push(input) }),
    ],
  })
  const run = agent.stream('Go')
  const seen: object[] = []
  const failure = await failureOf(
    (async () => {
      for await (const event of run) {
        if (event.type === 'tool-discarded') seen.push({ callId: event.callId, cause: event.cause })
        if (event.type === 'tool-committed' || event.type === 'tool-end') seen.push(event)
      }
    })(),
  )
  expect(failure).toMatchObject({ code: 'unsupported_call' })
  expect({ ran, seen }).toEqual({ ran: [{ x: 1 }], seen: [{ callId: 'call_1', cause: 'stream_error' }] })
  await expect(run.result).rejects.toBe(failure)
  mock.assertComplete()
})
