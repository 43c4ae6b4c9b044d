/** A trace processor for the OpenAI Agents SDK: it writes the SDK's own traces as OpenTelemetry spans, with the names of the GenAI conventions. */

import { type Attributes, context, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { members } from './model/attributes.ts'

/** A trace of the SDK, as far as it is read. */
export interface AgentsTrace {
  /** The id of the trace in the SDK. */
  readonly traceId: string
  /** The conversation. */
  readonly groupId: string | null
}

/** A span of the SDK, as far as it is read. */
export interface AgentsSpan {
  /** The id of its trace in the SDK. */
  readonly traceId: string
  /** The id of the span in the SDK. */
  readonly spanId: string
  /** The id of the span that it is inside; null directly under the trace. */
  readonly parentId: string | null
  /** ISO 8601, so whole milliseconds. */
  readonly startedAt: string | null
  /** As `startedAt`; null while the span is open. */
  readonly endedAt: string | null
  /** What the span is about: the kind, and members that depend on it. */
  readonly spanData: { readonly type: string }
  /** Why it failed; null if it did not. */
  readonly error: { readonly message: string } | null
}

/** What `addTraceProcessor` of `@openai/agents` takes. */
export interface AgentsTraceProcessor {
  /** Called when a run of the SDK begins. */
  onTraceStart(trace: AgentsTrace): Promise<void>
  /** Called when a run of the SDK has ended. */
  onTraceEnd(trace: AgentsTrace): Promise<void>
  /** Called when a span begins. */
  onSpanStart(span: AgentsSpan): Promise<void>
  /** Called when a span has ended. */
  onSpanEnd(span: AgentsSpan): Promise<void>
  /** Called when the SDK stops. */
  shutdown(): Promise<void>
  /** Called to send what waits. */
  forceFlush(): Promise<void>
}

/** The options of {@link agentsTraceProcessor}. */
export interface AgentsTraceOptions {
  /**
   * Whether prompts, answers, arguments and results are recorded. Default: whether the environment has
   * `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true`.
   */
  readonly captureContent?: boolean
}

/** Spans that have not ended. More are not followed. */
const MOST_OPEN = 10_000

/**
 * Use it with `addTraceProcessor(agentsTraceProcessor())`. It needs an OpenTelemetry SDK. An agent becomes `invoke_agent`, its turns
 * `agent_step`, a response `chat` with its model and tokens, a function `execute_tool`; other spans keep their names. The SDK tells neither
 * call ids nor when the first token came.
 */
export function agentsTraceProcessor({
  captureContent = process.env.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT === 'true',
}: AgentsTraceOptions = {}): AgentsTraceProcessor {
  const tracer = trace.getTracer('@meanwhile/devtools/openai-agents')
  const open = new Map<string, Span>()
  const conversations = new Map<string, string>()
  return {
    async onTraceStart({ traceId, groupId }) {
      if (groupId && conversations.size < MOST_OPEN) conversations.set(traceId, groupId)
    },
    // The trace itself ends after the program has flushed, so it is not a span.
    async onTraceEnd({ traceId }) {
      conversations.delete(traceId)
    },
    async onSpanStart({ traceId, spanId, parentId, startedAt, spanData }) {
      if (open.size >= MOST_OPEN) return
      const parent = open.get(parentId ?? '')
      const { name, kind = SpanKind.INTERNAL, attributes } = startOf(spanData)
      const conversation = conversations.get(traceId)
      const all = { ...attributes, ...(conversation !== undefined && { 'gen_ai.conversation.id': conversation }) }
      const around = parent ? trace.setSpan(context.active(), parent) : context.active()
      open.set(spanId, tracer.startSpan(name, { kind, attributes: all, ...startTime(startedAt) }, around))
    },
    async onSpanEnd({ spanId, endedAt, spanData, error }) {
      const span = open.get(spanId)
      open.delete(spanId)
      if (!span) return
      const { model, attributes } = endOf(spanData, captureContent)
      if (model !== undefined) span.updateName(`chat ${model}`)
      span.setAttributes(attributes)
      if (error) {
        span.setAttribute('error.type', 'error')
        span.setStatus({ code: SpanStatusCode.ERROR, ...(captureContent && { message: error.message }) })
      }
      span.end(endedAt === null ? undefined : new Date(endedAt))
    },
    async shutdown() {},
    async forceFlush() {},
  }
}

const startTime = (startedAt: string | null) => (startedAt === null ? {} : { startTime: new Date(startedAt) })

interface Start {
  readonly name: string
  readonly kind?: SpanKind
  readonly attributes: Attributes
}

function startOf(spanData: { readonly type: string }): Start {
  const { type, name: given } = members(spanData)
  const name = typeof given === 'string' ? given : String(spanData.type)
  switch (type) {
    case 'agent':
      return {
        name: `invoke_agent ${name}`,
        attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': name },
      }
    case 'turn':
      return { name: 'agent_step', attributes: { 'gen_ai.operation.name': 'agent_step' } }
    case 'response':
    case 'generation':
      return {
        name: 'chat',
        kind: SpanKind.CLIENT,
        attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai' },
      }
    case 'function':
      return {
        name: `execute_tool ${name}`,
        attributes: {
          'gen_ai.operation.name': 'execute_tool',
          'gen_ai.tool.name': name,
          'gen_ai.tool.type': 'function',
        },
      }
    default:
      return { name, attributes: { 'openai.agents.span': spanData.type } }
  }
}

interface End {
  readonly model?: string
  readonly attributes: Attributes
}

function endOf(spanData: { readonly type: string }, captureContent: boolean): End {
  const data = members(spanData)
  if (spanData.type === 'function') {
    const content = { 'gen_ai.tool.call.arguments': asText(data.input), 'gen_ai.tool.call.result': asText(data.output) }
    return { attributes: captureContent ? present(content) : {} }
  }
  if (spanData.type !== 'response' && spanData.type !== 'generation') return { attributes: {} }
  const response = members(data._response)
  const model = asText(response.model ?? data.model)
  const usage = members(response.usage ?? data.usage)
  const content = {
    'gen_ai.input.messages': JSON.stringify(messagesOf(data._input ?? data.input, 'user')),
    'gen_ai.output.messages': JSON.stringify(messagesOf(response.output ?? data.output, 'assistant')),
  }
  const attributes = present({
    'gen_ai.request.model': model,
    'gen_ai.response.model': model,
    'gen_ai.response.id': asText(response.id),
    'gen_ai.usage.input_tokens': asNumber(usage.input_tokens),
    'gen_ai.usage.output_tokens': asNumber(usage.output_tokens),
    'gen_ai.usage.cache_read.input_tokens': asNumber(members(usage.input_tokens_details).cached_tokens),
    'gen_ai.usage.reasoning.output_tokens': asNumber(members(usage.output_tokens_details).reasoning_tokens),
    ...(captureContent && content),
  })
  return { attributes, ...(model !== undefined && { model }) }
}

/** The messages and calls among the items of the Responses API, in the form of the GenAI conventions. */
function messagesOf(items: unknown, role: string): object[] {
  if (typeof items === 'string') return [{ role, parts: [{ type: 'text', content: items }] }]
  if (!Array.isArray(items)) return []
  return items.flatMap((one: unknown): object[] => {
    const item = members(one)
    const speaker = asText(item.role) ?? role
    if (item.type === 'function_call') {
      const { call_id: id, name, arguments: given } = item
      return [{ role: 'assistant', parts: [{ type: 'tool_call', id, name, arguments: given }] }]
    }
    if (typeof item.content === 'string') return [{ role: speaker, parts: [{ type: 'text', content: item.content }] }]
    if (!Array.isArray(item.content)) return []
    const parts = item.content.map((part: unknown) => ({ type: 'text', content: asText(members(part).text) ?? '' }))
    return [{ role: speaker, parts }]
  })
}

function asText(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  return typeof value === 'string' ? value : JSON.stringify(value)
}

const asNumber = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined)

function present(attributes: Readonly<Record<string, string | number | undefined>>): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined))
}
