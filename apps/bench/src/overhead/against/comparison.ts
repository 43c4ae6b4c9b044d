/** What the rounds say of two cores. */

import { limitWithSpread } from '../../bars.ts'
import { median } from '../../stats.ts'
import { spreadOf } from '../cpu.ts'
import type { Spread } from '../table.ts'

/** Microseconds of CPU that the same work took in one round: with the older core in two processes, and with the present one. */
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
  /** What the older core took in its second process, as a part of what it took in its first: of each start the median. */
  readonly self: Spread
  /** What the present core took, as a part of what the older one took in its first process: of each start the median. */
  readonly ratio: Spread
  /** Of the starts, half have a ratio of the older core to itself that is at most so far from 1. */
  readonly spread: number
  /** What the median of the ratio may be at the most. */
  readonly limit: number
  readonly isMet: boolean
}

/** Ratios are of one round, because a slow moment slows all of it. Several starts count, because V8 compiles differently in each. */
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
