/**
 * Reads the tool calls of a Chat Completions response through the AI SDK, from the raw chunks that its provider
 * received.
 */

import type { Assembler, Label, ReadChunk } from '@meanwhile/core'
import { isUnreadable } from './ai-sdk-errors.ts'
import { ownMetadata } from './ai-sdk-kept.ts'
import type { CallPart, FinishPart, InputPiece, InputStart, StreamPart } from './ai-sdk-model.ts'
import { type ChatChunk, hasContent } from './chat-chunk.ts'
import { chatChunks, type ReadRequest } from './chat-stream.ts'
import { readSafely } from './explain.ts'
import { isRecord } from './is-record.ts'
import { RestartedError } from './single-response.ts'
import type { ResponseEnd } from './stop-reason.ts'

/**
 * Returns the same reader, but it reads calls from the raw chunks if these arrive as `raw` parts. The AI SDK's
 * providers may turn chunks into wrong calls: two calls from a name in two pieces, or one with only the first piece
 * (qC47); one call from two with the same index and id (qC48); two calls from arguments that are sent again (qC18). The
 * reader only uses the metadata of their call parts.
 */
export function withChatCalls(read: ReadChunk<StreamPart>, request: ReadRequest): ReadChunk<StreamPart> {
  const readChunk = readSafely(chatChunks('', request))
  const labels = new Set<Label>()
  // The same labels, in the order in which the calls began.
  const order: Label[] = []
  const byId = new Map<string, Label>()
  // No chunk contains calls that the provider runs itself (G16).
  const executed = new Set<string>()
  let started = 0
  let only: Assembler | undefined
  // The latest chunk. Its calls follow its text, so they are read after its other parts.
  let held: ChatChunk | undefined
  let ended: ResponseEnd | undefined
  let word: string | undefined
  let over = false

  /** `isRead`: whether the provider's package has read the rest of the chunk. */
  function readCalls(to: Assembler, isRead = true): void {
    const chunk = held
    held = undefined
    only ??= onlyCalls(to)
    if (!chunk || over) return
    try {
      readChunk(chunk, isRead && !hasMessage(chunk) ? only : withContent(only, to))
    } catch (thrown) {
      // A finish reason came before: the second response begins after the first has ended, which no part shows (qT16).
      if (!(thrown instanceof RestartedError && ended)) throw thrown
      over = true
    }
  }

  function onlyCalls(to: Assembler): Assembler {
    return {
      ...NOTHING,
      isWhole: (label) => to.isWhole(label),
      response: ({ finishReason }) => void (word = finishReason ?? word),
      finish: (reason) => void (ended = reason),
      call(label, { metadata: _, ...piece }) {
        if (!labels.has(label)) order.push(label)
        labels.add(label)
        if (piece.id && !byId.has(piece.id)) byId.set(piece.id, label)
        to.call(label, piece)
      },
    }
  }

  /**
   * Adds a part's metadata to the call with its id. If the provider made up the id, metadata for the n-th started call
   * belongs to the n-th call.
   */
  function mark(id: string, { type, providerMetadata }: InputStart | InputPiece | CallPart, to: Assembler): void {
    const begun = type === 'tool-input-start' ? order[started++] : undefined
    if (begun !== undefined && !byId.has(id)) byId.set(id, begun)
    const label = byId.get(id)
    const metadata = ownMetadata(providerMetadata)
    if (label !== undefined && metadata) to.call(label, { metadata })
  }

  /**
   * If the package could not read a chunk, it reports an error. Returns the part with the finish reason of the chunks
   * instead.
   */
  function withOwnReason(part: FinishPart): FinishPart {
    const { finishReason } = part
    const { unified, raw } = typeof finishReason === 'string' ? { unified: finishReason, raw: undefined } : finishReason
    if (unified !== 'error' || raw !== undefined || typeof ended !== 'string') return part
    return { ...part, finishReason: { unified: ended, raw: word } }
  }

  return (part, to) => {
    switch (part.type) {
      case 'raw':
        readCalls(to)
        if (isChatChunk(part.rawValue)) held = part.rawValue
        return
      case 'tool-input-start':
      case 'tool-input-delta':
      case 'tool-input-end':
      case 'tool-call': {
        readCalls(to)
        const id = part.type === 'tool-call' ? part.toolCallId : part.id
        if ('providerExecuted' in part && part.providerExecuted) executed.add(id)
        return labels.size > 0 && !executed.has(id) ? mark(id, part, to) : read(part, to)
      }
      case 'finish':
        readCalls(to)
        read(withOwnReason(part), to)
        // Arguments without a call.
        if (typeof ended === 'object') to.finish(ended)
        return
      case 'error': {
        const isRead = !(held && isUnreadable(part.error))
        readCalls(to, isRead)
        return isRead ? read(part, to) : undefined
      }
      default:
        return read(part, to)
    }
  }
}

/** An assembler that drops everything except calls: the provider's parts already contain the rest. */
const NOTHING = { text() {}, reasoning() {}, seal() {}, usage() {} }

/** The same, but it passes on the rest as well. Without labels, because those of the parts may be the same. */
function withContent(only: Assembler, to: Assembler): Assembler {
  return {
    ...only,
    text: (delta) => to.text(delta),
    reasoning: (delta) => to.reasoning(delta),
    usage: (usage) => to.usage(usage),
  }
}

/** Whether it has a whole message in place of a delta, which no package reads. */
function hasMessage({ choices }: ChatChunk): boolean {
  return !!choices?.some(({ delta, message }) => message && !hasContent(delta))
}

/** Whether it has choices. The reader reports any other missing member. */
function isChatChunk(value: unknown): value is ChatChunk {
  return isRecord(value) && Array.isArray(value.choices)
}
