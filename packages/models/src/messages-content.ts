/** What the blocks of an answer may be and bring, as Anthropic's Messages API has it, that of its beta included. */

import type Anthropic from '@anthropic-ai/sdk'

export type Content = Anthropic.RawContentBlockStartEvent['content_block'] | OpaqueContent
export type Delta = Anthropic.RawContentBlockDeltaEvent['delta'] | CompactionDelta
export type OwnCall = Anthropic.ToolUseBlock
export type ProviderCall = Anthropic.ServerToolUseBlock
export type ProviderResult = Extract<Content, { tool_use_id: string }>

/** Blocks that say nothing to us and go back as they came; most are the beta's. `fallback`: a further model goes on from here. */
export interface OpaqueContent {
  readonly type: 'compaction' | 'container_upload' | 'fallback' | 'mcp_tool_listing'
  readonly to?: { readonly model?: string }
}

interface CompactionDelta {
  readonly type: 'compaction_delta'
}

const OPAQUE: ReadonlySet<string> = new Set<OpaqueContent['type']>([
  'compaction',
  'container_upload',
  'fallback',
  'mcp_tool_listing',
])

export function isOpaque(content: { readonly type: string }): content is OpaqueContent {
  return OPAQUE.has(content.type)
}
