/** Defines the format of a checkpoint: versioned, plain JSON. */

import type { Effect } from './effect.ts'
import type { Answers, PendingInterrupt, SavedQuestions } from './interrupt.ts'
import type {
  AssistantMessage,
  FinishReason,
  Json,
  Message,
  ToolCall,
  ToolMessage,
  Usage,
  UserMessage,
} from './message.ts'
import type { Warning } from './warning.ts'

/** The format this version writes. Format 1 is read, newer ones are refused. */
export const CHECKPOINT_FORMAT = 2

/** The phases of a step, in order. `over`: its answer was accepted. */
export type Phase = 'before-model' | 'model' | 'after-model' | 'calls' | 'gate' | 'over'

/**
 * The saved state of a run, for `agent.resume`. It is equal to `JSON.parse(JSON.stringify(checkpoint))` and contains no signal, function, client or
 * key. You can read the members up to `result`; the others are internal to core, and a later version may change them.
 */
export interface Checkpoint {
  readonly format: typeof CHECKPOINT_FORMAT
  readonly runId: string
  /** The name of the agent. An agent with another name rejects the checkpoint. */
  readonly agent: string | null
  /** The number of saves of this run, which a store compares. */
  readonly revision: number
  readonly status: 'running' | 'interrupted' | 'cancelled' | 'completed'
  readonly interrupts: readonly PendingInterrupt[]
  readonly messages: readonly Message[]
  readonly usage: Usage
  readonly warnings: readonly Warning[]
  /** The id of the run's conversation, if it has one. A resume keeps it. */
  readonly conversationId?: string
  /** The span of the run, for the link from the span of the resumed run. */
  readonly trace?: { readonly traceId: string; readonly spanId: string; readonly traceFlags: number }
  /** The result of a completed run, without the members above. */
  readonly result?: SavedResult
  /** The checksum of all members except the revision. It detects damage, not malice. */
  readonly checksum: string
  readonly steps: SavedSteps
  /** The calls in the order in which they were made, then the work of background calls. */
  readonly calls: readonly SavedCall[]
  /** Undos that had started and not ended. */
  readonly undos: readonly SavedUndo[]
  /** Keys of discarded calls of the current step, which no other call gets; absent if there are none. */
  readonly spentKeys?: readonly string[]
  /** The names of the tools of the run. */
  readonly tools: readonly string[]
  readonly questions: SavedQuestions
  /** Run-local values, by key. */
  readonly values: { readonly [key: string]: Json }
  /** Messages of `run.send` that wait for the next safe point. */
  readonly sent: readonly UserMessage[]
  /** Ids of calls that may have happened. */
  readonly unknown: readonly string[]
  /** Ids of calls that were still running after their grace time. */
  readonly abandoned: readonly string[]
}

/** The result of a completed run, without the members that the checkpoint has itself. */
export interface SavedResult {
  readonly status: 'completed'
  readonly stopReason?: 'answer' | 'return-direct' | 'early-stop'
  /** The accepted answer: the model's message, or, for `return-direct` and for an output that came through a call, the tool's message. */
  readonly message: AssistantMessage | ToolMessage
  readonly text: string
  readonly output?: unknown
  /** The finish reason of `message`, or, if a tool returned it, of the response that called the tool. */
  readonly finishReason: FinishReason
}

/** The current step. */
export interface Step {
  readonly number: number
  readonly phase: Phase
  /** Middleware whose hook of this phase has ended: a resume does not repeat it. */
  readonly done: readonly string[]
  /** Attempts of its model call so far. */
  readonly attempts: number
  /** The attempt that succeeded; absent if a wrap answered itself. */
  readonly attempt?: number
  /** The finish reason of its response. */
  readonly finishReason?: FinishReason
  /** Whether the step has an answer that may end the run: the final-answer gate has not rejected it. */
  readonly isOffered: boolean
  /** Whether that answer is the result of a `returnDirect` tool. */
  readonly direct: boolean
}

