/** Determines the effect and the resource keys of a call from its checked input. */

import { unheard } from '../flow/unheard.ts'
import type { ToolFacts, WorkState } from '../machine/call.ts'
import type { AgentConfig } from '../vocabulary/agent-config.ts'
import { branded } from '../vocabulary/brand.ts'
import type { CallOptions } from '../vocabulary/call-options.ts'
import { behind } from '../vocabulary/copies.ts'
import { type Effect, exceeds, isEffect } from '../vocabulary/effect.ts'
import { messageOf } from '../vocabulary/errors.ts'
import { NO_KEYS, type ResourceKeys, withinKeys } from '../vocabulary/resource-keys.ts'
import { isTexts } from '../vocabulary/shape.ts'
import type { Tool } from '../vocabulary/tool.ts'

/** The effect and the resource keys of one call. */
export interface CallEffect {
  /** The effect of the call. */
  readonly effect: Effect
  /** The resource keys of the call. */
  readonly keys: ResourceKeys
  /** The error that a function of the tool threw. */
  readonly problem?: string
}

/** The strongest effect, the keys and the inputs that a call may have. Absent: anything. */
export interface Bounds {
  readonly ceiling?: CallOptions['ceiling']
  readonly keys?: CallOptions['keys']
  readonly allow?: CallOptions['allow']
}

/** Returns the effect and keys of a call. Never throws: if `effect`, `reads` or `writes` throws, the call is `external` without keys. */
export function judgeCall(tool: Tool, input: unknown): CallEffect {
  try {
    return { effect: effectOf(tool, input), keys: keysOf(tool, input) }
  } catch (error) {
    return { effect: 'external', keys: NO_KEYS, problem: messageOf(error) }
  }
}

/** Whether {@link judgeCall} needs the input. If not, it returns the same for all calls of the tool. */
export function isJudgedByInput(tool: Tool): boolean {
  return typeof tool.effect === 'function' || mayNameKeys(tool)
}

/** Whether the effect and the keys of a call are within its bounds. */
export function isWithin({ effect, keys }: CallEffect, most: Bounds): boolean {
  return !exceeds(effect, most.ceiling ?? effect) && withinKeys(keys, most.keys ?? keys)
}

/** Whether calls of a tool may have resource keys. */
export function mayNameKeys(tool: Tool | undefined): boolean {
  return tool?.reads !== undefined || tool?.writes !== undefined
}

/** Returns the effect of a call with this checked input; `reversible` without `compensate` counts as `external`. Throws what the tool throws. */
function effectOf(tool: Tool, input: unknown): Effect {
  const effect = typeof tool.effect === 'function' ? unheard(tool.effect(input)) : (tool.effect ?? 'external')
  const known = isEffect(effect) && (effect !== 'reversible' || tool.compensate !== undefined)
  return known ? effect : 'external'
}

/** Returns the keys of a call. Throws what the tool's own functions throw, and a `TypeError` if they do not return a list of strings. */
function keysOf(tool: Tool, input: unknown): ResourceKeys {
  if (!mayNameKeys(tool)) return NO_KEYS
  return { reads: listed(tool.reads?.(input) ?? []), writes: listed(tool.writes?.(input) ?? []) }
}

function listed(keys: unknown): readonly string[] {
  if (!isTexts(keys)) {
    unheard(keys)
    throw new TypeError('resource keys must be a list of strings')
  }
  return [...new Set(keys as readonly string[])]
}

/** Returns what is known about the calls of a tool before their inputs are checked. */
export function factsOf(tool: Tool | undefined): ToolFacts | undefined {
  if (!tool) return undefined
  const { effect } = tool
  return {
    ...(typeof effect === 'string' && { effect }),
    namesKeys: mayNameKeys(tool),
    isReversible: tool.compensate !== undefined,
    ...(agentRunBy(tool) && { runsAgent: true }),
  }
}

/** What happens to the work of a background call that is running when its run has its answer. */
export function atEndOf(tool: Tool | undefined): WorkState['atEnd'] {
  return (typeof tool?.background === 'object' && tool.background.atEnd) || 'wait'
}

type Execute = NonNullable<Tool['execute']>

export function runsAgent(execute: Execute, agent: AgentConfig): Execute {
  return branded('agent tool', execute, agent)
}

/** Returns the options of the agent that a tool of `agentTool` runs. */
export function agentRunBy({ execute }: Tool): AgentConfig | undefined {
  return behind('agent tool', execute)
}
