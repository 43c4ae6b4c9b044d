/** One function per kind of span. Parents are given, never taken from what happens to be active. */

import {
  type Attributes,
  type Context,
  INVALID_SPAN_CONTEXT,
  type Link,
  ProxyTracerProvider,
  type Span,
  type SpanContext,
  SpanKind,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { Model, ModelRequest } from '../model.ts'
import { annotate, attemptAttributes, set, toolAttributes } from './attributes.ts'
import type { TelemetryOptions } from './options.ts'
import type { SemanticAttributes } from './semconv.ts'
import * as names from './semconv.ts'
import { epochNow, timeOfDay } from './time-of-day.ts'
import { untroubled } from './untroubled.ts'

export interface OpenSpan {
  readonly span: Span
  /** The context in which the span is active: what runs in it nests under the span. */
  readonly context: Context
  /** When it began, in `performance.now()`. */
  readonly started: number
  /** As {@link Tracing.epoch}. */
  readonly epoch: number
}

/** What the spans of a run are made with. */
export interface Tracing {
  readonly tracer: Tracer
  /** By {@link epochNow}: the same for all of them. */
  readonly epoch: number
}

/** `undefined` without an SDK, asked when a run begins: one that comes later serves the next. */
export function tracingOf(options: TelemetryOptions | undefined): Tracing | undefined {
  let tracer: Tracer | undefined
  untroubled(() => {
    const provider = options?.tracerProvider ?? trace.getTracerProvider()
    const scope = [names.SCOPE, names.VERSION] as const
    // The one there is before an SDK says whether there is one behind it by now.
    tracer =
      provider instanceof ProxyTracerProvider ? provider.getDelegateTracer(...scope) : provider.getTracer(...scope)
  })
  return tracer && { tracer, epoch: epochNow() }
}

interface Beginning {
  readonly name: string
  readonly kind: SpanKind
  /** What samplers decide on. An SDK checks and copies these twice as often as those it gets later: so they are few. */
  readonly attributes: Attributes
  readonly links?: Link[]
}

/** In the place of a span, without an SDK: nothing is built for nobody, and what runs in it runs in its parent's context. */
function silentIn(parent: Context): OpenSpan {
  return { span: silent(trace.getSpanContext(parent)), context: parent, started: performance.now(), epoch: 0 }
}

function open(tracing: Tracing, parent: Context, { name, kind, attributes, links = [] }: Beginning): OpenSpan {
  const { tracer, epoch } = tracing
  const started = performance.now()
  let span = silent()
  untroubled(() => {
    const made = tracer.startSpan(name, { kind, attributes, links, startTime: timeOfDay(epoch, started) }, parent)
    // One that cannot be asked these is none: they are asked where nothing guards them.
    made.isRecording()
    made.spanContext()
    span = made
  })
  return { span, context: trace.setSpan(parent, span), started, epoch }
}

function silent(context: SpanContext = INVALID_SPAN_CONTEXT): Span {
  return trace.wrapSpanContext(context)
}

export function link(span: Span, to: SpanContext): void {
  untroubled(() => span.addLink({ context: to }))
}

/** `at`: in `performance.now()`. */
export function endSpan({ span, epoch }: OpenSpan, at: number = performance.now()): void {
  untroubled(() => span.end(timeOfDay(epoch, at)))
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
export function startRunSpan(tracing: Tracing | undefined, parent: Context, run: RunSpan): OpenSpan {
  if (!tracing) return silentIn(parent)
  const attributes: SemanticAttributes = {
    'gen_ai.operation.name': names.INVOKE_AGENT,
    'gen_ai.provider.name': run.model.provider,
    'gen_ai.request.model': run.model.id,
    'meanwhile.run.id': run.runId,
    'meanwhile.run.resumed': run.resumed,
    'meanwhile.middleware.order': [...run.middleware],
    ...(run.agent !== undefined && { 'gen_ai.agent.name': run.agent }),
    ...(run.conversationId !== undefined && { 'gen_ai.conversation.id': run.conversationId }),
  }
  return open(tracing, parent, {
    name: run.agent ? `${names.INVOKE_AGENT} ${run.agent}` : names.INVOKE_AGENT,
    kind: SpanKind.INTERNAL,
    attributes: { ...labels(run.attributes), ...attributes },
  })
}

/** Those of whoever made the agent: they may throw when they are read. */
function labels(given: Attributes = {}): Attributes {
  let read: Attributes = {}
  untroubled(() => {
    read = { ...given }
  })
  return read
}

/** `chat {model}`: request issued → stream fully received, failed or cancelled. */
export function startChatSpan(
  tracing: Tracing | undefined,
  parent: Context,
  { model, settings }: ModelRequest,
  place: { readonly step: number; readonly attempt: number; readonly conversationId: string | undefined },
): OpenSpan {
  if (!tracing) return silentIn(parent)
  const chat = open(tracing, parent, {
    name: `${names.CHAT} ${model.id}`,
    kind: model.inProcess ? SpanKind.INTERNAL : SpanKind.CLIENT,
    attributes: {
      ...attemptAttributes(model),
      'gen_ai.request.stream': true,
      'gen_ai.conversation.id': place.conversationId,
    } satisfies SemanticAttributes,
  })
  set(chat.span, () => ({
    'gen_ai.request.max_tokens': settings.maxTokens,
    'gen_ai.request.temperature': settings.temperature,
    'gen_ai.request.top_p': settings.topP,
    'gen_ai.request.top_k': settings.topK,
    'gen_ai.request.frequency_penalty': settings.frequencyPenalty,
    'gen_ai.request.presence_penalty': settings.presencePenalty,
    'gen_ai.request.stop_sequences': settings.stopSequences && [...settings.stopSequences],
    'gen_ai.request.seed': settings.seed,
    'meanwhile.step.index': place.step || undefined,
    'meanwhile.attempt': place.attempt,
  }))
  return chat
}

export interface ToolSpan {
  /** Absent if there is no such tool. */
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
export function startToolSpan(tracing: Tracing | undefined, parent: Context, describe: () => ToolSpan): OpenSpan {
  if (!tracing) return silentIn(parent)
  const call = describe()
  const execution = open(tracing, parent, {
    name: call.tool ? `${names.EXECUTE_TOOL} ${call.tool}` : names.EXECUTE_TOOL,
    kind: SpanKind.INTERNAL,
    attributes: {
      ...toolAttributes(call.tool, call.agent),
      'gen_ai.operation.name': names.EXECUTE_TOOL,
    } satisfies SemanticAttributes,
    links: call.asked.map((context) => ({ context })),
  })
  const { step, early } = call
  const mode = early ? 'early' : 'after_model'
  annotate(execution.span, () => call.attributes)
  set(execution.span, () => ({
    'gen_ai.tool.type': 'function',
    'gen_ai.tool.call.id': call.callId,
    'meanwhile.attempt': call.attempt,
    'meanwhile.step.index': step || undefined,
    'meanwhile.dispatch.mode': step ? mode : undefined,
    'meanwhile.dispatch.evidence': step && !early ? 'model_stood' : undefined,
  }))
  return execution
}

/** `middleware {name} {hook}`: its first step → its last. */
export function startMiddlewareSpan(
  tracing: Tracing | undefined,
  parent: Context,
  name: string,
  hook: string,
  step: number,
): OpenSpan {
  if (!tracing) return silentIn(parent)
  const opened = open(tracing, parent, {
    name: `${names.MIDDLEWARE} ${name} ${hook}`,
    kind: SpanKind.INTERNAL,
    attributes: {},
  })
  set(opened.span, () => ({
    'meanwhile.middleware.name': name,
    'meanwhile.middleware.hook': hook,
    'meanwhile.step.index': step || undefined,
  }))
  return opened
}
