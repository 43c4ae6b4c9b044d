/** What can be seen of a run from outside, over all processes that continue it. */

import type { AgentEvent, AgentResult, Checkpoint, Message, PendingInterrupt } from '../../src/index.ts'
import type { Span } from './spans.ts'

/** An execution: the function of a tool was called. */
export interface Entry {
  readonly word: string
  readonly callId: string
  /** The same for all executions of one call. */
  readonly key: string
  readonly attempt: number
  readonly process: number
  /** The id of its run: the run of the world, the other run, or that of an agent. */
  readonly run: string
  readonly answers: readonly string[]
  readonly isAborted: () => boolean
  /** What had happened to the run when this began. */
  readonly amid: Amid
  /** The words before this one in the response; absent if the response does not contain it. */
  readonly before?: readonly string[]
  /** Whether the stored checkpoint told that this may have happened; absent without a store. */
  readonly isStored?: boolean
  came?: 'returned' | 'threw' | 'asked' | 'ended its run'
  output?: string
  /** The move in which its signal aborted, and why, as far as its environment had a reason. */
  abortedIn?: number
  abortedAmid?: Amid
}

/** What had been done to the run of a process, or in it, that may stop it. */
export interface Amid {
  readonly aborted: boolean
  readonly cancels: readonly string[]
  readonly cancelledCalls: readonly string[]
  readonly hookAsked: boolean
  readonly failed: boolean
}

export interface Undo {
  readonly word: string
  readonly output: string
  readonly process: number
  /** How many saves had begun when it had ended. */
  endedAfter?: number
}

/** What one process has shown of a run. */
export interface Shown {
  readonly process: number
  readonly events: AgentEvent[]
  readonly spans: readonly Span[]
  /** The history with which it began. */
  readonly from: readonly Message[]
  result?: AgentResult
  error?: unknown
}

export class Journal {
  readonly entries: Entry[] = []
  readonly undone: Undo[] = []
  /** Messages that were sent and accepted. */
  readonly sent: string[] = []
  /** Texts of answers that a hook has rejected. */
  readonly rejected: string[] = []
  /** Hooks that have ended: which, and about which answer. */
  readonly hooked: string[] = []
  /** The steps that have begun, and which of them, also in agents inside calls, after something that stops the run. */
  readonly steps: number[] = []
  readonly late: string[] = []
  /** What hooks have asked: which, and in which step. */
  readonly asked: string[] = []
  /** The words that the model has streamed, by call id. */
  readonly said: Map<string, string> = new Map()
  /** Ids of the calls that were warmed up. */
  readonly warmed: string[] = []
  /** The questions that resumes have answered, by id. */
  readonly answered: PendingInterrupt[] = []
  /** What each process has shown. */
  readonly shown: Shown[] = []
  /** What the store has. */
  stored: Checkpoint | undefined
  /** How many saves have begun, and which of them the store has. */
  saves = 0
  storedSave = 0
  /** Inputs that are being checked. */
  readonly checks: { readonly word: string; readonly process: number; readonly run: 'run'; isDone?: true }[] = []
  /** What somebody who has asked for a call got instead of its result. */
  readonly misled: string[] = []
  /** The processes in which calls were cancelled, by id. */
  readonly cancelled: Map<string, number> = new Map()

  get now(): Shown {
    return this.shown.at(-1) as Shown
  }
}
