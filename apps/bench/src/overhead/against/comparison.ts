/** Compares two cores by their rounds. */

import { limitWithSpread } from '../../bars.ts'
import { median } from '../../stats.ts'
import { spreadOf } from '../cpu.ts'
import type { Spread } from '../table.ts'

/** Microseconds of CPU for the same work in one round: with the older core in two processes, and with the present one. */
export interface Round {
  readonly older: number
  readonly again: number
  readonly present: number
}

/** The rounds of the same three processes. */
export type Start = readonly Round[]

export interface Comparison {
  /** Microseconds of CPU of a round: the medians. */
  readonly older: number
  readonly present: number
  /** The older core in its second process, as a ratio to its first process: the median of each start. */
  readonly self: Spread
  /** The present core, as a ratio to the older one in its first process: the median of each start. */
  readonly ratio: Spread
  /** Half of the starts have a ratio of the older core to itself that is at most this far from 1. */
  readonly spread: number
  /** The limit for the median of the ratio. */
  readonly limit: number
  readonly isMet: boolean
}

/** Ratios are within one round, because a slow moment slows all of it. Several starts count, because V8 compiles differently in each. */
export function comparisonOf(starts: readonly Start[]): Comparison {
  const rounds = starts.flat()
  const self = spreadOf(starts.map((start) => ratioIn(start, 'again')))
  const ratio = spreadOf(starts.map((start) => ratioIn(start, 'present')))
  const spread = Math.max(self.high - 1, 1 - self.low)
  const limit = limitWithSpread(spread)
  return {
    older: medianOf(rounds.map(({ older }) => older)),
    present: medianOf(rounds.map(({ present }) => present)),
    self,
    ratio,
    spread,
    limit,
    isMet: ratio.median <= limit,
  }
}

const ratioIn = (start: Start, who: 'again' | 'present'): number =>
  medianOf(start.map((round) => round[who] / round.older))

const medianOf = (values: readonly number[]): number => median(values) ?? Number.NaN
