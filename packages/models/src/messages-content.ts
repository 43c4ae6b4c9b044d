/** The content blocks and deltas of Anthropic's Messages API, including those of its beta. */

import type Anthropic from '@anthropic-ai/sdk'

export type Content = Anthropic.RawContentBlockStartEvent['content_block'] | OpaqueContent
export type Delta = Anthropic.RawContentBlockDeltaEvent['delta'] | CompactionDelta
export type OwnCall = Anthropic.ToolUseBlock
export type ProviderCall = Anthropic.ServerToolUseBlock
export type ProviderResult = Extract<Content, { tool_use_id: string }>

/**
 * Blocks that are not interpreted and are sent back unchanged; most belong to the beta. `fallback`: another model
 * continues from here.
 */
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
