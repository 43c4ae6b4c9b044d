/** Attributes that spans and metrics share, and how a span gets its later ones. */

import type { Attributes, Span } from '@opentelemetry/api'
import type { Usage } from '../message.ts'
import type { Model } from '../model.ts'
import { CHAT, OTHER, type SemanticAttributes } from './semconv.ts'
import { untroubled } from './untroubled.ts'

/** Built only for a span that records them. */
export function set<Given extends SemanticAttributes>(span: Span, attributes: () => Given & Known<Given>): void {
  annotate(span, attributes)
}

/** What a function gives is not looked through for names there are not. */
type Known<Given> = { readonly [Name in Exclude<keyof Given, keyof SemanticAttributes>]: never }

/** What others say of what the span stands for, under names of their own. */
export function annotate(span: Span, attributes: () => Attributes): void {
  if (span.isRecording()) untroubled(() => span.setAttributes(attributes()))
}

/** Of an attempt: what is asked, and where. */
export function attemptAttributes({ provider, id, server }: Model): SemanticAttributes {
  return {
    'gen_ai.operation.name': CHAT,
    'gen_ai.provider.name': provider,
    'gen_ai.request.model': id,
    'server.address': server?.address,
    'server.port': server?.port,
  }
}

/** `tool`: absent if there is no such tool; the word is the model's, and so content. */
export function toolAttributes(tool: string | undefined, agent: string | undefined): SemanticAttributes {
  return {
    'gen_ai.tool.name': tool ?? OTHER,
    'gen_ai.agent.name': agent,
  }
}

export function setUsage(span: Span, usage: Usage): void {
  set(span, () => ({
    'gen_ai.usage.input_tokens': usage.inputTokens,
    'gen_ai.usage.output_tokens': usage.outputTokens,
    'gen_ai.usage.cache_read.input_tokens': usage.cacheReadTokens,
    'gen_ai.usage.cache_creation.input_tokens': usage.cacheWriteTokens,
    'gen_ai.usage.reasoning.output_tokens': usage.reasoningTokens,
  }))
}
