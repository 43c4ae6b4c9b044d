/**
 * The spans of a call's executions, `execute_tool {tool}`, and what is measured of them. They end when the call's fate is known, with the
 * time at which their functions settled.
 */

import { type Context, type SpanContext, SpanKind, trace } from '@opentelemetry/api'
import { RunStop } from '../errors.ts'
import { type CallState, executionOf } from '../machine/call.ts'
import type { Invocation } from '../saved-run.ts'
import { annotate, set, toolAttributes } from './attributes.ts'
import { record } from './content.ts'
import { failureOf, type Outcome, outcomeOf, typeOf } from './error-type.ts'
import { setError, setFailed } from './exception.ts'
import type { Attributes, CaptureContent } from './options.ts'
import { EXECUTE_TOOL, OTHER, type SemanticAttributes } from './semconv.ts'
import { endSpan, type Scope, type StartedSpan, startSpan } from './spans.ts'

/** A call, as far as its spans tell of it. */
export interface CallFacts {
  readonly call: { readonly id: string }
  /** The id it has by now. */
  readonly id: string
  /** Absent if there is no such tool. */
  readonly tool: { readonly name: string } | undefined
  readonly attributes: Attributes
  /** The call whose tool or wrap makes this one. */
  readonly maker: CallFacts | undefined
  /** The contexts of the model attempts that asked for it. */
  readonly askedIn: readonly Context[]
  readonly settled: boolean
  readonly message: { readonly isError?: boolean | undefined } | undefined
  readonly stopped: RunStop | undefined
  readonly signal: AbortSignal
  readonly state: CallState
  /** Those whose spans have not ended. */
  readonly executions: ExecutionFacts[]
}

/** One execution of a call, as it is known until its span ends. Times: `performance.now()`. */
export interface ExecutionFacts {
  readonly open: ExecutionSpan
  /** It asked for its slot before the model call had stood. */
  readonly early: boolean
  /** The how-manieth of its call, from 1 (C14). */
  readonly attempt: number
  /** The same for a resume. */
  readonly invocation: Invocation
  /** Aborted with its call, or alone when the wrap that asked for it has left. */
  readonly signal: AbortSignal
  /** When it got its slot, then when the function was called. */
  started: number
  /** Seconds it has waited for its slots. */
  queued: number
  /** Of the call's first: seconds from the evidence for it to the function. */
  lag?: number
  /** Absent while it goes on. */
  ended?: number
  /** Of one that is given the rest of its input: how many milliseconds between two times it has waited for it. */
  wait?: { within(from: number, to: number): number }
  error?: unknown
  /** What it threw answers the abort of its signal. */
  answersAbort?: boolean
}

interface ExecutionBegin {
  readonly call: CallFacts
  readonly input: unknown
  readonly attempt: number
  readonly early: boolean
}

/** What the span may hold of it; the span itself ends with its call. */
interface ExecutionCame {
  /** Of a call that began before its input was whole. */
  readonly input?: () => unknown
  readonly output?: () => unknown
}

/** The span of an execution. */
export interface ExecutionSpan extends StartedSpan<ExecutionCame> {
  /** What it may hold. */
  readonly capture: CaptureContent
}

/** Slot taken, just before the input check → function settled. */
export function executionSpan(scope: Scope, parent: Context, begin: ExecutionBegin): ExecutionSpan {
  const { call, input, attempt, early } = begin
  const tool = call.tool?.name
  const describe = () => ({
    name: tool ? `${EXECUTE_TOOL} ${tool}` : EXECUTE_TOOL,
    kind: SpanKind.INTERNAL,
    attributes: {
      ...toolAttributes(tool, scope.agent),
      'gen_ai.operation.name': EXECUTE_TOOL,
    } satisfies SemanticAttributes,
    links: call.askedIn.flatMap((context) => linkTo(context) ?? []),
  })
  const open = startSpan(scope, parent, describe, ({ input, output }: ExecutionCame) =>
    record(span, capture, () => ({
      'gen_ai.tool.call.arguments': () => input?.(),
      'gen_ai.tool.call.result': () => output?.(),
    })),
  )
  const { span } = open
  // 0 before the first, and for a tool alone: then there is no model call that it waits for.
  const { step } = call.state
  const mode = early ? 'early' : 'after_model'
  const capture = scope.capture()
  annotate(span, () => ({
    ...scope.annotations.get(call.call.id),
    'meanwhile.dispatch.evidence': basisOf(call),
    ...call.attributes,
  }))
  set(span, () => ({
    'gen_ai.tool.type': 'function',
    'gen_ai.tool.call.id': call.id,
    'meanwhile.attempt': attempt,
    'meanwhile.step.index': step || undefined,
    'meanwhile.dispatch.mode': step ? mode : undefined,
    'meanwhile.dispatch.evidence': step && !early ? 'model_stood' : undefined,
  }))
  record(span, capture, () => ({ 'gen_ai.tool.call.arguments': () => input }))
  return { ...open, capture }
}

function linkTo(context: Context): { readonly context: SpanContext } | undefined {
  const asking = trace.getSpanContext(context)
  return asking && { context: asking }
}

/**
 * Ends the spans of a call that was committed, discarded or abandoned, and counts it. `compensated`: whether its discard was
 * undone, if that was tried.
 */
