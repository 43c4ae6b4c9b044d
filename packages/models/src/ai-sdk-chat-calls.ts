/** The calls of a Chat Completions response that is asked for through the AI SDK: read from the chunks that its provider was sent. */

import type { Assembler, Label, ModelRequest, ReadChunk } from '@meanwhile/core'
import type { CallPart, InputPiece, InputStart, StreamPart } from './ai-sdk-model.ts'
import { type ChatChunk, chatReader } from './chat-stream.ts'
import { readSafely } from './explain.ts'
import { isRecord } from './is-record.ts'
import { RestartedError } from './single-response.ts'

/**
 * The same reader, but for the calls of a response whose chunks come as well, as `raw` parts. What the AI SDK's providers make of them may
 * be other calls: of a name in two pieces they make two, or take the first (qC47); of two calls with one index and one id they may lose
 * the second (qC48); arguments that come again they may take for another call (qC18). Only their metadata is taken.
 */
export function withChatCalls(
  read: ReadChunk<StreamPart>,
  request: Pick<ModelRequest, 'tools' | 'toolNames'>,
): ReadChunk<StreamPart> {
  const readChunk = readSafely(chatReader('', request))
  const labels = new Set<Label>()
  // The same, in the order in which the calls began.
  const order: Label[] = []
  const byId = new Map<string, Label>()
  // The calls that the provider makes itself come in no chunk (G16).
  const executed = new Set<string>()
  let started = 0
  let only: Assembler | undefined
  // It has come, and its calls stand behind its text.
  let held: ChatChunk | undefined
  let finished = false
  let over = false

  function readCalls(to: Assembler): void {
    const chunk = held
    held = undefined
    only ??= onlyCalls(to)
    if (!chunk || over) return
    try {
      readChunk(chunk, only)
    } catch (thrown) {
      // The end of the protocol, which is not shown here, was before it (qT16).
      if (!(thrown instanceof RestartedError && finished)) throw thrown
      over = true
    }
  }

  function onlyCalls(to: Assembler): Assembler {
    return {
      ...NOTHING,
      isWhole: (label) => to.isWhole(label),
      finish: () => void (finished = true),
      call(label, { metadata: _, ...piece }) {
        if (!labels.has(label)) order.push(label)
        labels.add(label)
        if (piece.id && !byId.has(piece.id)) byId.set(piece.id, label)
        to.call(label, piece)
      },
    }
  }

  /** A part is of the call with its id, or if the provider has made that, of the one that began when it did. */
  function mark(
    id: string,
    { type, providerMetadata: metadata }: InputStart | InputPiece | CallPart,
    to: Assembler,
  ): void {
    const begun = type === 'tool-input-start' ? order[started++] : undefined
    if (begun !== undefined && !byId.has(id)) byId.set(id, begun)
    const label = byId.get(id)
    if (label !== undefined && metadata) to.call(label, { metadata })
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
      case 'error':
        readCalls(to)
        return read(part, to)
      default:
        return read(part, to)
    }
  }
}

/** What the parts say. */
const NOTHING = { text() {}, reasoning() {}, seal() {}, usage() {}, response() {} }

/** What else it is not is found where it is read. */
function isChatChunk(value: unknown): value is ChatChunk {
  return isRecord(value) && Array.isArray(value.choices)
}
