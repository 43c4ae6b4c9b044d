/** One function per kind of span. Parents are given, never taken from what happens to be active. */

import {
  type Attributes,
  type Context,
  diag,
  INVALID_SPAN_CONTEXT,
  type Link,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'
import { messageOf, RunAbortedError, RunStop, TimeoutError } from '../errors.ts'
import { Interrupt } from '../interrupt.ts'
import type { AssistantMessage, Usage } from '../message.ts'
import type { Model, ModelRequest } from '../model.ts'
import { ModelError } from '../model-errors.ts'
import { ToolDiscardedError, ToolInputError, ToolTimeoutError, UnknownToolError } from '../tool-errors.ts'
import { type CaptureContent, textToRecord } from './content.ts'
import * as names from './semconv.ts'

export interface TelemetryOptions {
  /** Default: the global one, asked late, so that an SDK registered after the import counts. */
  readonly tracerProvider?: TracerProvider
  /** Whether the run's span carries the sums of its model calls' token counts. Default true. */
  readonly usageOnRun?: boolean
  /**
   * Whether spans hold messages, arguments, results and error texts: see {@link CaptureContent}. By default they do not, unless
   * `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` says so. A `beforeAgent` may change it for its run.
   */
  readonly captureContent?: CaptureContent
  /** Put on the run's span at its start: an experiment's label, a tenant. */
  readonly attributes?: Attributes
}

export interface OpenSpan {
  readonly span: Span
  /** The context in which the span is active: what runs in it nests under the span. */
  readonly context: Context
}

export type Outcome = 'completed' | 'failed' | 'interrupted' | 'cancelled' | 'committed' | 'discarded' | 'abandoned'

export function tracerOf(options: TelemetryOptions | undefined): Tracer {
  return (options?.tracerProvider ?? trace).getTracer(names.SCOPE, names.VERSION)
}

function open(
  tracer: Tracer,
  name: string,
  kind: SpanKind,
  parent: Context,
  attributes: Attributes,
  links?: Link[],
): OpenSpan {
  const options = { kind, attributes, startTime: performance.now(), ...(links && { links }) }
  let span: Span
  try {
    span = tracer.startSpan(name, options, parent)
  } catch (error) {
    // Telemetry never throws into a run.
    diag.error('a span could not be started', messageOf(error))
    span = trace.wrapSpanContext(INVALID_SPAN_CONTEXT)
  }
  return { span, context: trace.setSpan(parent, span) }
}

export interface RunSpan {
  readonly runId: string
  readonly agent: string | undefined
  readonly model: Model
  readonly conversationId: string | undefined
  readonly resumed: boolean
  readonly middleware: readonly string[]
  readonly attributes: Attributes | undefined
}

/** `invoke_agent {agent}`: the run starts → its result is known. */
export function startRunSpan(tracer: Tracer, parent: Context, run: RunSpan): OpenSpan {
  return open(tracer, run.agent ? `invoke_agent ${run.agent}` : 'invoke_agent', SpanKind.INTERNAL, parent, {
    ...run.attributes,
    [names.OPERATION]: 'invoke_agent',
    [names.PROVIDER]: run.model.provider,
    [names.REQUEST_MODEL]: run.model.id,
    [names.RUN_ID]: run.runId,
    [names.MIDDLEWARE_ORDER]: [...run.middleware],
    ...(run.resumed && { [names.RUN_RESUMED]: true }),
    ...(run.agent !== undefined && { [names.AGENT_NAME]: run.agent }),
    ...(run.conversationId !== undefined && { [names.CONVERSATION_ID]: run.conversationId }),
  })
}

/** `chat {model}`: request issued → stream fully received, failed or cancelled. */
export function startChatSpan(
  tracer: Tracer,
  parent: Context,
  request: ModelRequest,
  place: { readonly step: number; readonly attempt: number; readonly conversationId: string | undefined },
): OpenSpan {
  const { model, settings } = request
  const optional: Attributes = {
    [names.CONVERSATION_ID]: place.conversationId,
    [names.SERVER_ADDRESS]: model.server?.address,
    [names.SERVER_PORT]: model.server?.port,
    [names.REQUEST_MAX_TOKENS]: settings.maxTokens,
    [names.REQUEST_TEMPERATURE]: settings.temperature,
    [names.REQUEST_TOP_P]: settings.topP,
    [names.REQUEST_TOP_K]: settings.topK,
    [names.REQUEST_FREQUENCY_PENALTY]: settings.frequencyPenalty,
    [names.REQUEST_PRESENCE_PENALTY]: settings.presencePenalty,
    [names.REQUEST_STOP_SEQUENCES]: settings.stopSequences && [...settings.stopSequences],
    [names.REQUEST_SEED]: settings.seed,
  }
  return open(tracer, `chat ${model.id}`, SpanKind.CLIENT, parent, {
    ...present(optional),
    [names.OPERATION]: 'chat',
    [names.PROVIDER]: model.provider,
    [names.REQUEST_MODEL]: model.id,
    [names.REQUEST_STREAM]: true,
    [names.STEP_INDEX]: place.step,
    [names.ATTEMPT]: place.attempt,
  })
}

/** What a response said of itself, on its `chat` span. */
export function setResponse(span: Span, message: AssistantMessage): void {
  const { response, usage } = message
  span.setAttributes(
    present({
      [names.RESPONSE_ID]: response?.id,
      [names.RESPONSE_MODEL]: response?.model,
      [names.FINISH_REASONS]: [response?.finishReason ?? message.finishReason],
    }),
  )
  if (usage) setUsage(span, usage)
}

export function setUsage(span: Span, usage: Usage): void {
  span.setAttributes(
    present({
      [names.INPUT_TOKENS]: usage.inputTokens,
      [names.OUTPUT_TOKENS]: usage.outputTokens,
      [names.CACHE_READ_TOKENS]: usage.cacheReadTokens,
      [names.CACHE_CREATION_TOKENS]: usage.cacheWriteTokens,
      [names.REASONING_TOKENS]: usage.reasoningTokens,
    }),
  )
}

export interface ToolSpan {
  /** Absent if there is no such tool: the word is the model's, and so content. */
  readonly tool: string | undefined
  readonly callId: string
  readonly agent: string | undefined
  /** 0 before the first, and alone: then there is no model call that it waits for. */
  readonly step: number
  readonly attempt: number
  readonly early: boolean
  readonly attributes: Attributes
  /** The model attempts that asked for the call. */
  readonly asked: readonly SpanContext[]
}

/** `execute_tool {tool}`: slot taken, just before the input check → function settled. */
export function startToolSpan(tracer: Tracer, parent: Context, call: ToolSpan): OpenSpan {
  const attributes: Attributes = {
    [names.OPERATION]: 'execute_tool',
    [names.TOOL_NAME]: call.tool ?? names.OTHER,
    [names.TOOL_CALL_ID]: call.callId,
    [names.TOOL_TYPE]: 'function',
    [names.ATTEMPT]: call.attempt,
    ...(call.step > 0 && {
      [names.STEP_INDEX]: call.step,
      [names.DISPATCH_MODE]: call.early ? 'early' : 'after_model',
    }),
    ...(call.step > 0 && !call.early && { [names.DISPATCH_EVIDENCE]: 'model_stood' }),
    ...(call.agent !== undefined && { [names.AGENT_NAME]: call.agent }),
    ...call.attributes,
  }
  const links = call.asked.map((context) => ({ context }))
  return open(
    tracer,
    call.tool ? `execute_tool ${call.tool}` : 'execute_tool',
    SpanKind.INTERNAL,
    parent,
    attributes,
    links,
  )
}

/** `middleware {name} {hook}`: its first step → its last. */
export function startMiddlewareSpan(
  tracer: Tracer,
  parent: Context,
  name: string,
  hook: string,
  step: number,
): OpenSpan {
  return open(tracer, `middleware ${name} ${hook}`, SpanKind.INTERNAL, parent, {
    [names.MIDDLEWARE_NAME]: name,
    [names.MIDDLEWARE_HOOK]: hook,
    ...(step > 0 && { [names.STEP_INDEX]: step }),
  })
}

/** The trace in which an error was recorded last: one object may be thrown in many. */
const recorded = new WeakMap<object, string>()

/**
 * Marks the span as failed. What was done on purpose is no error: an abort or a discard leaves it UNSET. The exception is
 * recorded once in a trace, where it happened. Its message holds user data: it is recorded with the content.
 */
export function setError(span: Span, error: unknown, capture: CaptureContent): void {
  if (!span.isRecording() || isOnPurpose(error)) return
  span.setAttribute(names.ERROR_TYPE, errorType(error))
  const message = textToRecord(capture, names.EXCEPTION_MESSAGE, messageOf(error))
  span.setStatus({ code: SpanStatusCode.ERROR, ...(message !== undefined && { message }) })
  const { traceId } = span.spanContext()
  if (!(error instanceof Error) || recorded.get(error) === traceId) return
  recorded.set(error, traceId)
  const name = textOf(error, 'name')
  const frames = framesOf(error)
  span.recordException({ name, message: message ?? '', stack: message ? `${name}: ${message}\n${frames}` : frames })
}

function isOnPurpose(error: unknown): boolean {
  return error instanceof RunAbortedError || error instanceof RunStop || error instanceof ToolDiscardedError
}

/** A class name or a word of the conventions: few distinct values, no content. */
export function errorType(error: unknown): string {
  if (error instanceof ModelError) return String(error.status ?? (error.code === 'unknown' ? error.name : error.code))
  if (error instanceof ToolInputError) return 'invalid_input'
  if (error instanceof UnknownToolError) return 'unknown_tool'
  if (error instanceof TimeoutError || error instanceof ToolTimeoutError) return 'timeout'
  return (error instanceof Error && textOf(error, 'name')) || names.OTHER
}

/** The run's or an attempt's outcome, from what it threw. */
export function outcomeOf(error: unknown): Outcome {
  if (error === undefined) return 'completed'
  if (error instanceof Interrupt) return 'interrupted'
  return isOnPurpose(error) ? 'cancelled' : 'failed'
}

function framesOf(error: Error): string {
  return textOf(error, 'stack')
    .replace(messageOf(error), '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .join('\n')
}

/** Whatever is thrown may itself throw when it is looked at, or hold anything. */
function textOf(error: Error, member: 'name' | 'stack'): string {
  try {
    const value: unknown = error[member]
    return typeof value === 'string' ? value : ''
  } catch {
    return ''
  }
}

function present(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined))
}
