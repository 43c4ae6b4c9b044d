/** The response of a server over HTTP, before the client reads it. */

import { readableMessage } from './tolerance.ts'

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
 * against many schemas: a server may send very many. `ended` is called when the client has read all of a response that is not a stream: its request has had
 * its answer, or gets none.
 */
export function boundedResponse(response: Response, reading: Reading, ended: () => void): Response {
  const { body, headers, ok, status } = response
  if (ok && (!body || status === ACCEPTED)) ended()
  if (!body) return response
  if (headers.get('content-type')?.includes('text/event-stream'))
    return new Response(body.pipeThrough(eventStream(reading)), response)
  return whole(new Response(body.pipeThrough(oneMessage(reading)), response), ended)
}

/** For notifications and answers. A request that is only accepted gets no answer. */
const ACCEPTED = 202

function whole(response: Response, ended: () => void): Response {
  const given = response.json.bind(response)
  async function json(): Promise<unknown> {
    try {
      return readableMessage(await given())
    } finally {
      if (response.ok) ended()
    }
  }
  return Object.assign(response, { json })
}

function oneMessage({ messageBytes }: Reading): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.length
      if (bytes > messageBytes) throw new TooLongError(messageBytes)
      controller.enqueue(chunk)
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
          passed += position + event
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
