/** The spans of a call's executions, and their measurements. They end when the call's fate is known, with the time at which their functions settled. */

import { type Context, trace } from '@opentelemetry/api'
import { type CallState, executionOf } from '../machine/call.ts'
import { RunStop } from '../vocabulary/errors.ts'
import type { Invocation } from '../vocabulary/saved-run.ts'
import type { Attributes } from '../vocabulary/span-content.ts'
import { record } from './content.ts'
import { failureOf, type Outcome, outcomeOf, typeOf } from './error.ts'
import { EXECUTE_TOOL, OTHER, type SemanticAttributes } from './semconv.ts'
import { type Ending, finish, type SpanTable } from './span-table.ts'
import { conversationOf, type OpenSpan, type Scope, setAttributes } from './spans.ts'

/** The part of a call that its spans need. */
export interface CallFacts {
  /** The call as it was made, with its first id. */
  readonly call: { readonly id: string }
  /** The present id. */
  readonly id: string
  /** Absent if there is no such tool. */
  readonly tool: { readonly name: string } | undefined
  /** Attributes for its span. */
  readonly attributes: Attributes
  /** The call whose tool or wrap makes this one. */
  readonly maker: CallFacts | undefined
  /** For a call that started with a part of its input. */
  readonly rest?: { readonly isOpen: boolean } | undefined
  /** The contexts of the model attempts that requested it. */
  readonly requestedIn: readonly Context[]
  /** Whether the call has its result. */
  readonly settled: boolean
  /** The result; undefined while there is none. */
  readonly message: { readonly isError?: boolean | undefined } | undefined
  /** What stopped the call with a checkpoint; undefined if nothing did. */
  readonly stopped: RunStop | undefined
  /** Aborts with the call. */
  readonly signal: AbortSignal
  /** The state of the call that its span shows. */
  readonly state: Pick<
    CallState,
    'step' | 'startedEarly' | 'requestedAt' | 'modelEnded' | 'fate' | 'cause' | 'kept' | 'executions' | 'attempts'
  >
  /** The executions whose spans have not ended. */
  readonly executions: ExecutionFacts[]
}

/** What is known of one execution until its span ends. Times are in `performance.now()`. */
export interface ExecutionFacts {
  /** The span. */
  readonly open: OpenSpan
  /** Whether it asked for its slot before the model call succeeded. */
  readonly early: boolean
  /** The number of this execution in its call, from 1. */
  readonly attempt: number
  /** Identifies this execution across resumes. */
  readonly invocation: Invocation
  /** Aborts with its call, or separately when the wrap that asked for it has left. */
  readonly signal: AbortSignal
  /** When it got its slot; later, when the function was called. */
  started: number
  /** How many seconds it has waited for its slots. */
  queued: number
  /** For the first execution of a call: seconds from the evidence for the call to the start of the function. */
  lag?: number
  /** Absent while it is running. */
  ended?: number
  /** For an execution that receives the rest of its input: how many milliseconds between two times it has waited for that. */
  wait?: { readonly until: number | undefined; within(from: number, to: number): number }
  /** What the execution threw; absent if it threw nothing. */
  error?: unknown
  /** Whether its error results from the abort of its signal. */
  answersAbort?: boolean
}

interface ExecutionBegin {
  readonly call: CallFacts
  readonly input: unknown
  readonly attempt: number
  readonly early: boolean
}

/** What is known when the function has settled. The span itself ends with its call. */
interface ExecutionCame {
  readonly settled?: ExecutionFacts | undefined
  /** For a call that began before its input was complete. */
  readonly input?: () => unknown
  readonly output?: () => unknown
}

/** From the slot, just before the input check, until the function has settled. */
export function executionSpan(facts: ExecutionBegin, scope: Scope): SpanTable<ExecutionCame> {
  const { agent, own, annotations } = scope
  const { call, input, attempt, early } = facts
  // 0 before the first step, and for a tool without a run, which has no model call to wait for.
  const { step } = call.state
  return {
    start: () => ({
      name: `${EXECUTE_TOOL} ${call.tool?.name ?? ''}`.trim(),
      attributes: {
        ...toolAttributes(call, agent),
        'gen_ai.operation.name': EXECUTE_TOOL,
        ...conversationOf(scope),
      } satisfies SemanticAttributes,
      links: call.requestedIn.flatMap((asking) => trace.getSpanContext(asking) ?? []).map((context) => ({ context })),
    }),
    annotations: () => ({ ...own, ...annotations.get(call.call.id), ...call.attributes }),
    attributes: () =>
      ({
        'gen_ai.tool.type': 'function',
        'gen_ai.tool.call.id': call.id,
        'meanwhile.attempt': attempt,
        'meanwhile.step.index': step || undefined,
        'meanwhile.dispatch.mode': modeOf(step, early),
        'meanwhile.dispatch.evidence': evidenceFor(call, early),
      }) satisfies SemanticAttributes,
    contents: () => ({ 'gen_ai.tool.call.arguments': () => input }),
    end({ settled, input, output }, { span, capture }) {
      if (settled) setAttributes(span, () => timesOf(call, settled))
      record(span, capture, () => ({
        'gen_ai.tool.call.arguments': () => input?.(),
        'gen_ai.tool.call.result': () => output?.(),
      }))
      return undefined
    },
  }
}

/** The times of an execution that has settled. */
function timesOf({ rest }: CallFacts, { open, started, ended = 0, lag = 0, wait }: ExecutionFacts): SemanticAttributes {
  const waited = rest && wait && wait.within(started, ended) / 1000
  const until = !rest || rest.isOpen ? 0 : (wait?.until ?? 0)
  return {
    'meanwhile.tool.duration': (ended - open.started) / 1000,
    'meanwhile.rest.waited': waited || undefined,
    ...(until > started && { 'meanwhile.arguments.closed': (started - until) / 1000 - lag }),
  }
}

