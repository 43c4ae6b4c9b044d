/** Streams a turn as a UI message stream. */

import type { UIMessageChunk } from 'ai'
import { eventStream } from '../event-stream.ts'
import type { Report } from '../guarded.ts'
import { turnErrorText } from '../present.ts'
import { refusalOf } from '../refusals.ts'
import type { ReadEvent } from '../turn/turn-reader.ts'
import type { TurnUpdate } from '../turn/turn-update.ts'
import { turnUpdates } from '../turn/turn-updates.ts'
import { type ChunkOptions, UIChunks, type UIChunksOptions } from './chunks.ts'

/** The options of `toUIMessageStream`. */
export interface StreamOptions extends ChunkOptions {
  /** A cursor of the thread. Events up to it are not streamed, because the browser's message already contains them. */
  readonly after?: string
  /**
   * Streams each step only when its message is complete, so that nothing has to be removed again. Useful for version 6, in which a failed attempt of
   * a model call otherwise stays visible until the page is reloaded. Default `false`.
   */
  readonly hold?: boolean
}

/**
 * Converts the events of a turn, or of a run, to a UI message stream. Pass the events from their beginning, even with `after`. Cancelling the stream
 * stops reading, but not the turn.
 *
 * @throws {CursorMismatchError} As an error of the stream: `after` is damaged, or belongs to another thread.
 */
export function toUIMessageStream(
  events: AsyncIterable<ReadEvent>,
  options: StreamOptions = {},
): ReadableStream<UIMessageChunk> {
  const chunks = uiMessageChunks(events, options)
  return new ReadableStream<UIMessageChunk>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      async cancel() {
        await chunks.return()
      },
    },
    { highWaterMark: 0 },
  )
}

/** Returns the events of a turn, or of a run, as the response to a request of `useChat`. */
export function toUIMessageStreamResponse(
  events: AsyncIterable<ReadEvent>,
  { headers, ...options }: StreamOptions & { readonly headers?: Readonly<Record<string, string>> } = {},
): Response {
  return responseOf(() => uiMessageChunks(events, options), headers)
}

/**
 * Creates the response of a handler. `events` receives a signal that aborts when the page disconnects. `report` receives an error of the server, of
 * which the page only learns that there was one.
 */
export function streamResponse(
  events: (signal: AbortSignal) => AsyncIterable<ReadEvent>,
  options: StreamOptions & Pick<UIChunksOptions, 'ended'>,
  report: Report,
): Response {
  return responseOf(async function* (signal) {
    try {
      yield* uiMessageChunks(events(signal), options)
    } catch (thrown) {
      if (signal.aborted) throw thrown
      const error = thrown instanceof Error ? thrown : new Error(String(thrown))
      const refusal = refusalOf(error)
      if (!refusal) report(thrown)
      yield { type: 'error', errorText: refusal?.message ?? turnErrorText(options, error) }
    }
  })
}

function responseOf(
  chunks: (signal: AbortSignal) => AsyncGenerator<UIMessageChunk, void>,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return eventStream(chunks, {
    headers: { 'x-vercel-ai-ui-message-stream': 'v1', ...headers },
    last: 'data: [DONE]\n\n',
  })
}

function finished({ finishReason }: TurnUpdate & { readonly type: 'turn-end' }): UIMessageChunk {
  return { type: 'finish', ...(finishReason && { finishReason }) }
}

async function* uiMessageChunks(
  events: AsyncIterable<ReadEvent>,
  { after, hold, ...options }: StreamOptions & Pick<UIChunksOptions, 'ended'>,
): AsyncGenerator<UIMessageChunk, void> {
  const chunks = new UIChunks(options)
  const updates = turnUpdates(events, {
    ...(after !== undefined && { after }),
    ...(hold !== undefined && { hold }),
    // Version 6 cannot take a card back.
    early: options.version !== 6,
  })
  let finish: UIMessageChunk | undefined
  for await (const update of updates) {
    if (update.type === 'turn-waiting') finish = { type: 'finish', finishReason: 'tool-calls' }
    if (update.type === 'turn-end') finish = update.status === 'completed' ? finished(update) : undefined
    yield* chunks.of(update)
  }
  if (finish) yield finish
}