/** The state of the steps, and the values that belong to it. */
export interface SavedSteps {
  /** The number of steps that have started. */
  readonly begun: number
  /** The current step; absent between two steps. */
  readonly current?: Step
  /** The indexes in the history of the messages that this step has added. */
  readonly added: readonly number[]
  /** The index in the history of the answer that the step offers. */
  readonly candidate?: number
  /** The text that the model had written when the run was cancelled. It enters the history only if a message follows it. */
  readonly cutOff?: string
  /** The feedback to the last answer, if the next step follows a rejected answer. */
  readonly feedback?: string
}

/** The saved state of a call. */
export interface SavedCallState {
  /** The current id of the call; `call.id` is the id with which it was made. */
  readonly id: string
  readonly step: number
  /** Whether a response requested it. */
  readonly isRequested: boolean
  /** A `discarded` call is saved if it was being stopped or undone. */
  readonly fate: 'provisional' | 'committed' | 'discarded'
  /** The number of its executions. */
  readonly attempts: number
  /**
   * For a call without a result: the strongest effect that may have happened and whose outcome is unknown. For a call with a result: its effect.
   * Absent if its function was never called.
   */
  readonly effect?: Effect
  /** `shown`: the event of its end was emitted. */
  readonly told: 'open' | 'shown'
  /** The call has a result, but it is unknown whether it has happened or is still running. */
  readonly isUnknown?: true
  /** Whether this is the work of a background call. */
  readonly isWork?: true
  /** Whether the model has read the result of that work. */
  readonly isRead?: true
}

/** A saved call: its state, and the values that belong to it. */
export interface SavedCall extends SavedCallState {
  /** The key of the call in all processes. The work of a background call has the key of that call. */
  readonly key: string
  readonly call: ToolCall
  /** The key of the call whose tool or wrap made this call. */
  readonly maker?: string
  /** The result, if the call has settled. */
  readonly message?: ToolMessage
  /**
   * Set if the call has succeeded and its tool can undo it: its input and output. Without `output` it returned nothing. Without `input` the values
   * are not JSON, so that a resume cannot undo it.
   */
  readonly done?: { readonly input?: Json; readonly output?: Json }
  /** For a call without a result: the outcomes of its executions. When its wraps run again, they get the same outcomes. */
  readonly outcomes: readonly SavedOutcome[]
  /** The runs of agents in executions without an outcome. */
  readonly runs: readonly SavedRun[]
}

/** The run of an agent inside an execution of a call. */
export interface SavedRun {
  readonly invocation: Invocation
  readonly checkpoint: Checkpoint
  /** Answers to questions of this run with which it had not continued yet. Absent if there are none. */
  readonly answers?: Answers
}

/** The undo of a discarded call, which a resume does not repeat. */
export interface SavedUndo {
  /** The key of the call. */
  readonly key: string
  /** The id of the call. A call of a nested agent has the id of the call that runs the agent in front: `outer/inner`. */
  readonly id: string
  readonly tool: string
  /** Whether the undo has ended while the checkpoint still has the call as it was before. */
  readonly hasEnded?: boolean
}

/** What an execution returned or threw: the message of the error, and the limit if it exceeded its time limit. */
export type Outcome = { readonly message: ToolMessage } | { readonly error: string; readonly timeout?: number }

/** An outcome and its execution. */
export type SavedOutcome = Outcome & { readonly invocation: Invocation }

/** The state from which a resumed run continues. */
export interface Resumed {
  readonly checkpoint: Checkpoint
  readonly answers: Answers
}

/** Identifies an execution of a call, so that a resume finds its saved state. */
export interface Invocation {
  /** The hash of the input; absent if it is the call's own input. For an agent that a wrap runs: the name of the middleware. */
  readonly input?: string
  /** The number of earlier executions of the call with this input. */
  readonly n: number
  /** For the run of an agent: the number of runs that the execution started before it. Absent for the first. */
  readonly nested?: number
}
