/** Decodes the Server-Sent Events of a response. */

import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { errorIn } from './error-body.ts'
import { isFailure, isUnknown } from './event-names.ts'
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
 * event of more than 64 Mi characters. A chunk, a whole response or an error outside of the fields of an event is an
 * event, too (qT12, qT22). If the body contains no event, it is thrown as an {@link UnreadableError}.
 */
export function eventDecoder(): (bytes: Uint8Array | undefined) => readonly EventSourceMessage[] {
  const decoder = new TextDecoder()
  let events: EventSourceMessage[] = []
  let streams = false
  const other = new OtherLines()
  const parser = createParser({
    maxBufferSize: LONGEST_EVENT,
    onEvent(event) {
      if ((other.isJson && take(other.text)) || streams) other.clear()
      streams = true
      events.push(...separated(event))
    },
    onError(cause) {
      if (cause.type === 'max-buffer-size-exceeded') throw new UnreadableError({ cause })
      // llama.cpp sends an error as a field of this name.
      const line = cause.line?.replace(/^error:\s*(?=\{)/, '') ?? ''
      // Inside of JSON a line is only a part.
      if (!other.isJson && take(line)) other.clear()
      else other.add(line)
    },
  })
  return (bytes) => {
    events = []
    parser.feed(bytes ? decoder.decode(bytes, { stream: true }) : `${decoder.decode()}\n\n`)
    if (bytes) return events
    const { text } = other
    if (!take(text) && !streams && text !== '') throw new UnreadableError({ said: text.slice(0, LONGEST_ERROR) })
    return events
  }

  /** Makes an event of a text that belongs to none, if it is JSON of the response. */
  function take(text: string): boolean {
    if (!startsJson(text)) return false
    // The end of the protocol may follow without a line break.
    const data = text.replace(/data: ?\[DONE\]\s*$/, '')
    if (!isChunk(parsedJson(data), streams)) return false
    streams = true
    events.push({ id: undefined, event: undefined, data })
    return true
  }
}

/** The lines since the latest event that are not fields of one. White space before them is dropped. */
class OtherLines {
  #lines: string[] = []
  #length = 0
  /** Whether the first line begins JSON. */
  isJson = false

  get text(): string {
    return this.#lines.join('')
  }

  add(line: string): void {
    if (this.#length >= LONGEST_EVENT) return
    if (this.#length === 0) {
      if (line.trim() === '') return
      this.isJson = startsJson(line)
    }
    this.#lines.push(line)
    this.#length += line.length
  }

  clear(): void {
    this.#lines = []
    this.#length = 0
    this.isJson = false
  }
}

/** Whether a value is an error, a whole response or a chunk. `streams`: events have come before. */
function isChunk(value: unknown, streams: boolean): boolean {
  if (errorIn(value) !== undefined) return true
  if (!isRecord(value)) return false
  return Array.isArray(value.choices) || isWhole(value) || (streams && typeof value.type === 'string')
}

/** Whether it is a whole response of Responses or Messages. */
function isWhole({ object, type, output, content }: Readonly<Record<string, unknown>>): boolean {
  return (object === 'response' && Array.isArray(output)) || (type === 'message' && Array.isArray(content))
}

/**
 * Some gateways send a comment as data, and omit the blank line after it or after a chunk: then one event contains two
 * (qT19). Comments are dropped, and lines that are JSON each are events each.
 */
function separated(event: EventSourceMessage): readonly EventSourceMessage[] {
  if (!event.data.includes('\n')) return [event]
  const lines = event.data.split('\n').filter((line) => !/^\s*(:|$)/.test(line))
  if (lines.every((line) => isEnd(line) || isRecord(parsedJson(line)))) return lines.map((data) => ({ ...event, data }))
  return [{ ...event, data: lines.join('\n') }]
}

/** The end of OpenAI's wires; some hosts append more to it. */
export function isDone({ data }: EventSourceMessage): boolean {
  return isEnd(data)
}

function isEnd(data: string): boolean {
  return data.startsWith('[DONE]')
}

function startsJson(text: string): boolean {
  return /^\s*[{[]/.test(text)
}

/**
 * Whether the event only shows that the connection is still open. Some gateways send that as data (qT19): a comment, or
 * a word in an event of another kind. `last`: the end of the body ended the event, so it may be only a part of one.
 */
export function isHeartbeat({ event, data }: EventSourceMessage, last: boolean): boolean {
  if (data.trim() === '') return true
  // One of its lines is a chunk.
  if (/^\s*[{[]/m.test(data)) return false
  return event === 'ping' || (!last && (/^\s*:/.test(data) || isUnknown(event)))
}

/**
 * Returns the object in an event; throws an error that was sent as an event. `last`: the end of the body ended the
 * event.
 */
export function parseEvent({ event, data }: EventSourceMessage, last: boolean): object {
  const value = parsedJson(data)
  const error = errorIn(value, isUnknown(event))
  if (isFailure(event)) throw new StreamedError(named(event, error ?? value ?? data))
  if (error !== undefined) throw new StreamedError(error)
  if (!isRecord(value)) throw new UnreadableError({ cut: last && value === undefined, said: data })
  // Some hosts state the type only as the name of the event (qT24).
  return event && value.type === undefined && !value.choices && !isUnknown(event) ? { ...value, type: event } : value
}

/** The error with the name of its event as its type, if it has none. */
function named(type: string | undefined, error: unknown): unknown {
  return isRecord(error) && !Array.isArray(error) && type !== 'error' ? { type, ...error } : error
}
