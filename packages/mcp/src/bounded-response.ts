/** The response of a server over HTTP, before the client reads it. */

import { readableText } from './tolerance.ts'

/** How a response is read. */
export interface Reading {
  /** The most bytes of a message. */
  readonly messageBytes: number
  /** Whether a message needs no more attention: it was progress of a call, which has heard of it. */
  takes(message: unknown): boolean
}

/** A message was longer than the limit. */
class TooLongError extends Error {
  readonly code: string

  constructor(messageBytes: number) {
    const problem = `a message has more than ${messageBytes} bytes`
    super(problem)
    this.code = problem
  }
}

/**
 * The response without progress, and with a limit of each of its messages. The client has no limit, and it would check each notification of progress
 * against many schemas: a server may send very many. Its answers are {@link readableText readable}.
 */
export function boundedResponse(response: Response, reading: Reading): Response {
  const { body, headers } = response
  if (!body) return response
  const type = headers.get('content-type') ?? ''
  if (type.includes('text/event-stream')) return new Response(body.pipeThrough(eventStream(reading)), response)
  const limited = body.pipeThrough(limit(reading))
  return new Response(type.includes('application/json') ? limited.pipeThrough(wholeMessage()) : limited, response)
}

/** The same for a response that is not of the server, such as one with a token. */
export function limitedResponse(response: Response, reading: Reading): Response {
  return response.body ? new Response(response.body.pipeThrough(limit(reading)), response) : response
}

function limit({ messageBytes }: Reading): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.length
      if (bytes > messageBytes) throw new TooLongError(messageBytes)
      controller.enqueue(chunk)
    },
  })
}

function wholeMessage(): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder()
  let text = ''
  return new TransformStream({
    transform(chunk) {
      text += decoder.decode(chunk, { stream: true })
    },
    flush(controller) {
      controller.enqueue(new TextEncoder().encode(readableText(text + decoder.decode())))
    },
  })
}

function eventStream({ messageBytes, takes }: Reading): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder()
  const encoder = new TextEncoder()
  let rest = ''
  /** The last characters of `rest`, in which the end of an event may begin. */
  let tail = ''
  /** Of `rest`. */
  let bytes = 0
  const end = new RegExp(END_OF_EVENT)
  return new TransformStream({
    transform(chunk, controller) {
      const piece = decoder.decode(chunk, { stream: true })
      const fresh = tail + piece
      rest += piece
      tail = fresh.slice(-3)
      bytes += chunk.length
      end.lastIndex = 0
      // A search in `rest` copies it, which would be all of a long message for each of its pieces.
      const hasEnd = end.test(fresh)
      end.lastIndex = rest.length - fresh.length
      let passed = ''
      /** The position in the stream after what was taken: the client resumes from there. */
      let position = ''
      let begin = 0
      while (hasEnd && end.test(rest)) {
        const event = rest.slice(begin, end.lastIndex)
        begin = end.lastIndex
        const { id, message } = messageIn(event)
        if (takes(message)) position = id === undefined ? position : `id: ${id}\nevent: progress\ndata: -\n\n`
        else {
          passed += position + readableEvent(event)
          position = ''
        }
      }
      if (begin > 0) {
        rest = rest.slice(begin)
        tail = rest.slice(-3)
        bytes = Buffer.byteLength(rest)
      }
      if (bytes > messageBytes) throw new TooLongError(messageBytes)
      passed += position
      if (passed) controller.enqueue(encoder.encode(passed))
    },
    flush: (controller) => controller.enqueue(encoder.encode(rest)),
  })
}

/** The event with its message readable. JSON with line ends has several lines of data, and is left as it is. */
function readableEvent(event: string): string {
  if (event.match(DATA)?.length !== 1) return event
  return event.replace(DATA, (_, field: string, text: string) => field + readableText(text))
}

const DATA = /^(data: ?)(.*)$/gm

const LINE_END = /\r\n|\n|\r/
const END_OF_EVENT = /(?:\r\n|\n|\r(?!\n)){2}/g

/** The message of an event that may be progress. The client reads all others. */
function messageIn(event: string): { readonly id?: string; readonly message?: unknown } {
  if (!event.includes('notifications/progress')) return {}
  const fields = new Map<string, string>()
  for (const line of event.split(LINE_END)) {
    const [, name, value = ''] = /^(\w+): ?(.*)$/.exec(line) ?? []
    if (name === undefined) continue
    // Only JSON with line ends has several.
    if (fields.has(name)) return {}
    fields.set(name, value)
  }
  const { id, event: type = 'message', data = '', ...others } = Object.fromEntries(fields)
  if (type !== 'message' || Object.keys(others).length > 0) return {}
  try {
    const message: unknown = JSON.parse(data)
    return { message, ...(id !== undefined && { id }) }
  } catch {
    return {}
  }
}
