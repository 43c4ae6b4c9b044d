/** The wires whose raw chunks are read, through the AI SDK, by the readers of the official clients. */

import type { ReadChunk } from '@meanwhile/assemble'
import type { ModelRequest } from '@meanwhile/core'
import { asksForJson, withoutJsonTool } from './ai-sdk-json-tool.ts'
import { wireWord } from './ai-sdk-provider.ts'
import { secondResponses } from './chat-restart.ts'
import { chatReader, isSilentChunk } from './chat-stream.ts'
import { isLastEvent as endsMessage, isSilentEvent as isSilentOnMessages, messagesReader } from './messages-stream.ts'
import {
  isLastEvent as endsResponse,
  isSilentEvent as isSilentOnResponses,
  responsesReader,
} from './responses-stream.ts'

/** An object in a stream. Its members are what the host sent. */
export type RawChunk = Readonly<Record<string, unknown>>

/** The members of a request that the readers use. */
export type RawRequest = Pick<ModelRequest, 'tools' | 'toolNames' | 'inputLimits' | 'output'>

export interface RawWire {
  /** Whether only a stream of this wire has such a chunk. */
  isOwn(chunk: RawChunk): boolean
  /** Whether the chunk only shows that the connection is still open. */
  isSilent(chunk: RawChunk): boolean
  /** Whether the protocol ends with this chunk. */
  isLast(chunk: RawChunk): boolean
  /** Returns a function that decides for each chunk whether it belongs to a second response that no part shows. */
  restarts(): (chunk: RawChunk) => boolean
  reader(request: RawRequest): ReadChunk<RawChunk>
  /** Whether the AI SDK's packages report every call that a chunk announces, by its id and its name. */
  readonly isExact: boolean
  /** Whether a package holds text back until the response ends. */
  delaysText(request: RawRequest): boolean
}

/** The wire that is named at the end of a provider's name; `undefined` for any other provider. */
export function rawWireOf(provider: string): RawWire | undefined {
  return WIRES.get(wireWord(provider))
}

/** What a reader reads. */
type Chunk<Read> = Read extends ReadChunk<infer Chunk> ? Chunk : never
type ChatChunk = Chunk<ReturnType<typeof chatReader>>
type MessagesEvent = Chunk<ReturnType<typeof messagesReader>>
type ResponsesEvent = Chunk<ReturnType<typeof responsesReader>>

// The casts: the readers check the members that they read, because hosts send anything.
const WIRES: ReadonlyMap<string, RawWire> = new Map<string, RawWire>([
  [
    'chat',
    {
      isOwn: ({ choices }) => Array.isArray(choices),
      isSilent: (chunk) => isSilentChunk(chunk as ChatChunk),
      isLast: never,
      restarts() {
        const isSecond = secondResponses()
        return (chunk) => isSecond(chunk as ChatChunk)
      },
      reader(request) {
        // `restarts` has decided.
        const read = chatReader('', request, never)
        return (chunk, to) => read(chunk as ChatChunk, to)
      },
      isExact: false,
      delaysText: never,
    },
  ],
  [
    'responses',
    {
      isOwn: ({ type }) => typeof type === 'string' && type.startsWith('response.'),
      isSilent: (chunk) => isSilentOnResponses(chunk as object as ResponsesEvent),
      isLast: (chunk) => endsResponse(chunk as object as ResponsesEvent),
      restarts: () => never,
      reader(request) {
        const read = responsesReader('', request)
        return (chunk, to) => read(chunk as object as ResponsesEvent, to)
      },
      isExact: true,
      delaysText: never,
    },
  ],
  [
    'messages',
    {
      isOwn: ({ type }) => typeof type === 'string' && /^(message|content_block)_/.test(type),
      isSilent: (chunk) => isSilentOnMessages(chunk as object as MessagesEvent),
      isLast: (chunk) => endsMessage(chunk as object as MessagesEvent),
      restarts: () => never,
      reader(request) {
        const read = messagesReader('', request)
        const readEvent: ReadChunk<RawChunk> = (chunk, to) => read(chunk as object as MessagesEvent, to)
        return asksForJson(request) ? withoutJsonTool(readEvent) : readEvent
      },
      isExact: true,
      delaysText: asksForJson,
    },
  ],
])

function never(): boolean {
  return false
}
