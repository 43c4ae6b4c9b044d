/** The calls of a Chat Completions response through the AI SDK, read from the raw chunks that its provider received. */

import type { Assembler, Label, ModelRequest, ReadChunk } from '@meanwhile/core'
import type { CallPart, InputPiece, InputStart, StreamPart } from './ai-sdk-model.ts'
import { type ChatChunk, chatReader } from './chat-stream.ts'
import { readSafely } from './explain.ts'
import { isRecord } from './is-record.ts'
import { RestartedError } from './single-response.ts'

/**
 * The same reader, except for calls: these are read from the chunks, if they come as `raw` parts. The AI SDK's providers may make other
 * calls of them: two of a name in two pieces, or one with the first piece (qC47); one of two calls with one index and one id (qC48); two
 * of arguments that come again (qC18). So only the metadata of their parts is taken.
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
  // Calls that the provider runs itself are in no chunk (G16).
  const executed = new Set<string>()
  let started = 0
  let only: Assembler | undefined
  // The latest chunk. Its calls come after its text, so they are read when its other parts have been.
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
      // A finish reason came first: the second response begins after the end of the protocol, which no part shows (qT16).
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

  /** A part is of the call with its id. If the provider has made up the id, its n-th start is of the n-th call. */
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

/** What the provider's parts say, and so the chunks need not. */
const NOTHING = { text() {}, reasoning() {}, seal() {}, usage() {}, response() {} }

/** Whether it has choices; the reader finds out whether anything else is missing. */
function isChatChunk(value: unknown): value is ChatChunk {
  return isRecord(value) && Array.isArray(value.choices)
}
