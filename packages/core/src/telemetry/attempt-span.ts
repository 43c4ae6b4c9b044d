/** The span of a model attempt, `chat {model}`, and what is measured of the attempt. */

import { type Context, SpanKind } from '@opentelemetry/api'
import type { AssistantMessage } from '../message.ts'
import type { ModelRequest } from '../model.ts'
import { attemptAttributes, set, setUsage } from './attributes.ts'
import { record } from './content.ts'
import { failureOf, outcomeOf, typeOf } from './error-type.ts'
import { setError } from './exception.ts'
import { contentsOfAnswer, contentsOfRequest } from './message-json.ts'
import { CHAT, type SemanticAttributes } from './semconv.ts'
import { endSpan, type OpenSpan, type Scope, type StartedSpan, startSpan } from './spans.ts'

interface AttemptFacts {
  readonly request: ModelRequest
  /** 0 before the first. */
  readonly step: number
  readonly attempt: number
  readonly conversationId: string | undefined
}

interface AttemptCame {
  /** The response, or what had come of it. */
  readonly message: AssistantMessage | undefined
  readonly error: unknown
  /** The wrap that asked has left it: whatever comes of it is no failure. */
  readonly left: boolean
  /** In `performance.now()`; absent if there was none. */
  readonly firstEvent: number | undefined
  /** How many of its calls had started. */
  readonly early: number
}

/** Request issued → stream fully received, failed or cancelled. */
export function attemptSpan(scope: Scope, parent: Context, facts: AttemptFacts): StartedSpan<AttemptCame> {
  const { request, step, attempt, conversationId } = facts
  const { model, settings } = request
  const describe = () => ({
    name: `${CHAT} ${model.id}`,
    kind: model.inProcess ? SpanKind.INTERNAL : SpanKind.CLIENT,
    attributes: {
      ...attemptAttributes(model),
      'gen_ai.request.stream': true,
      'gen_ai.conversation.id': conversationId,
    } satisfies SemanticAttributes,
  })
  const open: StartedSpan<AttemptCame> = startSpan(scope, parent, describe, (came) =>
    endAttemptSpan(scope, open, facts, came),
  )
  set(open.span, () => ({
    'gen_ai.request.max_tokens': settings.maxTokens,
    'gen_ai.request.temperature': settings.temperature,
    'gen_ai.request.top_p': settings.topP,
    'gen_ai.request.top_k': settings.topK,
    'gen_ai.request.frequency_penalty': settings.frequencyPenalty,
    'gen_ai.request.presence_penalty': settings.presencePenalty,
    'gen_ai.request.stop_sequences': settings.stopSequences && [...settings.stopSequences],
    'gen_ai.request.seed': settings.seed,
    'meanwhile.step.index': step || undefined,
    'meanwhile.attempt': attempt,
  }))
  record(open.span, scope.capture(), () => contentsOfRequest(request))
  return open
}

function endAttemptSpan(scope: Scope, open: OpenSpan, { request: { model } }: AttemptFacts, came: AttemptCame) {
  const { span, started } = open
  const { message, error, left, firstEvent, early } = came
  const failure = left ? undefined : failureOf(error, typeOf)
  const firstChunk = firstEvent === undefined ? undefined : (firstEvent - started) / 1000
  if (failure) set(span, () => ({ 'gen_ai.response.finish_reasons': ['error'] }))
  if (message) {
    const { response, finishReason, usage = {} } = message
    set(span, () => ({
      'gen_ai.response.id': response?.id,
      'gen_ai.response.model': response?.model,
      'gen_ai.response.finish_reasons': [response?.finishReason ?? finishReason],
    }))
    setUsage(span, usage)
    record(span, scope.capture(), () => contentsOfAnswer(message))
  }
  if (failure) setError(open, error, scope.capture(), failure)
  set(span, () => ({
    'gen_ai.response.time_to_first_chunk': firstChunk,
    'meanwhile.tool_calls.early': early,
    'meanwhile.outcome': left ? 'cancelled' : outcomeOf(error),
  }))
  const ended = performance.now()
  endSpan(open, ended)
  const { instruments, models } = scope
  if (!instruments) return
  models.set(model.id, (models.get(model.id) ?? 0) + 1)
  const attributes = { ...attemptAttributes(model), 'gen_ai.response.model': message?.response?.model }
  instruments.attempt((ended - started) / 1000, { ...attributes, 'error.type': failure })
  instruments.first(firstChunk, attributes)
  for (const [figure, count] of instruments.tokens)
    count(message?.usage?.[figure] ?? 0, { ...attributes, 'gen_ai.token.modality': 'unknown' })
}
