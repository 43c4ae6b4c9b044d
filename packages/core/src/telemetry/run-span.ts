/** The span of a run, `invoke_agent {agent}`, and the measurements of the run. */

import type { AssistantMessage, FinishReason, ToolMessage, Usage } from '../vocabulary/message.ts'
import type { Model } from '../vocabulary/model.ts'
import { ModelError } from '../vocabulary/model-errors.ts'
import { present } from '../vocabulary/present.ts'
import type { Attributes } from '../vocabulary/span-content.ts'
import { tokensOf } from './attempt-span.ts'
import { failureOf, type Outcome, outcomeOf } from './error.ts'
import { contentsOfAnswer } from './message-json.ts'
import { INVOKE_AGENT, type SemanticAttributes } from './semconv.ts'
import type { SpanTable } from './span-table.ts'
import { conversationOf, type Scope } from './spans.ts'
import { untroubled } from './untroubled.ts'

interface RunResult {
  readonly status: Outcome
  readonly message?: AssistantMessage | ToolMessage
  readonly finishReason?: FinishReason
}

interface RunFacts {
  readonly runId: string
  readonly model: Model
  readonly resumed: boolean
  /** Returns attributes of this run and its calls. */
  readonly own?: (() => Attributes) | undefined
  /** Names, the outermost first. */
  readonly middleware: readonly string[]
}

/** How many calls were made early, committed and discarded, and how many results came from a checkpoint. */
export interface Counts {
  early: number
  committed: number
  discarded: number
  reused: number
}

interface RunCame {
  readonly result: RunResult | undefined
  readonly error: unknown
  readonly steps: number
  readonly usage: Usage
  readonly calls: Readonly<Counts>
  /** How many calls the accepted responses requested. */
  readonly wanted: number
  /** How many calls may have happened and have no known result. */
  readonly unknown: number
}

export function runSpan(run: RunFacts, scope: Scope): SpanTable<RunCame> {
  const { agent, options, own, annotations, models } = scope
  const attributes = options?.attributes
  return {
    start: () => ({
      name: `${INVOKE_AGENT} ${agent ?? ''}`.trim(),
      attributes: {
        // Reading the attributes from the options may throw.
        ...untroubled(() => (typeof attributes === 'function' ? Object.assign(own, run.own?.()) : { ...attributes })),
        ...present({
          'gen_ai.operation.name': INVOKE_AGENT,
          'gen_ai.provider.name': run.model.provider,
          'gen_ai.request.model': run.model.id,
          'meanwhile.run.id': run.runId,
          'meanwhile.run.resumed': run.resumed,
          'meanwhile.middleware.order': [...run.middleware],
          'gen_ai.agent.name': agent,
          ...conversationOf(scope),
        } satisfies SemanticAttributes),
      },
    }),
    begun(open) {
      scope.run = open
    },
    end({ result, error, steps, usage, calls, wanted, unknown }) {
      const { status = outcomeOf(error), message, finishReason }: Partial<RunResult> = result ?? {}
      const failure = failureOf(error)
      const reason = failure && error instanceof ModelError ? 'error' : reasonOf(message) || finishReason
      return {
        annotations: () => annotations.get(undefined) ?? {},
        attributes: () =>
          ({
            'meanwhile.outcome': status,
            'meanwhile.step.count': steps,
            'meanwhile.tool_calls.early': calls.early,
            'meanwhile.tool_calls.committed': calls.committed,
            'meanwhile.tool_calls.discarded': calls.discarded,
            'meanwhile.tool_calls.reused': calls.reused,
            'meanwhile.tool_calls.unknown': unknown,
            'gen_ai.response.finish_reasons': reason ? [reason] : undefined,
            ...(options?.usageOnRun && tokensOf(usage)),
          }) satisfies SemanticAttributes,
        contents: () => (message ? contentsOfAnswer(message, finishReason) : {}),
        failure,
        error,
        measure({ run, runAttempts, runCalls }, seconds) {
          const name = { 'gen_ai.agent.name': agent }
          const [model, another] = models.keys()
          const only = another === undefined ? model : undefined
          let attempts = 0
          for (const count of models.values()) attempts += count
          run(seconds, { ...name, 'gen_ai.request.model': only, 'error.type': failure })
          runAttempts(attempts, name)
          runCalls(wanted, name)
        },
      }
    },
  }
}

/** The provider's own reason, if the message has one. */
function reasonOf(message: RunResult['message']): string | undefined {
  return message?.role === 'assistant' ? message.response?.finishReason : undefined
}
