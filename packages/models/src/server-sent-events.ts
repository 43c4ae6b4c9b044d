/** Decodes the Server-Sent Events of a response. */

import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { StreamedError, UnreadableError } from './explain.ts'
import { isRecord } from './is-record.ts'

/** The maximum characters of one event. An event that repeats a whole response, images included, is shorter. */
const LONGEST_EVENT = 64 * 1024 * 1024

/** The maximum characters kept of a body that contains no event. An error is shorter. */
const LONGEST_ERROR = 64 * 1024

/**
 * Returns a function that decodes bytes and returns the events that end in them. `undefined` marks the end of the body
 * and also ends its last event, although the standard drops such an event (qT5). Throws {@link UnreadableError} for an
 * event of more than 64 Mi characters. If the body ends without any event, it throws the body as an error: some hosts
 * send an error as an ordinary response (qT12).
 */
export function eventDecoder(): (bytes: Uint8Array | undefined) => readonly EventSourceMessage[] {
  const decoder = new TextDecoder()
  let events: EventSourceMessage[] = []
  let streams = false
  let other = ''
  const parser = createParser({
    maxBufferSize: LONGEST_EVENT,
    onEvent(event) {
      streams = true
      events.push(event)
    },
    onError(cause) {
      if (cause.type === 'max-buffer-size-exceeded') throw new UnreadableError({ cause })
      if (!streams && other.length < LONGEST_ERROR) other += cause.line ?? ''
    },
  })
  return (bytes) => {
    events = []
    parser.feed(bytes ? decoder.decode(bytes, { stream: true }) : `${decoder.decode()}\n\n`)
    if (!bytes && !streams && other !== '') throw noStream(other)
    return events
  }
}

function noStream(body: string): Error {
  const error = errorOf(parseJson(body))
  return error ? new StreamedError(error) : new UnreadableError({ said: body })
}

/** The end of OpenAI's wires; some hosts append more to it. */
export function isDone({ data }: EventSourceMessage): boolean {
  return data.startsWith('[DONE]')
}

/** Whether the event only shows that the connection is still open. */
export function isHeartbeat({ event, data }: EventSourceMessage): boolean {
  return event === 'ping' || data.trim() === ''
}

/**
 * Returns the object in an event; throws an error that was sent as an event. `last`: the end of the body ended the
 * event.
 */
export function parseEvent({ event, data }: EventSourceMessage, last: boolean): object {
  const value = parseJson(data)
  if (event === 'error') throw new StreamedError(errorOf(value) ?? value ?? data)
  if (!isRecord(value)) throw new UnreadableError({ cut: last && value === undefined, said: data })
  const error = errorOf(value)
  if (error) throw new StreamedError(error)
  return value
}

function errorOf(value: unknown): unknown {
  return isRecord(value) && value.error ? value.error : undefined
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
