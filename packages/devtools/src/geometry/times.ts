/** When a step streamed, when its response was accepted, and when its last call ended. Milliseconds since the epoch. */

import type { Call, Dialect, Step } from '../model/run.ts'

export interface StepTimes {
  readonly start: number
  /** The end of its last response. */
  readonly streamEnd: number
  /** When its response was accepted: the end of the stream or later, as far as the calls tell it. */
  readonly stood: number
  /** The end of everything that counts. */
  readonly end: number
}

/** A later time is that of an approval, not of the response. */
const LATEST_MS = 5_000

/** `now` is the end of what is still open. */
export function timesOf({ responses, calls }: Step, now: number): StepTimes {
  const start = least([...responses, ...calls].map((part) => part.start))
  const streamEnd = responses.length > 0 ? most(responses.map(({ end = now }) => end)) : start
  const accepted = calls.map(({ stood = streamEnd }) => stood).filter((stood) => stood - streamEnd < LATEST_MS)
  const stood = Math.max(streamEnd, most(accepted))
  const end = Math.max(stood, most(calls.filter(counts).map((call) => call.end ?? now)))
  return { start, streamEnd, stood, end }
}

/** Nothing waited for the end of a discarded call, nor for one that was left running. */
export function counts({ fate }: Call): boolean {
  return fate !== 'discarded' && fate !== 'abandoned'
}

/** From its first start to its last end, without the time in which it waited for the rest of its input. */
export function workOf({ start, end, waits }: Call, now: number): number {
  const until = end ?? now
  const rest = waits
    .filter(({ kind }) => kind === 'rest')
    .reduce((sum, { from, to }) => sum + Math.max(0, Math.min(to, until) - Math.max(from, start)), 0)
  return until - start - rest
}

/** Whether it started before its response had ended. Other libraries do not say so: there the times tell it. */
export function isEarly(call: Call, { streamEnd }: StepTimes, dialect: Dialect): boolean {
  return call.early || (dialect !== 'meanwhile' && streamEnd - call.start > 1)
}

// Thousands of arguments would be too many for Math.max.
const most = (all: readonly number[]): number => all.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY)
const least = (all: readonly number[]): number => all.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)