/** `_OTHER` if there is no such tool: the model made up the name, so it is content. */
function nameOf({ tool }: CallFacts): SemanticAttributes {
  return { 'gen_ai.tool.name': tool?.name ?? OTHER }
}

function toolAttributes(call: CallFacts, agent: string | undefined): SemanticAttributes {
  return { ...nameOf(call), 'gen_ai.agent.name': agent }
}

/** `undefined` outside of a run. */
const modeOf = (step: number, early: boolean): string | undefined =>
  step > 0 ? (early ? 'early' : 'after_model') : undefined

/** Ends the spans of a call and counts it, when its fate is known. `compensated`: whether its undo succeeded, if there was one. */
export function endCallSpans(scope: Scope, call: CallFacts, compensated?: boolean): void {
  const answers = scope.answers.get(call) ?? []
  scope.answers.delete(call)
  const executions = call.executions.splice(0)
  if (answers.length + executions.length === 0 || (!scope.tracing && !scope.instruments)) return
  const fates = executions.map((execution) => endExecution(scope, call, execution, compensated))
  const fate = fates.at(-1) ?? fateOf(call, call.message?.isError)
  for (const end of answers) end(fate, reasonOf(call))
  const early = executions.length > 0 ? executions.some((execution) => execution.early) : call.state.startedEarly
  countCall(scope, call, modeOf(call.state.step, early), fate)
}

/** Counts a call with a result from a checkpoint: it has no span in this run, and its fate was not known in the earlier one. */
export function countReused(scope: Scope, call: CallFacts): void {
  countCall(scope, call, 'early', fateOf(call, call.message?.isError))
}

function countCall({ instruments }: Scope, call: CallFacts, mode: string | undefined, outcome: Outcome): void {
  instruments?.calls(1, { ...nameOf(call), 'meanwhile.dispatch.mode': mode, 'meanwhile.outcome': outcome })
}

function endExecution(scope: Scope, call: CallFacts, execution: ExecutionFacts, compensated?: boolean): Outcome {
  const { open, early, attempt, queued, lag, error, invocation } = execution
  const at = execution.ended ?? performance.now()
  const thrown = execution.answersAbort ? undefined : failureOf(error, typeOf)
  const undone = error === undefined ? compensated : undefined
  const failure = thrown ?? (undone === false ? 'compensation_failed' : undefined)
  const isAbandoned = execution.ended === undefined || executionOf(call.state, invocation)?.stage === 'abandoned'
  const outcome = isAbandoned && thrown === undefined ? 'abandoned' : fateOf(call, thrown !== undefined, execution)
  const headStart = aheadOf(call, execution)
  const decidedAt = outcome === 'discarded' ? performance.now() : call.state.requestedAt
  const ending: Ending = {
    attributes: () =>
      ({
        'meanwhile.dispatch.queued': queued,
        'meanwhile.dispatch.lag': lag,
        'meanwhile.outcome': outcome,
        'meanwhile.settled': isAbandoned ? false : undefined,
        'meanwhile.discard.reason': reasonOf(call),
        'meanwhile.head_start': headStart,
        'meanwhile.overlap': headStart && overlapOf(execution, Math.min(execution.started + headStart * 1000, at)),
        'meanwhile.commit.lag': Math.max(0, decidedAt - at) / 1000 || undefined,
        'meanwhile.compensated': undone,
      }) satisfies SemanticAttributes,
    failure,
    error,
    at,
    measure({ execution, lags, headStarts }, seconds) {
      const tool = toolAttributes(call, scope.agent)
      execution(seconds, {
        ...tool,
        'gen_ai.tool.type': 'function',
        'error.type': failure,
        'meanwhile.outcome': outcome,
      })
      lags(lag, { ...nameOf(call), 'meanwhile.dispatch.evidence': evidenceFor(call, early) })
      if (attempt === 1) headStarts(headStart, tool)
    },
  }
  finish(open, scope, ending, open.capture)
  return outcome
}

/** Seconds from the start of an early execution to the end of the model's stream, if that response was accepted with its call. */
function aheadOf({ state: { modelEnded } }: CallFacts, { early, started }: ExecutionFacts): number | undefined {
  return early && modelEnded !== undefined ? Math.max(0, modelEnded - started) / 1000 : undefined
}

/** Seconds that it worked until then. Waiting for the rest of its input does not count. */
function overlapOf({ started, wait }: ExecutionFacts, until: number): number {
  return (until - started - (wait?.within(started, until) ?? 0)) / 1000
}

/** The evidence as on the span; `undefined` outside of a run. */
function evidenceFor(call: CallFacts, early: boolean): string | undefined {
  const given = early ? basisOf(call) : call.state.step > 0 && 'model_stood'
  return typeof given === 'string' ? given : undefined
}

/** An inner call has the evidence of its maker. */
function basisOf({ attributes, maker }: CallFacts): Attributes[string] {
  return attributes['meanwhile.dispatch.evidence'] ?? (maker && basisOf(maker))
}

/** The reader sees a discard although the call is kept: a resume may still commit it. */
function reasonOf({ state }: CallFacts): CallState['cause'] {
  return state.kept ? undefined : state.cause
}

/** The fate of a call, as one of its executions shows it, or a wrap that answered instead. */
function fateOf(call: CallFacts, failed = false, execution?: ExecutionFacts): Outcome {
  const { kept, fate } = call.state
  if (kept) return kept
  if (fate === 'discarded') return fate
  if (failed) return 'failed'
  const stopped = call.stopped ?? execution?.error
  if (stopped instanceof RunStop) return outcomeOf(stopped)
  return (execution ?? call).signal.aborted ? 'cancelled' : 'committed'
}
