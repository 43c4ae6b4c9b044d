/** Runs under interleavings of everything that may happen to them. */

import { cases } from '../interleaved-cases.ts'
import { interleavedLives } from '../interleaved-lives.ts'
import { InterleavedPlay } from '../interleaved-play.ts'
import { comparedPlay } from './compared-play.ts'
import { traceOf } from './trace.ts'

export const play = comparedPlay(cases, (options, clock) => {
  const play = new InterleavedPlay(options)
  return traceOf(interleavedLives(play, options, clock), play.deeds)
})
