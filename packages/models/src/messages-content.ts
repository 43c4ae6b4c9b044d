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

/** The deltas that are read, except those of inputs, by the member that only they have. */
const DELTAS: Readonly<Record<string, Exclude<Delta, Anthropic.InputJSONDelta>['type']>> = {
  text: 'text_delta',
  thinking: 'thinking_delta',
  signature: 'signature_delta',
  citation: 'citations_delta',
}

const READ: ReadonlySet<unknown> = new Set([...Object.values(DELTAS), 'compaction_delta'])

/** The delta, if it is one that is read. Some hosts omit its type (qA23). */
export function deltaIn(
  value: Readonly<Record<string, unknown>>,
): Exclude<Delta, Anthropic.InputJSONDelta> | undefined {
  const member = Object.keys(DELTAS).find((name) => name in value)
  const type = value.type ?? (member === undefined ? undefined : DELTAS[member])
  // A host's delta; readers handle missing members.
  return READ.has(type) ? ({ ...value, type } as object as Exclude<Delta, Anthropic.InputJSONDelta>) : undefined
}
