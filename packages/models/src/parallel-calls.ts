/**
 * Unwraps calls inside a call of `parallel`, a tool that OpenAI's models sometimes call although it was not declared
 * (qC37).
 */

import type { CallPiece, NestedCall } from '@meanwhile/assemble'
import type { ToolDefinition } from '@meanwhile/core'
import { isRecord } from './is-record.ts'

/**
 * Returns how calls of a name are unwrapped. A call of `parallel` is unwrapped if no tool of that name is declared and
 * the tools of all inner calls are; otherwise it is an ordinary call.
 */
export function parallelCalls(
  tools: readonly ToolDefinition[],
): (name: string | null | undefined) => CallPiece['expand'] {
  const declared = new Set(tools.map(({ name }) => name))
  return (name) => (name === 'parallel' && !declared.has(name) ? nestedCalls : undefined)

  function nestedCalls(input: unknown): readonly NestedCall[] | undefined {
    if (!isRecord(input) || !Array.isArray(input.tool_uses) || input.tool_uses.length === 0) return undefined
    const calls = input.tool_uses.map(nestedCall)
    return calls.every((call) => call !== undefined) ? calls : undefined
  }

  function nestedCall(use: unknown): NestedCall | undefined {
    if (!isRecord(use) || typeof use.recipient_name !== 'string') return undefined
    const name = use.recipient_name.replace(/^functions\./, '')
    return declared.has(name) ? { name, input: use.parameters ?? {} } : undefined
  }
}
