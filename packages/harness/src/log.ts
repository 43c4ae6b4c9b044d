/** What was really sent, and when. */

import type { Broken } from './raw.ts'
import type { WireName } from './wires/wire.ts'

/** One response as it went out. All times are `clock` milliseconds. */
export interface ResponseLog {
  readonly wire: WireName
  /** The number of the request it answers, counted from 1. */
  readonly request: number
  readonly status: number
  /** When the request had arrived. */
  readonly arrived: number
  /** When the first byte was handed to the transport; absent while none was. */
  firstByte?: number
  /** When the last byte was handed to the transport; absent while the response goes on, and if the client left before. */
  end?: number
  /** When the last argument byte of each call was handed to the transport, by call id. */
  readonly argsDone: Record<string, number>
  /** Each write: when it was due, and when it was handed to the transport. */
  readonly writes: WriteLog[]
  /** How late the latest write was, in milliseconds. */
  lateness: number
  /** How the connection was broken at the end; absent if it was not. */
  broken?: Broken
  /** The client left before the end. */
  aborted: boolean
}

export interface WriteLog {
  readonly due: number
  readonly sent: number
}

export function openLog(opening: Pick<ResponseLog, 'wire' | 'request' | 'status' | 'arrived'>): ResponseLog {
  return { ...opening, argsDone: {}, writes: [], lateness: 0, aborted: false }
}
