/** The span of a model attempt, `chat {model}`, and the measurements of the attempt. */

import { SpanKind } from '@opentelemetry/api'
import type { AssistantMessage, Usage } from '../vocabulary/message.ts'
import type { Model, ModelRequest } from '../vocabulary/model.ts'
import { failureOf, outcomeOf, typeOf } from './error.ts'
import { contentsOfAnswer, contentsOfRequest } from './message-json.ts'
import { CHAT, type SemanticAttributes } from './semconv.ts'
import type { SpanTable } from './span-table.ts'
import { conversationOf, type Scope } from './spans.ts'

interface AttemptFacts {
  readonly request: ModelRequest
  /** 0 before the first step. */
  readonly step: number
  readonly attempt: number
}

interface AttemptCame {
  /** The response, or the part of it that arrived. */
  readonly message: AssistantMessage | undefined
  readonly error: unknown
  /** Whether the wrap that made the attempt has left it. Its outcome is then not a failure. */
  readonly left: boolean
  /** After how many seconds the first event arrived; absent if there was none. */
  readonly firstChunk: number | undefined
  /** How many of its calls had started. */
  readonly early: number
}

/** From the request until the response has arrived completely, has failed or is cancelled. */
export function attemptSpan({ request, step, attempt }: AttemptFacts, scope: Scope): SpanTable<AttemptCame> {
  const { models, own } = scope
  const { model, settings } = request
  return {
    start: () => ({
      name: `${CHAT} ${model.id}`,
      kind: model.inProcess ? SpanKind.INTERNAL : SpanKind.CLIENT,
      attributes: {
        ...asked(model),
        'gen_ai.request.stream': true,
        ...conversationOf(scope),
      } satisfies SemanticAttributes,
    }),
    annotations: () => own,
    attributes: () =>
      ({
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
      }) satisfies SemanticAttributes,
    contents: () => contentsOfRequest(request),
    end({ message, error, left, firstChunk, early }) {
      const failure = left ? undefined : failureOf(error, typeOf)
      const { response, finishReason = failure && 'error', usage = {} } = message ?? {}
      const reason = response?.finishReason ?? finishReason
      return {
        attributes: () =>
          ({
            'gen_ai.response.id': response?.id,
            'gen_ai.response.model': response?.model,
            'gen_ai.response.finish_reasons': reason === undefined ? undefined : [reason],
            ...tokensOf(usage),
            'meanwhile.tool_calls.early': early,
            'meanwhile.outcome': left ? 'cancelled' : outcomeOf(error),
          }) satisfies SemanticAttributes,
        contents: () => (message ? contentsOfAnswer(message) : {}),
        failure,
        error,
        measure({ attempt, first, tokens }, seconds) {
          models.set(model.id, (models.get(model.id) ?? 0) + 1)
          const attributes = { ...asked(model), 'gen_ai.response.model': response?.model }
          attempt(seconds, { ...attributes, 'error.type': failure })
          first(firstChunk, attributes)
          for (const [figure, count] of tokens)
            count(usage[figure] ?? 0, { ...attributes, 'gen_ai.token.modality': 'unknown' })
        },
      }
    },
  }
}

/** The operation, the model and its server. */
function asked({ provider, id, server }: Model): SemanticAttributes {
  return {
    'gen_ai.operation.name': CHAT,
    'gen_ai.provider.name': provider,
    'gen_ai.request.model': id,
    'server.address': server?.address,
    'server.port': server?.port,
  }
}

/** Token counts. For a run, the sums. */
export function tokensOf(usage: Usage): SemanticAttributes {
  return {
    'gen_ai.usage.input_tokens': usage.inputTokens,
    'gen_ai.usage.output_tokens': usage.outputTokens,
    'gen_ai.usage.cache_read.input_tokens': usage.cacheReadTokens,
    'gen_ai.usage.cache_write.input_tokens': usage.cacheWriteTokens,
    'gen_ai.usage.reasoning.output_tokens': usage.reasoningTokens,
  }
}
