/** Responses written by hand, byte for byte: what no encoder would send, and broken connections. */

import type { Pace } from '@meanwhile/assemble/testing'
import type { Slice } from './cutter.ts'
import type { WireName } from './wires/wire-name.ts'

/** A response that consists of these steps: plain data, served like a scripted response. */
export interface RawResponse {
  /** The HTTP status. Default 200. */
  readonly status?: number
  /** Added to the headers of an event stream, or replacing them. */
  readonly headers?: Readonly<Record<string, string>>
  /** What is sent, in order. */
  readonly raw: readonly RawStep[]
  /** The wire it is for. Default: the wire of the request. */
  readonly wire?: WireName
  /** A step without its own time counts as a token. Default: the pace of the script. */
  readonly pace?: Pace
  /** How the body is cut into pieces. Default: the slice of the script. */
  readonly slice?: Slice
  /**
   * How the end of the body is marked: `chunked` (default), or `close`: only by the end of the connection, so that a
   * broken connection cannot be distinguished from a complete body.
   */
  readonly framing?: 'chunked' | 'close'
}

/** A step of a raw response: an event, bytes or the end, each with its time. */
export type RawStep = RawTime & (RawEvent | RawBytes | RawEnd)

/**
 * When a step is due, in milliseconds: `after` the previous step, or `at` a time after the request. Default: by the
 * pace.
 */
export interface RawTime {
  /** Milliseconds after the previous step. */
  readonly after?: number
  /** Milliseconds after the request. */
  readonly at?: number
}

/** One event in the wire's frame: an object, or its JSON as text, which may be damaged. */
export interface RawEvent {
  /** The event, as it is sent. */
  readonly event: object | string
}

/** A part of the body, sent unchanged. An empty one sends the headers. */
export interface RawBytes {
  /** The bytes, as they are sent. */
  readonly bytes: string | Uint8Array
}

/** The end of the response; later steps are not played. Default: `complete`. */
export interface RawEnd {
  /** How the response ends. */
  readonly end: Ending
  /** Only for a `stall`: sends a comment every so many milliseconds. Default: none. */
  readonly comments?: number
}

/**
 * How a response ends: `complete`, as HTTP requires; with a FIN or RST of the connection (`fin`, `reset`); with a chunk
 * size that is not a number (`bad-chunk`); or not at all (`stall`: nothing is sent until the client disconnects).
 * Before the first byte, a `fin`, `reset` or `stall` replaces the headers.
 */
export type Ending = 'complete' | Broken | 'stall'

/** The ends that break the connection. */
export type Broken = 'fin' | 'reset' | 'bad-chunk'

/** Creates a response from steps, for one wire or for any. */
export function rawResponse(raw: readonly RawStep[], options: Omit<RawResponse, 'raw'> = {}): RawResponse {
  return { raw, ...options }
}
