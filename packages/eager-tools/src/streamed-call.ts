/** A call while its response streams: what is known of it by now, and what that keeps later calls from. */

import type { Effect, ResourceKeys, Tool, ToolCall } from '@meanwhile/core'
import { checkedInput, checkedNeeds, keysMeet, NO_KEYS, namesNone } from '@meanwhile/core/calls'
import type { Evidence } from './policy.ts'

export interface StreamedCall {
  readonly id: string
  readonly tool: Tool | undefined
  /** The input as it was last heard of. */
  written?: unknown
  /**
   * As it was last heard of, in its tool's own words, and on what evidence; at first with the members its tool needs, if it
   * needs only some.
   */
  call?: ToolCall
  evidence?: Evidence
  /** As its tool's schema gives it back. */
  input?: unknown
  /** Known at once if the tool declares it, else when its input is checked. */
  effect: Effect | undefined
  /** Known at once if its tool names none, else when its input is checked. */
  keys: ResourceKeys | undefined
  /** `due`: it starts when its turn comes; `deferred`: not on this evidence. */
  state: 'streaming' | 'due' | 'deferred' | 'started'
  /** What it has started with, before it was sealed. */
  soft?: { readonly call: ToolCall; readonly evidence: Evidence } | undefined
  /** Why it has not started. */
  reason: string
  /** It has started with the members its tool needs, which gets the rest by this. */
  complete?: ((call: ToolCall) => void) | undefined
}

/** What is known of a tool's call before its input is. */
export function declared(tool: Tool | undefined): Pick<StreamedCall, 'effect' | 'keys'> {
  return {
    effect: typeof tool?.effect === 'function' ? undefined : (tool?.effect ?? 'external'),
    keys: tool?.reads || tool?.writes ? undefined : NO_KEYS,
  }
}

/** What is not known to be a `read`, or to name its keys, may change anything. */
export function isBarrier({ effect, keys }: StreamedCall): boolean {
  return effect !== 'read' && (!keys || namesNone(keys))
}

/**
 * Whether a later call may have to come after an earlier one that core does not hold it behind: that has not started, or is not
 * sealed and so may yet name other keys.
 */
export function mayMeet({ tool, state, evidence, keys }: StreamedCall, later: StreamedCall): boolean {
  if (!later.keys) return false
  if (namesNone(later.keys)) {
    // What a tool of the effect `calls` calls may read what is written in front of it, and core holds that behind calls at work only.
    const mayWrite = evidence === 'sealed' && keys ? keys.writes.length > 0 : tool?.writes !== undefined
    return later.effect === 'calls' && state !== 'started' && mayWrite
  }
  if (evidence === 'sealed' && keys) return state !== 'started' && keysMeet(keys, later.keys)
  return tool?.writes !== undefined || (tool?.reads !== undefined && later.keys.writes.length > 0)
}

/**
 * The checked input of a call that is ours to make. The loop makes any other, too, and its error result says what is wrong
 * with it.
 */
export async function usable(
  tool: Tool | undefined,
  call: ToolCall,
  evidence: Evidence,
): Promise<{ readonly input: unknown } | undefined> {
  if (!tool || call.providerResult !== undefined) return undefined
  try {
    const input = evidence === 'prefix' ? await checkedNeeds(tool, call) : await checkedInput(tool, call)
    return evidence === 'prefix' && !input ? undefined : { input }
  } catch {
    return undefined
  }
}
