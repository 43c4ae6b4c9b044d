/** The interface of a wire format: where requests go, and how responses are written. */

import type { Beat } from '@meanwhile/assemble/testing'
import type { Usage } from '@meanwhile/core'
import type { Host } from '../rules/hosts.ts'
import type { WireName } from './wire-name.ts'

export type Failure = Extract<Beat, { readonly type: 'fail' }>

/** A beat that writes bytes; `cut` writes none. */
export type WrittenBeat = Exclude<Beat, { readonly type: 'cut' }>

/** One wire format: an object without state. */
export interface Wire {
  readonly name: WireName
  /** The path of the requests. */
  readonly path: string
  /** Where hosts that imitate the wire have it. */
  readonly otherPaths?: readonly string[]
  /** The header with the provider's request id. */
  readonly requestIdHeader: string
  /** Begins one response. */
  encoder(response: ResponseSeed): Encoder
  /** The JSON body of a response that failed before it began. */
  errorBody(failure: Failure): object
  /** The frame of one event recorded as JSON. */
  recordedFrame(json: string): string
  /** Sent after the last recorded event. */
  readonly recordedEnd: readonly string[]
}

/** What is known of a response before its first token. */
export interface ResponseSeed {
  /** Counted from 1. Ids are derived from it, so that the same script gives the same bytes. */
  readonly number: number
  /** The body of the request. */
  readonly request: { readonly [key: string]: unknown }
  readonly usage: Usage
  /** The host that the response imitates. */
  readonly host: Host
}

/** Writes one response. */
export interface Encoder {
  /** Frames that are sent at once, before the first token. */
  readonly opening: readonly string[]
  /** Returns the frames of one beat. Beats come in order, each once. */
  encode(beat: WrittenBeat): readonly string[]
}
