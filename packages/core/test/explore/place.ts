/** What all parts of the environment share: where they stand in a process of a world. */

import type { AgentEvent, AgentRun, CancelMode } from '../../src/index.ts'
import { Gates } from './gates.ts'
import type { LoadedCore } from './inside.ts'
import type { Amid, Journal } from './journal.ts'
import type { Scenario } from './scenario.ts'

/** How often something may still happen, over all processes. */
export type Left = Record<
  'cancel' | 'cancelCall' | 'abort' | 'kill' | 'saveFails' | 'resumes' | 'rejects' | 'sends' | 'again',
  number
>

export class Place {
  readonly gates: Gates = new Gates()
  readonly scenario: Scenario
  readonly on: LoadedCore
  readonly journal: Journal
  readonly process: number
  readonly left: Left
  /** Called at each moment in which user code runs: the explorer may act in it. */
  readonly reached: (moment: string) => void
  /** How many moves were made. */
  readonly moves: () => number
  /** The run of the world. */
  run: AgentRun | undefined
  /** The words of the response that streams or stands, by call id, in call order. */
  announced: Map<string, string> = new Map()
  aborted = false
  hookAsked = false
  /** A tool has thrown an error that ends the run. */
  failed = false
  isOver = false
  readonly cancels: CancelMode[] = []
  readonly cancelledCalls: string[] = []
  #steps = 0
  /** The first move in which a cancel, or a question of work in the background, has stopped the run. */
  stoppedIn: { readonly move: number; readonly by: string } | undefined

  constructor(of: Pick<Place, 'scenario' | 'on' | 'journal' | 'process' | 'left' | 'reached' | 'moves'>) {
    this.scenario = of.scenario
    this.on = of.on
    this.journal = of.journal
    this.process = of.process
    this.left = of.left
    this.reached = of.reached
    this.moves = of.moves
  }

  get amid(): Amid {
    const { aborted, cancels, cancelledCalls, hookAsked, failed } = this
    return { aborted, cancels: [...cancels], cancelledCalls: [...cancelledCalls], hookAsked, failed }
  }

  /** The run begins no further step. */
  stops(by: string): void {
    this.stoppedIn ??= { move: this.moves(), by }
  }

  /**
   * A step begins, here or in an agent inside a call. Whatever has stopped the run in the same move may have come too late for it. The first step
   * of a resume may be one that goes on: only a cancel `now` stops it.
   */
  stepBegins(step: string): void {
    const { stoppedIn, journal, moves } = this
    const goesOn = this.process > 1 && this.#steps++ === 0
    if (goesOn && !this.cancels.includes('now')) return
    if (stoppedIn && stoppedIn.move < moves()) journal.late.push(`${step} after ${stoppedIn.by}`)
  }

  shows(event: AgentEvent): void {
    this.journal.now.events.push(event)
    this.reached(`the reader has ${event.type}`)
  }
}
