/** Decodes the Server-Sent Events of a response. */

import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { errorIn } from './error-body.ts'
import { StreamedError, UnreadableError } from './explain.ts'
import { isRecord } from './is-record.ts'
import { parsedJson } from './parsed-json.ts'

/** The maximum characters of one event. An event that repeats a whole response, images included, is shorter. */
const LONGEST_EVENT = 64 * 1024 * 1024

/** The maximum characters reported of a body that contains no event. An error is shorter. */
const LONGEST_ERROR = 64 * 1024

/**
 * Returns a function that decodes bytes and returns the events that end in them. `undefined` marks the end of the body
 * and also ends its last event, although the standard drops such an event (qT5). Throws {@link UnreadableError} for an
 * event of more than 64 Mi characters. If the body contains no event, the whole body counts as one, because some hosts
 * send a whole response or an error (qT12). If it is neither, it is thrown as an {@link UnreadableError}.
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
      if (!streams && other.length < LONGEST_EVENT) other += cause.line ?? ''
    },
  })
  return (bytes) => {
    events = []
    parser.feed(bytes ? decoder.decode(bytes, { stream: true }) : `${decoder.decode()}\n\n`)
    if (!bytes && !streams && other !== '') return [whole(other)]
    return events
  }
}

function whole(data: string): EventSourceMessage {
  const body = parsedJson(data)
  if (errorIn(body) === undefined && !(isRecord(body) && Array.isArray(body.choices))) {
    throw new UnreadableError({ said: data.slice(0, LONGEST_ERROR) })
  }
  return { id: undefined, event: undefined, data }
}

/** The end of OpenAI's wires; some hosts append more to it. */
export function isDone({ data }: EventSourceMessage): boolean {
  return data.startsWith('[DONE]')
}

/**
 * Whether the event only shows that the connection is still open. Some gateways send that as data (qT19): a comment, or
 * a word in an event of another kind. `last`: the end of the body ended the event, so it may be only a part of one.
 */
export function isHeartbeat({ event, data }: EventSourceMessage, last: boolean): boolean {
  const said = data.trimStart()
  if (event === 'ping' || said === '') return true
  return !last && (said.startsWith(':') || (isUnknown(event) && !/^[{[]/.test(said)))
}

/** Whether no wire has an event of this name. */
export function isUnknown(name: string | undefined): boolean {
  return !!name && !/^(message|response|content_block|chat|completion|chunk|data|delta)|error$/i.test(name)
}

/**
 * Returns the object in an event; throws an error that was sent as an event. `last`: the end of the body ended the
 * event.
 */
export function parseEvent({ event, data }: EventSourceMessage, last: boolean): object {
  const value = parsedJson(data)
  const error = errorIn(value, isUnknown(event))
  if (event === 'error') throw new StreamedError(error ?? value ?? data)
  if (error !== undefined) throw new StreamedError(error)
  if (!isRecord(value)) throw new UnreadableError({ cut: last && value === undefined, said: data })
  return value
}
