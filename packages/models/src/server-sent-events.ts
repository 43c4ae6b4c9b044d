/** What a response says, event by event. */

import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { StreamedError, UnreadableError } from './explain.ts'
import { isRecord } from './is-record.ts'

/** Characters of one event. One that repeats a whole response, pictures included, has fewer; who sends more may send without end. */
const LONGEST_EVENT = 64 * 1024 * 1024

/** Characters of a body that holds no event: an error has fewer. */
const LONGEST_ERROR = 64 * 1024

/**
 * Gives the events that end in these bytes; `undefined` is the end of the body, and ends its last event too, though the standard
 * has that dropped (qT5). Throws an {@link UnreadableError} for an event of more than 64 Mi characters, and, at its end, what a body
 * without any event says instead: hosts answer with an error as they do where nothing streams (qT12).
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

/** The end of OpenAI's wires; what some hosts hang on it is nothing. */
export function isDone({ data }: EventSourceMessage): boolean {
  return data.startsWith('[DONE]')
}

/** The event shows only that the connection is still there. */
export function isHeartbeat({ event, data }: EventSourceMessage): boolean {
  return event === 'ping' || data.trim() === ''
}

/** The object that an event holds; an error that comes as an event is thrown. `last`: the end of the body ended it. */
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
