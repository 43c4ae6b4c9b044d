/** Converts the stream of OpenAI's Chat Completions API, and of the many compatible hosts, to model events. */

import type { Assembler, FinishReason, ModelRequest, PartOptions, ReadChunk, Usage } from '@meanwhile/core'
import { allowsCalls, argumentsText } from '@meanwhile/core'
import { type CallDelta, ChatCalls } from './chat-calls.ts'
import { secondResponses } from './chat-restart.ts'
import { ClientCallError } from './client-call-error.ts'
import { defined } from './defined.ts'
import { finishReasonOf } from './finish-reasons.ts'
import { isRecord } from './is-record.ts'
import { parallelCalls } from './parallel-calls.ts'
import { ReasoningDetails } from './reasoning-details.ts'
import { RestartedError } from './single-response.ts'
import { ToolNames } from './tool-names.ts'

/** The members that are read from a chunk. Hosts omit members, set them to null and add others, so none is required. */
export interface ChatChunk {
  readonly id?: string | null
  readonly model?: string | null
  readonly choices?: readonly ChatChoice[] | null
  readonly usage?: ChatUsage | null
}

interface ChatChoice {
  readonly index?: number | null
  readonly delta?: ChatDelta | null
  readonly finish_reason?: string | null
}

interface ChatDelta {
  readonly role?: string | null
  readonly content?: unknown
  readonly refusal?: unknown
  readonly reasoning_content?: unknown
  readonly reasoning?: unknown
  readonly reasoning_details?: unknown
  readonly tool_calls?: readonly CallDelta[] | null
  readonly function_call?: CallDelta['function']
  readonly extra_content?: unknown
}

interface ChatUsage {
  readonly prompt_tokens?: number | null
  readonly completion_tokens?: number | null
  readonly prompt_tokens_details?: { readonly cached_tokens?: number; readonly cache_write_tokens?: number } | null
  readonly completion_tokens_details?: { readonly reasoning_tokens?: number } | null
}

/**
 * On this wire calls are not sealed one by one: the end of the stream after a finish reason that allows calls seals
 * them all.
 */
export function chatReader(provider: string, request: Pick<ModelRequest, 'tools' | 'toolNames'>): ReadChunk<ChatChunk> {
  const calls = new ChatCalls(new ToolNames(request))
  const expand = parallelCalls(request.tools)
  const details = new ReasoningDetails()
  const isSecond = secondResponses()
  let refused = false
  let identified = false
  let ended: FinishReason | undefined
  // If the latest part is reasoning: the field in which it comes, and that part.
  let thinkingIn: string | undefined
  let thoughts = 0
  let thinking: PartOptions = {}

  function readDelta(delta: ChatDelta, to: Assembler): void {
    // Some hosts send the same reasoning in both fields.
    if (!think('reasoning_content', delta.reasoning_content, to)) think('reasoning', delta.reasoning, to)
    details.add(delta.reasoning_details)
    say(delta.content, to)
    if (delta.refusal) refused = true
    say(delta.refusal, to)
    if (delta.tool_calls) for (const piece of delta.tool_calls) call(piece, to)
    if (delta.function_call) call({ index: 0, function: delta.function_call }, to)
    // Gemini also signs responses without calls (qC38).
    if (delta.extra_content) to.text('', { metadata: { [provider]: { extra_content: delta.extra_content } } })
  }

  function think(field: string, thought: unknown, to: Assembler): boolean {
    if (typeof thought !== 'string' || thought === '') return false
    if (thinkingIn === field) to.reasoning(thought, thinking)
    else {
      thinking = { label: thoughts++ }
      // The request puts it back into the same field.
      to.reasoning(thought, { ...thinking, metadata: { [provider]: { field } } })
      thinkingIn = field
    }
    return true
  }

  function say(content: unknown, to: Assembler): void {
    if (Array.isArray(content)) for (const part of content) sayPart(part, to)
    if (typeof content !== 'string' || content === '') return
    thinkingIn = undefined
    to.text(content)
  }

  // Mistral's parts (qC26): text, and reasoning that is itself a list of text.
  function sayPart(part: unknown, to: Assembler): void {
    if (!isRecord(part)) return
    if (part.type === 'text') say(part.text, to)
    if (!Array.isArray(part.thinking)) return
    for (const thought of part.thinking) if (isRecord(thought)) think('content', thought.text, to)
  }

  function call(piece: CallDelta, to: Assembler): void {
    // Thrown at once: no part of the response can be used, and its usage would come only after its end.
    if (piece.type === 'custom' && !piece.function) throw new ClientCallError('custom')
    thinkingIn = undefined
    const text = piece.function?.arguments
    // An object in place of its JSON text (qC16).
    const delta = typeof text === 'object' && text !== null ? argumentsText(text) : text
    const { label, name, nameMayGrow } = calls.of(piece, delta, to)
    const { extra_content } = piece
    to.call(label, {
      id: piece.id,
      name,
      nameMayGrow,
      delta,
      expand: expand(name),
      ...(extra_content !== undefined && { metadata: { [provider]: { extra_content } } }),
    })
  }

  function finish(word: string, to: Assembler): void {
    // Hosts may send two finish reasons; the first one is correct (qC42).
    if (ended && CUT_OFF.has(ended)) return
    const reason = finishReasonOf(word)
    ended = refused && allowsCalls(reason) ? 'content-filter' : reason
    if (details.all.length > 0) {
      to.reasoning('', { label: 0, metadata: { [provider]: { reasoning_details: details.all } } })
    }
    to.response({ finishReason: word })
    to.finish(ended)
  }

  return (chunk, to) => {
    if (isSecond(chunk) && saysSomething(chunk)) throw new RestartedError()
    if (!identified && chunk.id) {
      identified = true
      to.response(defined({ id: chunk.id, model: chunk.model }))
    }
    if (chunk.usage) to.usage(usageOf(chunk.usage))
    if (!chunk.choices) return
    for (const { index, delta, finish_reason: reason } of chunk.choices) {
      // Further choices (`n` above 1) are separate responses, which one message cannot hold (qC29).
      if (index) continue
      if (delta) readDelta(delta, to)
      if (reason) finish(reason, to)
    }
  }
}

/** Some hosts send empty deltas to keep the connection open. */
export function isSilentChunk(chunk: ChatChunk): boolean {
  return !saysSomething(chunk) && !chunk.choices?.some((choice) => choice.finish_reason)
}

function saysSomething({ choices }: ChatChunk): boolean {
  return !!choices?.some(({ delta }) => delta && hasMore(delta))
}

/** Whether it has content besides its role. */
function hasMore(delta: ChatDelta): boolean {
  return Object.entries(delta).some(([name, value]) => name !== 'role' && isFilled(value))
}

function isFilled(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== '' && value !== null
}

/** After these, no later finish reason counts. */
const CUT_OFF: ReadonlySet<FinishReason> = new Set(['length', 'content-filter', 'error'])

function usageOf(usage: ChatUsage): Usage {
  return defined({
    inputTokens: usage.prompt_tokens,
    outputTokens: usage.completion_tokens,
    cacheReadTokens: usage.prompt_tokens_details?.cached_tokens,
    cacheWriteTokens: usage.prompt_tokens_details?.cache_write_tokens,
    reasoningTokens: usage.completion_tokens_details?.reasoning_tokens,
  })
}
