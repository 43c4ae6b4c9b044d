/** Responses written by hand, to the byte: what no encoder would send, and how connections break. */

import type { Pace } from '@meanwhile/core/testing'
import type { Slice } from './slice.ts'
import type { WireName } from './wires/wire.ts'

/** A response of these steps: plain data, served like a scripted one. */
export interface RawResponse {
  /** Default 200. */
  readonly status?: number
  /** Beside those of an event stream, or in their place. */
  readonly headers?: Readonly<Record<string, string>>
  readonly raw: readonly RawStep[]
  /** The wire it is for. Default: whichever it is asked on. */
  readonly wire?: WireName
  /** A step that has no time of its own is a token. Default: the pace of the script it stands in. */
  readonly pace?: Pace
  /** Default: the slicing of the script it stands in. */
  readonly slice?: Slice
  /**
   * How the body tells its length: `chunked` (default), or not at all (`close`), so that its end is that of the connection, and a
   * connection that breaks cannot be told from a complete body.
   */
  readonly framing?: 'chunked' | 'close'
}

export type RawStep = RawTime & (RawEvent | RawBytes | RawEnd)

/** When a step is due, in milliseconds: `after` the step before it, or `at` a time after the request. Default: as the pace says. */
export interface RawTime {
  readonly after?: number
  readonly at?: number
}

/** One event, in the frame of the wire: an object, or its JSON as text, which may be damaged. */
export interface RawEvent {
  readonly event: object | string
}

/** Part of the body, just as it is. An empty one sends the headers. */
export interface RawBytes {
  readonly bytes: string | Uint8Array
}

/** The end of the response: no step after it is played. Without one the response ends `complete`. */
export interface RawEnd {
  readonly end: Ending
  /** Of a `stall`: a comment every so many milliseconds. Default: silence. */
  readonly comments?: number
}

/**
 * How a response ends: `complete`, as HTTP wants it; with a FIN or an RST of the connection (`fin`, `reset`); with a chunk size that
 * is no number (`bad-chunk`); or not at all (`stall`: nothing more comes, until the client leaves). Before the first byte a `fin`,
 * a `reset` and a `stall` come instead of the headers.
 */
export type Ending = 'complete' | Broken | 'stall'

/** The ends that break the connection. */
export type Broken = 'fin' | 'reset' | 'bad-chunk'

/** A response of these steps, for one wire or for any. */
export function rawResponse(raw: readonly RawStep[], options: Omit<RawResponse, 'raw'> = {}): RawResponse {
  return { raw, ...options }
}
