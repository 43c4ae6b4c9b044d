/** What the harness knows of a provider's wire format: where requests go, how answers are written down. */

import type { Usage } from '@meanwhile/core'
import type { Beat } from '@meanwhile/core/testing'

export type WireName = 'openai-chat' | 'openai-responses' | 'anthropic'

export type Failure = Extract<Beat, { readonly type: 'fail' }>

/** A beat that has bytes of its own: `cut` is the absence of any. */
export type WrittenBeat = Exclude<Beat, { readonly type: 'cut' }>

/** One wire format: an object without state. */
export interface Wire {
  readonly name: WireName
  /** The path requests come to. */
  readonly path: string
  /** The header in which the provider tells its request id. */
  readonly requestIdHeader: string
  /** Begins one response. */
  encoder(response: ResponseSeed): Encoder
  /** The JSON body of a response that failed before it began. */
  errorBody(failure: Failure): object
  /** The frame of one event recorded as JSON. */
  recordedFrame(json: string): string
  /** What follows the last recorded event. */
  readonly recordedEnd: readonly string[]
}

/** What is known of a response before its first token. */
export interface ResponseSeed {
  /** Counted from 1: ids are made of it, so that the same script gives the same bytes. */
  readonly number: number
  /** The body of the request. */
  readonly request: { readonly [key: string]: unknown }
  readonly usage: Usage
}

/** Writes one response. */
export interface Encoder {
  /** Frames the provider sends at once, before the first token. */
  readonly opening: readonly string[]
  /** The frames of one beat. Beats come in their order, each once. */
  encode(beat: WrittenBeat): readonly string[]
}
