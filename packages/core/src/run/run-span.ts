/** The end of a run's span, and of what is measured of the run. */

import { ModelError } from '../model-errors.ts'
import type { AgentResult } from '../result.ts'
import { annotate, set } from '../telemetry/attributes.ts'
import { record } from '../telemetry/content.ts'
import { failureOf } from '../telemetry/error-type.ts'
import { setError } from '../telemetry/exception.ts'
import { contentsOfAnswer } from '../telemetry/message-json.ts'
import { outcomeOf } from '../telemetry/outcome.ts'
import { setUsage } from '../telemetry/response.ts'
import { endSpan, type OpenSpan } from '../telemetry/spans.ts'
import type { RunState } from './run.ts'

/** What the run came to: a result, or what it threw. */
export function endRunSpan(run: RunState, open: OpenSpan, error: unknown, result?: AgentResult): void {
  const { span, started } = open
  const { counts, wanted } = run.calls
  const failure = failureOf(error)
  const reason = failure && error instanceof ModelError ? 'error' : finishReasonOf(result)
  annotate(span, () => run.annotations.of())
  set(span, () => ({
    'meanwhile.outcome': result?.status ?? outcomeOf(error),
    'meanwhile.step.count': run.steps.begun,
    'meanwhile.tool_calls.early': counts.early,
    'meanwhile.tool_calls.committed': counts.committed,
    'meanwhile.tool_calls.discarded': counts.discarded,
    'meanwhile.tool_calls.reused': counts.reused,
    'meanwhile.tool_calls.unknown': run.unknown.length,
    'gen_ai.response.finish_reasons': reason ? [reason] : undefined,
  }))
  if (run.config.telemetry?.usageOnRun !== false) setUsage(span, run.usage)
  const { message, finishReason } = result ?? {}
  if (message) record(span, run.capture, () => contentsOfAnswer(message, finishReason))
  if (failure) setError(open, error, run.capture)
  const ended = performance.now()
  endSpan(open, ended)
  run.metrics?.run((ended - started) / 1000, wanted, failure)
}

/** In the provider's own word, if its message has one. */
function finishReasonOf({ message, finishReason }: Partial<AgentResult> = {}): string | undefined {
  return (message?.role === 'assistant' && message.response?.finishReason) || finishReason
}
