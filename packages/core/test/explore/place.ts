/** A process of a world: what its environment shares, what was done to its run, and what the run has shown. */

import type { AgentEvent, AgentResult, AgentRun, Message } from '../../src/index.ts'
import type { RunState } from '../../src/state/run.ts'
import { Gates } from './gates.ts'
import type { LoadedCore } from './inside.ts'
import type { Amid, Journal } from './journal.ts'
import type { Scenario } from './scenario.ts'
import type { Span } from './spans.ts'

/** How often something may still happen, over all processes. */
export type Left = Record<
  'cancel' | 'cancelCall' | 'abort' | 'kill' | 'saveFails' | 'resumes' | 'rejects' | 'sends' | 'again',
  number
>

export class Place {
  declare readonly scenario: Scenario
  declare readonly on: LoadedCore
  declare readonly journal: Journal
  declare readonly left: Left
  declare readonly path: readonly string[]
  declare readonly process: number
  /** The history with which the run began. */
  declare readonly from: readonly Message[]
  /** Called at each moment in which user code runs: the explorer may act in it. */
  declare readonly reached: (moment: string) => void
  readonly gates: Gates = new Gates()
  readonly controller: AbortController = new AbortController()
  /** The run of the world, and its state. */
  run?: AgentRun
  inside?: RunState
  amid: Amid = { aborted: false, cancels: [], cancelledCalls: [], hookAsked: false, failed: false }
  /** The words of the response that streams or stands, by call id, in call order. */
  announced: Map<string, string> = new Map()
  /** How many steps have begun. */
  steps = 0
  /** The first move in which a cancel, or a question of work in the background, has stopped the run. */
  stoppedIn?: { readonly move: number; readonly by: string }
  readonly events: AgentEvent[] = []
  readonly spans: Span[] = []
  result?: AgentResult
  error?: unknown
  isOver = false

  constructor(of: Pick<Place, 'scenario' | 'on' | 'journal' | 'left' | 'path' | 'process' | 'from' | 'reached'>) {
    Object.assign(this, of)
  }
}

type OfType<Type> = Extract<AgentEvent, { readonly type: Type }>

/** The events of one type. */
export function ofType<Type extends AgentEvent['type']>(events: readonly AgentEvent[], type: Type): OfType<Type>[] {
  return events.filter((event): event is OfType<Type> => event.type === type)
}
