/** Runs that are called back in the same turn in which they do something. */

import { lives } from '../reentrant-lives.ts'
import { Play } from '../reentrant-play.ts'
import { scenarios } from '../reentrant-scenario.ts'
import { comparedPlay } from './compared-play.ts'
import { traceOf } from './trace.ts'

export const play = comparedPlay(scenarios, (scenario, clock) => {
  const play = new Play(scenario)
  return traceOf(lives(play, scenario, clock), play.deeds)
})