export function endCallSpans(scope: Scope, call: CallFacts, compensated?: boolean): void {
  const answers = scope.answers.get(call) ?? []
  scope.answers.delete(call)
  const executions = call.executions.splice(0)
  if (answers.length + executions.length === 0) return
  const fates = executions.map((execution) => endExecution(scope, call, execution, compensated))
  const fate = fates.at(-1) ?? fateOf(call, call.message?.isError)
  for (const [open, ended] of answers) {
    set(open.span, () => ({ 'meanwhile.outcome': fate, 'meanwhile.discard.reason': reasonOf(call) }))
    endSpan(open, ended)
  }
  const early = executions.length > 0 ? executions.some((execution) => execution.early) : call.state.startedEarly
  countCall(scope, call, call.state.step > 0 ? (early ? 'early' : 'after_model') : undefined, fate)
}

/** Counts a call whose result is that of a checkpoint: it has no span in this run, and its fate was not known in that one. */
export function countReused(scope: Scope, call: CallFacts): void {
  countCall(scope, call, 'early', fateOf(call, call.message?.isError))
}

/** It has no mode outside of a run. */
function countCall(
  { instruments }: Scope,
  { tool }: CallFacts,
  mode: 'early' | 'after_model' | undefined,
  outcome: Outcome,
): void {
  instruments?.calls(1, {
    'gen_ai.tool.name': tool?.name ?? OTHER,
    'meanwhile.dispatch.mode': mode,
    'meanwhile.outcome': outcome,
  })
}

function endExecution(
  { instruments, agent }: Scope,
  call: CallFacts,
  execution: ExecutionFacts,
  compensated: boolean | undefined,
): Outcome {
  const { open, early, attempt, queued, lag, error, invocation } = execution
  const { stage, does } = executionOf(call.state, invocation) ?? {}
  const { span, started } = open
  const ended = execution.ended ?? performance.now()
  const failure = execution.answersAbort ? undefined : failureOf(error, typeOf)
  const undone = error === undefined ? compensated : undefined
  const stays = undone === false ? 'compensation_failed' : undefined
  const isLost = execution.ended === undefined || stage === 'abandoned'
  const outcome = isLost && failure === undefined ? 'abandoned' : fateOf(call, failure !== undefined, execution)
  const headStart = aheadOf(call, execution)
  set(span, () => ({
    'meanwhile.dispatch.queued': queued,
    'meanwhile.tool.effect': does?.effect,
    'meanwhile.dispatch.lag': lag,
    'meanwhile.outcome': outcome,
    'meanwhile.settled': isLost ? false : undefined,
    'meanwhile.discard.reason': reasonOf(call),
    'meanwhile.head_start': headStart,
    'meanwhile.overlap': headStart && overlapOf(execution, Math.min(execution.started + headStart * 1000, ended)),
    'meanwhile.compensated': undone,
  }))
  if (failure) setError(open, error, open.capture, failure, ended)
  if (stays) setFailed(span, stays)
  endSpan(open, ended)
  const tool = call.tool?.name
  const name = { 'gen_ai.tool.name': tool ?? OTHER }
  instruments?.execution((ended - started) / 1000, {
    ...toolAttributes(tool, agent),
    'gen_ai.tool.type': 'function',
    'error.type': failure ?? stays,
    'meanwhile.outcome': outcome,
  })
  instruments?.lags(lag, { ...name, 'meanwhile.dispatch.evidence': evidenceFor(call, early) })
  if (attempt === 1) instruments?.headStarts(headStart, { ...name, 'gen_ai.agent.name': agent })
  return outcome
}

/** Seconds from the start of an early one to the end of the model's stream, if that stood with its call. */
function aheadOf({ state: { modelEnded } }: CallFacts, { early, started }: ExecutionFacts): number | undefined {
  return early && modelEnded !== undefined ? Math.max(0, modelEnded - started) / 1000 : undefined
}

/** Seconds that it worked by then: what it waited for the rest of its input is no work. */
function overlapOf({ started, wait }: ExecutionFacts, until: number): number {
  return (until - started - (wait?.within(started, until) ?? 0)) / 1000
}

/** As it stands on the span; outside of a run there is none. */
function evidenceFor(call: CallFacts, early: boolean): string | undefined {
  const given = early ? basisOf(call) : call.state.step > 0 && 'model_stood'
  return typeof given === 'string' ? given : undefined
}

/** What a tool calls stands on what its own call stands on. */
function basisOf({ attributes, maker }: CallFacts): Attributes[string] {
  return attributes['meanwhile.dispatch.evidence'] ?? (maker && basisOf(maker))
}

/** The reader is told that a call is discarded though it is kept: a resume may yet commit it. */
function reasonOf({ state }: CallFacts): CallState['cause'] {
  return state.kept ? undefined : state.cause
}

/** What became of a call, as far as one of its executions shows it, or a wrap that answered in its place. */
function fateOf(call: CallFacts, failed = false, execution?: ExecutionFacts): Outcome {
  const { kept, fate } = call.state
  if (kept) return kept
  if (fate === 'discarded') return fate
  if (failed) return 'failed'
  const stopped = call.stopped ?? execution?.error
  if (stopped instanceof RunStop) return outcomeOf(stopped)
  return (execution ?? call).signal.aborted ? 'cancelled' : 'committed'
}
