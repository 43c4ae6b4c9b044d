/** A stream some provider really sent and some client read wrongly: exact, named, and with the outcome a right reader comes to. */

import type { FinishReason, Usage } from '@meanwhile/core'
import type { RawEnd } from '../raw.ts'
import type { Slice } from '../slice.ts'
import type { WireName } from '../wires/wire.ts'

/** One form of a quirk: id and title together name it. Plain data. */
export interface Quirk {
  /** Its row in the catalogue: all forms of one quirk share it. */
  readonly id: string
  readonly wire: WireName
  /** What the provider does. */
  readonly title: string
  /** Where somebody met it: public issues, pull requests, documentation, recorded streams. */
  readonly source: string
  /** What the body is made of, in its order. */
  readonly events: readonly QuirkEvent[]
  /** How the body is cut, where the quirk is in that. */
  readonly slice?: Slice
  /** How the response ends, where it does not end as HTTP wants it. */
  readonly ending?: RawEnd
  readonly expected: Outcome
  /** What comes of it where the request declares these tools, if that is something else. */
  readonly declared?: { readonly tools: readonly DeclaredTool[]; readonly expected: Outcome }
}

/** An object is one event, in the frame of its wire; a string is text of the body just as it is, frame included. */
export type QuirkEvent = object | string

export interface DeclaredTool {
  readonly name: string
  /** JSON Schema. */
  readonly inputSchema: { readonly [key: string]: unknown }
}

/** What a reader comes to, whatever the wire. */
export type Outcome = Answered | Failed

/** The response came to its end. Its calls may run after `stop` and `tool-calls` alone. */
export interface Answered {
  /** All of its text. Absent: none. */
  readonly text?: string
  readonly reasoning?: string
  readonly calls: readonly ExpectedCall[]
  readonly finishReason: FinishReason
  readonly usage?: Usage
  /** The parts in the order in which they began, where that is what it is about. */
  readonly parts?: readonly ('text' | 'reasoning' | 'call')[]
}

/** The response failed: there is an error, what came before it is kept, and none of its calls may run. */
export interface Failed {
  readonly error: {
    /** The provider's own word, or number; or core's. */
    readonly code?: string
    /** What the error stands for, where the status of the response said 200. */
    readonly status?: number
    readonly retryable: boolean
  }
  /** The text that had come. */
  readonly text?: string
  /** The calls that had come. */
  readonly calls?: readonly ExpectedCall[]
}

/** A call with the input it has in the end, or one whose arguments cannot be used: it stays in the message and is never run. */
export type ExpectedCall = {
  /** The provider's id. Absent: the provider gave none, and whoever reads makes one. */
  readonly id?: string
  readonly name: string
  /** Members of the provider's call that have to be in the next request, untouched. */
  readonly sentBack?: object
} & ({ readonly input: unknown; readonly invalid?: never } | { readonly invalid: true; readonly input?: never })
