/** The log of what was sent, and when. */

import type { Broken } from './raw.ts'
import type { WireName } from './wires/wire-name.ts'

/** One response as it was sent. All times are in milliseconds of `clock`. */
export interface ResponseLog {
  /** The wire of the request. */
  readonly wire: WireName
  /** The number of the request, counted from 1. */
  readonly request: number
  /** The HTTP status. */
  readonly status: number
  /** When the request had arrived. */
  readonly arrived: number
  /** When the first byte was passed to the transport; absent before that. */
  firstByte?: number
  /** When the last byte was passed to the transport; absent before that, and if the client disconnected earlier. */
  end?: number
  /** When the last argument byte of each call was passed to the transport, by call id. */
  readonly argsDone: Record<string, number>
  /** Each write: when it was due, and when it was passed to the transport. */
  readonly writes: WriteLog[]
  /** The maximum delay of a write so far, in milliseconds. */
  lateness: number
  /** How the connection was broken at the end; absent if it was not. */
  broken?: Broken
  /** Whether the client disconnected before the end. */
  aborted: boolean
}

/** When one write was due, and when it was sent. */
export interface WriteLog {
  /** When the script had the write, in milliseconds of the clock. */
  readonly due: number
  /** When it was passed to the transport, in milliseconds of the clock. */
  readonly sent: number
}

export function openLog(opening: Pick<ResponseLog, 'wire' | 'request' | 'status' | 'arrived'>): ResponseLog {
  return { ...opening, argsDone: {}, writes: [], lateness: 0, aborted: false }
}
