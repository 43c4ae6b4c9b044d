/** What all parts of the environment share: where they stand in a process of a world. */

import type { AgentEvent, AgentRun, CancelMode, Run } from '../../src/index.ts'
import { Gates } from './gates.ts'
import type { LoadedCore } from './inside.ts'
import type { Amid, Journal } from './journal.ts'
import type { Scenario } from './scenario.ts'

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
  /** The same, as its tools see it. */
  view: Run | undefined
  /** The words of the response that streams or stands, by call id, in call order. */
  announced: Map<string, string> = new Map()
  aborted = false
  hookAsked = false
  /** A tool has thrown an error that ends the run, or a save has failed. */
  failed = false
  isOver = false
  /** The number of the move of the last cancel. */
  cancelledIn: number | undefined
  readonly cancels: CancelMode[] = []
  readonly cancelledCalls: string[] = []

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
    const { aborted, cancels, cancelledCalls, hookAsked, failed, isOver: over } = this
    return { aborted, cancels: [...cancels], cancelledCalls: [...cancelledCalls], hookAsked, failed, over }
  }

  /** Whether the run was cancelled before the present move. */
  get isCancelled(): boolean {
    return this.cancels.length > 0 && this.cancelledIn !== this.moves()
  }

  shows(event: AgentEvent): void {
    this.journal.now.events.push(event)
    this.reached(`the reader has ${event.type}`)
  }
}

/** How often something may still happen, over all processes. */
export type Left = Record<
  'cancel' | 'cancelCall' | 'abort' | 'kill' | 'saveFails' | 'resumes' | 'rejects' | 'sends' | 'again',
  number
>
