/** What LangChain tells callbacks, as plain data that can be compared. */

import { BaseCallbackHandler } from '@langchain/core/callbacks/base'
import { AIMessageChunk, BaseMessage } from '@langchain/core/messages'

/** Ids of runs, tasks and messages, of interrupts, and of sessions of deepagents. */
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b|\bsession_[0-9a-f]{8}\b/g
const TIMES = new Set([
  'ts',
  'start_time',
  'end_time',
  'timestamp',
  'seq',
  'seq_id',
  'nodeFirstAttemptTime',
  'dotted_order',
  'execution_order',
  'child_execution_order',
])

/** Plain data, with the ids of runs and tasks numbered in the order in which they appear. */
export function plainly(values: unknown): unknown {
  const numbers = new Map<string, string>()
  const numbered = (id: string) => {
    if (!numbers.has(id)) numbers.set(id, `#${numbers.size}`)
    return numbers.get(id) ?? ''
  }
  const plain = (value: unknown, depth: number): unknown => {
    // A stack is not compared.
    if (typeof value === 'string') return value.replace(/(\n +at .*)+/g, '').replace(UUID, numbered)
    if (value instanceof Error) return plain(`${value.name}: ${value.message}`, depth)
    if (typeof value !== 'object' || value === null || value instanceof AbortSignal)
      return typeof value === 'object' ? null : value
    if (depth > 12) return '…'
    if (Array.isArray(value)) return value.map((one) => plain(one, depth + 1))
    if (BaseMessage.isInstance(value)) {
      const { type, content, id, name } = value
      const calls = Reflect.get(value, 'tool_calls') ?? Reflect.get(value, 'tool_call_id')
      return plain({ type, content, id, name, calls, isChunk: value instanceof AIMessageChunk }, depth)
    }
    const entries = Object.entries(value).filter(([key, one]) => !TIMES.has(key) && typeof one !== 'function')
    return Object.fromEntries(entries.map(([key, one]) => [key.replace(UUID, numbered), plain(one, depth + 1)]))
  }
  return plain(values, 0)
}

/** Each method of a callback: a new one is missing here, and does not compile. */
const METHODS: Readonly<Record<Extract<keyof BaseCallbackHandler, `handle${string}`>, true>> = {
  handleLLMStart: true,
  handleChatModelStart: true,
  handleLLMNewToken: true,
  handleChatModelStreamEvent: true,
  handleLLMError: true,
  handleLLMEnd: true,
  handleChainStart: true,
  handleChainError: true,
  handleChainEnd: true,
  handleToolStart: true,
  handleToolEvent: true,
  handleToolError: true,
  handleToolEnd: true,
  handleText: true,
  handleAgentAction: true,
  handleAgentEnd: true,
  handleRetrieverStart: true,
  handleRetrieverEnd: true,
  handleRetrieverError: true,
  handleCustomEvent: true,
}

/** A handler that notes everything it receives. */
export function telling(told: unknown[]): BaseCallbackHandler {
  const methods = Object.keys(METHODS).map((name) => [
    name,
    (...args: readonly unknown[]) => void told.push(structured([name, ...args])),
  ])
  class Telling extends BaseCallbackHandler {
    override readonly name = 'telling'
    override awaitHandlers = true
  }
  return Object.assign(new Telling(), Object.fromEntries(methods))
}

/** A copy: LangChain gives messages their ids later. */
export const structured = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, one) => (one instanceof Error ? `${one}` : one)))

/** The same in no order: calls at the same time may begin and end in any order, and with it ids are numbered. */
export const inNoOrder = (told: readonly unknown[]): readonly string[] =>
  told.map((one) => JSON.stringify(plainly(one)).replace(/#\d+/g, '#')).sort()
