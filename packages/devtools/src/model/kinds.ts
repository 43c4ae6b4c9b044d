/** What a span is. Each instrumentation has its own names; what is none of these is transparent: an HTTP request, a node of a graph. */

import type { Span } from '../span.ts'
import { text } from './attributes.ts'
import type { Dialect } from './run.ts'

export type Kind = 'run' | 'step' | 'response' | 'tool' | 'other'

const BY_OPERATION: ReadonlyMap<string | undefined, Kind> = new Map([
  ['invoke_agent', 'run'],
  ['invoke_workflow', 'run'],
  ['workflow', 'run'],
  ['agent_step', 'step'],
  ['chat', 'response'],
  ['completion', 'response'],
  ['generate_content', 'response'],
  ['text_completion', 'response'],
  ['execute_tool', 'tool'],
])

const BY_OPENINFERENCE: ReadonlyMap<string | undefined, Kind> = new Map([
  ['LLM', 'response'],
  ['TOOL', 'tool'],
  ['AGENT', 'run'],
])

const BY_TRACELOOP: ReadonlyMap<string | undefined, Kind> = new Map([
  ['tool', 'tool'],
  ['workflow', 'run'],
  ['agent', 'run'],
])

const BY_AI_SDK: ReadonlyMap<string | undefined, Kind> = new Map([
  ['ai.streamText', 'run'],
  ['ai.generateText', 'run'],
  ['ai.streamText.doStream', 'response'],
  ['ai.generateText.doGenerate', 'response'],
  ['ai.toolCall', 'tool'],
])

export function kindOf({ attributes, parentId }: Span): Kind {
  const openinference = text(attributes, 'openinference.span.kind')
  // LangChain's agents are chains. Only the outermost one is a run: the others are nodes of its graph.
  if (openinference === 'CHAIN' && parentId === undefined) return 'run'
  return (
    BY_OPERATION.get(text(attributes, 'gen_ai.operation.name')) ??
    BY_OPENINFERENCE.get(openinference) ??
    BY_TRACELOOP.get(text(attributes, 'traceloop.span.kind')) ??
    BY_AI_SDK.get(text(attributes, 'ai.operationId')) ??
    'other'
  )
}

export function dialectOf({ attributes, scope }: Span): Dialect {
  if (scope === '@meanwhile/core') return 'meanwhile'
  if (attributes['openinference.span.kind'] !== undefined) return 'openinference'
  if (attributes['traceloop.span.kind'] !== undefined || scope.startsWith('@traceloop/')) return 'traceloop'
  if (attributes['ai.operationId'] !== undefined) return 'ai-sdk-5'
  return scope === 'gen_ai' ? 'ai-sdk' : 'gen_ai'
}
