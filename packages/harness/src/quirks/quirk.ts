/**
 * A quirk: an exact stream that a provider really sent and a client read wrongly, with a name and the correct result.
 */

import type { FinishReason, Usage } from '@meanwhile/core'
import type { Slice } from '../cutter.ts'
import type { RawEnd } from '../raw.ts'
import type { WireName } from '../wires/wire-name.ts'

/** One form of a quirk; id and title together identify it. Plain data. */
export interface Quirk {
  /** Its row in the catalogue: all forms of one quirk share it. */
  readonly id: string
  /** The wire on which it was seen. */
  readonly wire: WireName
  /** What the provider does. */
  readonly title: string
  /** Where it was found: public issues, pull requests, documentation, recorded streams. */
  readonly source: string
  /** The parts of the body, in order. */
  readonly events: readonly QuirkEvent[]
  /** How the body is cut, if that is part of the quirk. */
  readonly slice?: Slice
  /** How the response ends, if it does not end as HTTP requires. */
  readonly ending?: RawEnd
  /** The result if the request declares no tools that change it. */
  readonly expected: Outcome
  /** The result if the request declares these tools and this changes the result. */
  readonly declared?: { readonly tools: readonly DeclaredTool[]; readonly expected: Outcome }
}

/** An object is one event, in the frame of its wire; a string is a part of the body, unchanged, including its frame. */
export type QuirkEvent = object | string

/** A tool that a request declares. */
export interface DeclaredTool {
  /** The name of the tool. */
  readonly name: string
  /** JSON Schema. */
  readonly inputSchema: { readonly [key: string]: unknown }
}

/** The correct result, whatever the wire. */
export type Outcome = Answered | Failed

/** The response was complete. Its calls may run only after `stop` and `tool-calls`. */
export interface Answered {
  /** All of its text. Absent: none. */
  readonly text?: string
  /** All of its reasoning. Absent: none. */
  readonly reasoning?: string
  /** All of its calls, in order. */
  readonly calls: readonly ExpectedCall[]
  /** Why the model stopped. */
  readonly finishReason: FinishReason
  /** The token counts. Absent: not checked. */
  readonly usage?: Usage
  /** The parts in the order in which they began, if the quirk is about their order. */
  readonly parts?: readonly ('text' | 'reasoning' | 'call')[]
}

/** The response failed: there is an error, the partial message is kept, and none of its calls may run. */
export interface Failed {
  /** The error of the model call. */
  readonly error: {
    /** The provider's own code or number, or core's code. */
    readonly code?: string
    /** The status that the error stands for, although the response had status 200. */
    readonly status?: number
    readonly retryable: boolean
  }
  /** The text received so far. */
  readonly text?: string
  /** The calls received so far. */
  readonly calls?: readonly ExpectedCall[]
}

/** A call with its final input, or with arguments that cannot be used: it stays in the message and never runs. */
export type ExpectedCall = {
  /** The provider's id. Absent: the provider sent none, and the reader makes one. */
  readonly id?: string
  /** The name of the tool. */
  readonly name: string
  /** Members of the provider's call that must be in the next request, unchanged. */
  readonly sentBack?: object
} & ({ readonly input: unknown; readonly invalid?: never } | { readonly invalid: true; readonly input?: never })
