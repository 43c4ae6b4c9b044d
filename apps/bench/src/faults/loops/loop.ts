/** A loop of another library whose responses break off. */

import type { WireName } from '@meanwhile/harness/server'

/** One run to make. */
export interface LoopTask {
  readonly wire: WireName
  /** The endpoint. */
  readonly fetch: typeof globalThis.fetch
  readonly prompt: string
  /** Executes a call; a loop has these tools. `look` only reads, and what `send` does cannot be undone. */
  work(tool: LoopTool, input: object): Promise<string>
}

export const LOOP_TOOLS = ['look', 'send'] as const
export type LoopTool = (typeof LOOP_TOOLS)[number]

/** The outcome of a run that did not fail. */
export interface Came {
  /** All text that the reader of the stream received. */
  readonly shown: string
  /** The text of the last response. */
  readonly answer: string
  /** What is kept of the run, as text, without ids that a provider makes. */
  readonly kept: string
  /** Parts that belong to nothing: of a block that is not open, or never ends, or has the id of another; calls without a result, and results without a call. */
  readonly orphans: number
}

/** Rejects if the run fails. */
export type FaultLoop = (task: LoopTask) => Promise<Came>
