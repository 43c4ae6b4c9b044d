/** What the environment has noted of a run, over all processes that continue it. */

import type { Checkpoint, PendingInterrupt } from '../../src/index.ts'

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
  /** A tool has thrown an error that ends the run, or a wrong answer was given. */
  readonly failed: boolean
}

type Undo = Pick<Entry, 'word' | 'process'> & { readonly output: string; endedAfter?: number }

export class Journal {
  readonly entries: Entry[] = []
  /** `endedAfter`: how many saves had begun when an undo had ended. */
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
  /** What the store has. */
  stored: Checkpoint | undefined
  /** How many saves have begun, and which of them the store has. */
  saves = 0
  storedSave = 0
  /** What somebody who has asked for a call got instead of its result. */
  readonly misled: string[] = []
  /** The processes in which calls were cancelled, by id. */
  readonly cancelled: Map<string, number> = new Map()
}
