/** The span of a run, `invoke_agent {agent}`, and what is measured of the run. */

import { type Context, context, SpanKind } from '@opentelemetry/api'
import type { AssistantMessage, FinishReason, ToolMessage, Usage } from '../message.ts'
import type { Model } from '../model.ts'
import { ModelError } from '../model-errors.ts'
import { present } from '../present.ts'
import { annotate, set, setUsage } from './attributes.ts'
import { record } from './content.ts'
import { failureOf, type Outcome, outcomeOf } from './error-type.ts'
import { setError } from './exception.ts'
import { contentsOfAnswer } from './message-json.ts'
import type { Attributes } from './options.ts'
import { INVOKE_AGENT, type SemanticAttributes } from './semconv.ts'
import { endSpan, type OpenSpan, type Scope, type StartedSpan, startSpan } from './spans.ts'
import { untroubled } from './untroubled.ts'

interface RunResult {
  readonly status: Outcome
  readonly message?: AssistantMessage | ToolMessage
  readonly finishReason?: FinishReason
}

interface RunFacts {
  readonly runId: string
  readonly model: Model
  readonly conversationId: string | undefined
  readonly resumed: boolean
  /** Names, the outermost first. */
  readonly middleware: readonly string[]
}

interface RunCame {
  readonly result: RunResult | undefined
  readonly error: unknown
  readonly steps: number
  readonly usage: Usage
  readonly calls: {
    readonly early: number
    readonly committed: number
    readonly discarded: number
    readonly reused: number
  }
  /** How many calls the responses that stood asked for. */
  readonly wanted: number
  /** How many calls may have happened before the run was resumed. */
  readonly unknown: number
}

export function runSpan(scope: Scope, parent: Context, run: RunFacts): StartedSpan<RunCame> {
  const { agent, options } = scope
  const describe = () => {
    const attributes = present({
      'gen_ai.operation.name': INVOKE_AGENT,
      'gen_ai.provider.name': run.model.provider,
      'gen_ai.request.model': run.model.id,
      'meanwhile.run.id': run.runId,
      'meanwhile.run.resumed': run.resumed,
      'meanwhile.middleware.order': [...run.middleware],
      'gen_ai.agent.name': agent,
      'gen_ai.conversation.id': run.conversationId,
    } satisfies SemanticAttributes)
    return {
      name: agent ? `${INVOKE_AGENT} ${agent}` : INVOKE_AGENT,
      kind: SpanKind.INTERNAL,
      attributes: { ...labels(options?.attributes), ...attributes },
    }
  }
  const open: StartedSpan<RunCame> = startSpan(scope, parent, describe, (came) =>
    context.with(open.context, untroubled, undefined, () => endRunSpan(scope, open, came)),
  )
  return open
}

/** Those of whoever made the agent: they may throw when they are read. */
function labels(given: Attributes = {}): Attributes {
  let read: Attributes = {}
  untroubled(() => {
    read = { ...given }
  })
  return read
}

function endRunSpan(scope: Scope, open: OpenSpan, came: RunCame): void {
  const { span, started } = open
  const { result, error, calls } = came
  const failure = failureOf(error)
  const reason = failure && error instanceof ModelError ? 'error' : finishReasonOf(result)
  annotate(span, () => scope.annotations.get(undefined) ?? {})
  set(span, () => ({
    'meanwhile.outcome': result?.status ?? outcomeOf(error),
    'meanwhile.step.count': came.steps,
    'meanwhile.tool_calls.early': calls.early,
    'meanwhile.tool_calls.committed': calls.committed,
    'meanwhile.tool_calls.discarded': calls.discarded,
    'meanwhile.tool_calls.reused': calls.reused,
    'meanwhile.tool_calls.unknown': came.unknown,
    'gen_ai.response.finish_reasons': reason ? [reason] : undefined,
  }))
  if (scope.options?.usageOnRun !== false) setUsage(span, came.usage)
  const { message, finishReason } = result ?? {}
  if (message) record(span, scope.capture(), () => contentsOfAnswer(message, finishReason))
  if (failure) setError(open, error, scope.capture())
  const ended = performance.now()
  endSpan(open, ended)
  const { instruments, agent, models } = scope
  if (!instruments) return
  const name = { 'gen_ai.agent.name': agent }
  const [model, another] = models.keys()
  const only = another === undefined ? model : undefined
  let attempts = 0
  for (const count of models.values()) attempts += count
  instruments.run((ended - started) / 1000, { ...name, 'gen_ai.request.model': only, 'error.type': failure })
  instruments.runAttempts(attempts, name)
  instruments.runCalls(came.wanted, name)
}

/** In the provider's own word, if its message has one. */
function finishReasonOf({ message, finishReason }: Partial<RunResult> = {}): string | undefined {
  return (message?.role === 'assistant' && message.response?.finishReason) || finishReason
}
