/** Converts the stream of OpenAI's Chat Completions API, and of the many compatible hosts, to model events. */

import type { Assembler, PartOptions, ReadChunk } from '@meanwhile/assemble'
import { allowsCalls, type ModelRequest, type Usage } from '@meanwhile/core'
import { ChatCalls } from './chat-calls.ts'
import {
  type ChatChunk,
  type ChatDelta,
  type ChatUsage,
  choicesOf,
  Deltas,
  isEmpty,
  isFirst,
  listOf,
  reasonIn,
  restOf,
  saidIn,
  saysSomething,
} from './chat-chunk.ts'
import { secondResponses } from './chat-restart.ts'
import { ClientCallError } from './client-call-error.ts'
import { defined } from './defined.ts'
import { invalidEnd, StreamedError } from './explain.ts'
import { hasMembers, isRecord } from './is-record.ts'
import { OpaqueData } from './opaque-data.ts'
import { parallelCalls } from './parallel-calls.ts'
import { RestartedError } from './single-response.ts'
import { StopReason } from './stop-reason.ts'
import { ToolNames } from './tool-names.ts'
import { wordIn } from './wire-values.ts'

/** The members of a request that the readers of responses use. */
export type ReadRequest = Pick<ModelRequest, 'tools' | 'toolNames' | 'inputLimits'>

/**
 * On this wire calls are not sealed one by one: the end of the stream after a finish reason that allows calls seals
 * them all.
 *
 * @param isSecond - Whether a chunk belongs to a second response.
 */
export function chatReader(
  provider: string,
  request: ReadRequest,
  isSecond: (chunk: ChatChunk) => boolean = secondResponses(),
): ReadChunk<ChatChunk> {
  const calls = new ChatCalls(new ToolNames(request), request.inputLimits)
  const expand = parallelCalls(request.tools)
  const deltas = new Deltas()
  const opaque = new OpaqueData()
  let refused = false
  let identified = false
  const stopped = new StopReason()
  // If the latest part is reasoning: the field in which it comes, and that part.
  let thinkingIn: string | undefined
  let thoughts = 0
  let thinking: PartOptions = {}

  function readDelta(delta: ChatDelta, to: Assembler): void {
    // Some hosts send the same reasoning in several fields.
    REASONING.find((field) => think(field, delta[field], to))
    opaque.add(delta)
    say(delta.content, to)
    if (delta.refusal) refused = true
    say(delta.refusal, to)
    for (const piece of listOf(delta.tool_calls)) call(piece, to)
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
      to.reasoning(thought, field === SHOWN ? thinking : { ...thinking, metadata: { [provider]: { field } } })
      thinkingIn = field
    }
    return true
  }

  function say(content: unknown, to: Assembler): void {
    if (typeof content !== 'string') for (const part of listOf(content)) sayPart(part, to)
    else if (content !== '') {
      thinkingIn = undefined
      to.text(content)
    }
  }

  // Mistral's parts (qC26): text, and reasoning that is itself a list of text. A part may also be only its text (qC57), or
  // a summary of reasoning (qC65).
  function sayPart(part: unknown, to: Assembler): void {
    if (typeof part === 'string') say(part, to)
    if (!isRecord(part)) return
    if (part.type === undefined || part.type === 'text' || part.type === 'output_text') say(part.text, to)
    for (const thought of listOf(part.thinking)) if (isRecord(thought)) think('content', thought.text, to)
    if (part.type !== 'reasoning') return
    for (const thought of listOf(part.summary)) if (isRecord(thought)) think(SHOWN, thought.text, to)
  }

  function call(piece: unknown, to: Assembler): void {
    // Some hosts send `null` among the calls.
    if (!isRecord(piece)) return
    // Thrown at once: no part of the response can be used, and its usage would come only after its end.
    if (piece.type === 'custom' && !piece.function) throw new ClientCallError('custom')
    const said = saidIn(piece)
    const inside = restOf(piece.function)
    const own = defined({
      extra_content: piece.extra_content,
      provider_specific_fields: piece.provider_specific_fields,
      function: hasMembers(inside) ? inside : undefined,
    })
    // Some hosts send empty pieces without a call (qC63).
    if (isEmpty(said) && !hasMembers(own)) return
    thinkingIn = undefined
    const { call, nameMayGrow, ...told } = calls.of(said, to)
    const { name } = call
    to.call(call.label, {
      ...told,
      name,
      // A name that may grow is not shown: nothing of a response that was cut off starts.
      nameMayGrow: nameMayGrow || (stopped.word !== undefined && !allowsCalls(stopped.reason)),
      // A call that is sent again is dropped.
      expand: call.mayRepeat ? (input) => (call.repeats(input) ? [] : expand(name)?.(input)) : expand(name),
      ...(hasMembers(own) && { metadata: { [provider]: own } }),
    })
  }

  /** After each chunk from the finish reason on, because arguments, usage and opaque data may still follow (qC21). */
  function settle(to: Assembler): void {
    const reason = refused && allowsCalls(stopped.reason) ? 'content-filter' : stopped.reason
    const data = opaque.take()
    if (data) to.reasoning('', { label: 0, metadata: { [provider]: data } })
    const mayRun = allowsCalls(reason)
    calls.release(mayRun, to)
    const message = mayRun ? calls.problem : undefined
    to.finish(message === undefined ? reason : invalidEnd(message))
  }

  return (chunk, to) => {
    if (isSecond(chunk)) throw new RestartedError()
    if (!identified && chunk.id) {
      identified = true
      to.response(defined({ id: wordIn(chunk.id), model: chunk.model }))
    }
    for (const choice of choicesOf(chunk)) {
      if (!isFirst(choice)) continue
      if (choice.error) throw new StreamedError(choice.error)
      stopped.add(reasonIn(choice))
      readDelta(deltas.of(choice), to)
      if (choice.usage) to.usage(usageOf(choice.usage))
    }
    const usage = chunk.usage ?? chunk.x_groq?.usage
    if (usage) to.usage(usageOf(usage))
    if (stopped.word === undefined) return
    to.response({ finishReason: stopped.word })
    settle(to)
  }
}

/** In the order in which they count. */
const REASONING = ['reasoning_content', 'reasoning', 'reasoning_text'] as const

/** In place of a field: the reasoning is shown, and does not go back. */
const SHOWN = 'summary'

/** Some hosts send empty deltas to keep the connection open. */
export function isSilentChunk(chunk: ChatChunk): boolean {
  // Choices that are not a list are an error, which the reader reports.
  if (!Array.isArray(chunk.choices ?? [])) return false
  return !saysSomething(chunk) && !choicesOf(chunk).some((choice) => reasonIn(choice) !== undefined)
}

function usageOf(usage: ChatUsage): Usage {
  return defined({
    inputTokens: usage.prompt_tokens,
    outputTokens: usage.completion_tokens,
    cacheReadTokens: usage.prompt_tokens_details?.cached_tokens,
    cacheWriteTokens: usage.prompt_tokens_details?.cache_write_tokens,
    reasoningTokens: usage.completion_tokens_details?.reasoning_tokens,
  })
}
