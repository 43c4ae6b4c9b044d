import Anthropic from '@anthropic-ai/sdk'
import { call, end, respond, type ScriptResponse, say } from '@meanwhile/assemble/testing'
import { type AgentEvent, createAgent, type Model } from '@meanwhile/core'
import { mockModels } from '@meanwhile/harness'
import { type AiSdkModel, aiSdk } from '@meanwhile/models/ai-sdk'
import { anthropic } from '@meanwhile/models/anthropic'
import { openai } from '@meanwhile/models/openai'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import OpenAI from 'openai'
import { expect, test } from 'vitest'

// The finish reasons of a run: in results, events and spans, through every adapter.

type Fetch = typeof globalThis.fetch

const onChat = (fetch: Fetch) => openai({ client: new OpenAI({ apiKey: 'none', fetch }), model: 'm', api: 'chat' })
const onResponses = (fetch: Fetch) => openai({ client: new OpenAI({ apiKey: 'none', fetch }), model: 'm' })
const onMessages = (fetch: Fetch) => anthropic({ client: new Anthropic({ apiKey: 'none', fetch }), model: 'm' })

/** Each adapter, with its finish reason for a step that calls tools, and for one that answers. */
const doors: readonly (readonly [name: string, model: (fetch: Fetch) => Model, calls: string, answer: string])[] = [
  ['Chat', onChat, 'tool_calls', 'stop'],
  ['Responses', onResponses, 'tool-calls', 'stop'],
  ['Messages', onMessages, 'tool_use', 'end_turn'],
]

/** The finish reasons of a run with these responses. */
async function reasonsOf(model: Model) {
  const exporter = new InMemorySpanExporter()
  const spanProcessors = [new SimpleSpanProcessor({ exporter })]
  const telemetry = { tracerProvider: new TracerProvider({ spanProcessors }) }
  const run = createAgent({ model, telemetry }).stream('Go')
  const events: AgentEvent[] = []
  for await (const event of run) events.push(event)
  const { finishReason, messages } = await run.result
  const inSpans = (operation: string) =>
    exporter
      .getFinishedSpans()
      .filter(({ attributes }) => attributes['gen_ai.operation.name'] === operation)
      .map(({ attributes }) => attributes['gen_ai.response.finish_reasons'])
  return {
    result: finishReason,
    messages: messages.flatMap((message) => (message.role === 'assistant' ? [message.finishReason] : [])),
    events: events.flatMap((event) =>
      event.type === 'step-end' && event.messages[0]?.role === 'assistant' ? [event.messages[0].finishReason] : [],
    ),
    chats: inSpans('chat'),
    run: inSpans('invoke_agent'),
  }
}

const calling: readonly ScriptResponse[] = [respond(call('f', {})), respond(say('Done.'))]
const without: readonly ScriptResponse[] = [respond(say('Done.'), end({ finishReason: 'tool-calls' }))]

test.each(doors)(
  '%s: the finish reason of a step shows whether it calls tools or answers (P18)',
  async (_, model, calls, answer) => {
    expect(await reasonsOf(model(mockModels({ script: calling }).fetch))).toEqual({
      result: 'stop',
      messages: ['tool-calls', 'stop'],
      events: ['tool-calls', 'stop'],
      chats: [[calls], [answer]],
      run: [[answer]],
    })
  },
)

const STOPPED = { result: 'stop', messages: ['stop'], events: ['stop'], chats: [['stop']], run: [['stop']] }

test('Responses: a response that is completed and contains no call has the finish reason stop (P18)', async () => {
  expect(await reasonsOf(onResponses(mockModels({ script: without }).fetch))).toEqual(STOPPED)
})

const saying = doors.filter(([name]) => name !== 'Responses')

test.each(saying)(
  '%s: a response whose reason says tool calls, and that contains none, is a retryable error (P18, qC60)',
  async (_, model) => {
    const failing = reasonsOf(model(mockModels({ script: without }).fetch))
    await expect(failing).rejects.toMatchObject({ name: 'ModelError', code: 'missing_calls', retryable: true })
  },
)

/** A model of the AI SDK that answers with these parts, one list for each request. */
function ofParts(...answers: object[][]): Model {
  const model = {
    specificationVersion: 'v4',
    provider: 'openai.responses',
    modelId: 'm',
    supportedUrls: {},
    doStream: async () => ({ stream: ReadableStream.from(answers.shift() ?? []) }),
  }
  return aiSdk(model as AiSdkModel)
}

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
const finish = (unified: string, raw?: string) => ({ type: 'finish', finishReason: { unified, raw }, usage })
const f = { type: 'tool-call', toolCallId: 'c1', toolName: 'f', input: '{}' }
const done = [
  { type: 'text-start', id: '0' },
  { type: 'text-delta', id: '0', delta: 'Done.' },
]

test('through the AI SDK the finish reason of a step shows whether it calls tools or answers (P18)', async () => {
  const steps = { result: 'stop', messages: ['tool-calls', 'stop'], events: ['tool-calls', 'stop'] }
  const own = ofParts([f, finish('tool-calls', 'tool_use')], [...done, finish('stop', 'end_turn')])
  expect(await reasonsOf(own)).toEqual({ ...steps, chats: [['tool_use'], ['end_turn']], run: [['end_turn']] })
  const none = ofParts([f, finish('tool-calls')], [...done, finish('stop')])
  expect(await reasonsOf(none)).toEqual({ ...steps, chats: [['tool-calls'], ['stop']], run: [['stop']] })
})

test('through the AI SDK a response that ends for tool calls, and contains only calls that ran at the provider, has the finish reason stop (P18)', async () => {
  const executed = [{ ...f, providerExecuted: true }, { ...f, type: 'tool-result', result: {} }, ...done]
  expect(await reasonsOf(ofParts([...executed, finish('tool-calls', 'tool_calls')]))).toEqual(STOPPED)
})

test('through the AI SDK a response whose reason says tool calls, and that contains none, is a retryable error (P18, qC60)', async () => {
  const failing = reasonsOf(ofParts([...done, finish('tool-calls', 'tool_use')]))
  await expect(failing).rejects.toMatchObject({ name: 'ModelError', code: 'missing_calls', retryable: true })
})
