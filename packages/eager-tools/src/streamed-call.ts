/** A call while its response streams: what is known of it so far, and whether later calls must wait for it. */

import type { Effect, ResourceKeys, Tool, ToolCall } from '@meanwhile/core'
import { checkedInput, checkedNeeds, keysMeet, NO_KEYS, namesNone } from '@meanwhile/core/calls'
import type { Evidence } from './policy.ts'

export interface StreamedCall {
  readonly id: string
  readonly tool: Tool | undefined
  /** The latest input received. */
  written?: unknown
  /**
   * The latest version of the call, with aliases resolved, and its evidence. At first it has only the members its tool
   * needs, if the tool declares them.
   */
  call?: ToolCall
  evidence?: Evidence
  /** The input as the tool's schema returned it. */
  input?: unknown
  /** Known at once if the tool declares it, otherwise once the input is checked. */
  effect: Effect | undefined
  /** Known at once if the tool declares no keys, otherwise once the input is checked. */
  keys: ResourceKeys | undefined
  /** `due`: it starts when its turn comes; `deferred`: it does not start on this evidence. */
  state: 'streaming' | 'due' | 'deferred' | 'started'
  /** What it started with before it was sealed. */
  soft?: { readonly call: ToolCall; readonly evidence: Evidence } | undefined
  /** Why it has not started. */
  reason: string
  /** The call that it waits for, if that is the reason. */
  behind?: string | undefined
  /** For a call that started with the members its tool needs: passes the rest to it. */
  complete?: ((call: ToolCall) => void) | undefined
}

/** What is known of a call before its input is complete. */
export function declared(tool: Tool | undefined): Pick<StreamedCall, 'effect' | 'keys'> {
  return {
    effect: typeof tool?.effect === 'function' ? undefined : (tool?.effect ?? 'external'),
    keys: tool?.reads || tool?.writes ? undefined : NO_KEYS,
  }
}

/** A call may change anything unless it is known to be a `read` or to name its keys. */
export function isBarrier({ effect, keys }: StreamedCall): boolean {
  return effect !== 'read' && (!keys || namesNone(keys))
}

/**
 * Whether a later call may have to wait for an earlier one in a case that core does not handle: the earlier one has not
 * started, or is not sealed and may still name other keys.
 */
export function mayMeet({ tool, state, evidence, keys }: StreamedCall, later: StreamedCall): boolean {
  if (!later.keys) return false
  if (namesNone(later.keys)) {
    // Calls made by a `calls` tool may read what an earlier call writes. Core makes them wait only for running calls.
    const mayWrite = evidence === 'sealed' && keys ? keys.writes.length > 0 : tool?.writes !== undefined
    return later.effect === 'calls' && state !== 'started' && mayWrite
  }
  if (evidence === 'sealed' && keys) return state !== 'started' && keysMeet(keys, later.keys)
  return tool?.writes !== undefined || (tool?.reads !== undefined && later.keys.writes.length > 0)
}

/**
 * The checked input of a call that Meanwhile executes. `undefined` for every other call: the loop handles it, and its
 * error result states what is wrong.
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
