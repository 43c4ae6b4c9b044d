/** Defines the format of a checkpoint: versioned, plain JSON. */

import type { Effect } from './effect.ts'
import type { Answers, PendingInterrupt } from './interrupt.ts'
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

/** The format of checkpoints. A later one is rejected. */
export const CHECKPOINT_FORMAT = 1

/** The phases of a step, in order. `gate`: `beforeFinalAnswer` decides about the answer. `over`: the answer was accepted. */
export type Phase = 'before-model' | 'model' | 'after-model' | 'calls' | 'gate' | 'over'

/**
 * The saved state of a run, for `agent.resume`. It is equal to `JSON.parse(JSON.stringify(checkpoint))` and contains no signal, function, client or
 * key. You can read the members up to `result`; the others are internal to core, and a later version may change them.
 */
export interface Checkpoint {
  /** The version of the format. */
  readonly format: typeof CHECKPOINT_FORMAT
  /** The id of the run. */
  readonly runId: string
  /** The name of the agent. Only an agent with this name can resume the checkpoint. */
  readonly agent: string | null
  /** The number of times that this run was saved. A store compares it. */
  readonly revision: number
  /** The status of the run when it was saved: `running` between two steps and during one. */
  readonly status: 'running' | 'interrupted' | 'cancelled' | 'completed'
  /** The open questions. */
  readonly interrupts: readonly PendingInterrupt[]
  /** The history. */
  readonly messages: readonly Message[]
  /** The tokens that the run has used. */
  readonly usage: Usage
  /** The warnings of the run. */
  readonly warnings: readonly Warning[]
  /** The id of the run's conversation, if it has one. A resume keeps it. */
  readonly conversationId?: string
  /** The span of the run, or before that the one in which `agent.begin` was called. The span of the resumed run links to it. */
  readonly trace?: { readonly traceId: string; readonly spanId: string; readonly traceFlags: number }
  /** The result of a completed run, without the members that the checkpoint itself has. */
  readonly result?: SavedResult
  /** The error of a run that has ended with one that is `final`: its name, message and data. */
  readonly failure?: { readonly name: string; readonly message: string }
  /** The checksum of all members except the revision. It detects damage, but not a deliberate change. */
  readonly checksum: string
  /** The number of steps, and the state of the current one. */
  readonly steps: SavedSteps
  /** The calls in the order in which they were made, followed by the work of background calls. */
  readonly calls: readonly SavedCall[]
  /** Undos (`compensate`) that had started and not ended. */
  readonly undos: readonly SavedUndo[]
  /** Idempotency keys of discarded calls of the current step. No other call may use them. Absent if there are none. */
  readonly spentKeys?: readonly string[]
  /** Ids of earlier calls that the history does not contain. No other call may have them. Absent if there are none. */
  readonly spentIds?: readonly string[]
  /** The names of the tools of the run. */
  readonly tools: readonly string[]
  /** The answers so far, by the address that asked. */
  readonly questions: SavedQuestions
  /** Run-local values, by key. */
  readonly values: { readonly [key: string]: Json }
  /** Messages of `run.send` that wait for the next safe point. */
  readonly sent: readonly UserMessage[]
  /** Ids of calls that may have been executed. */
  readonly unknown: readonly string[]
  /** Ids of calls that were still running after their grace time. */
  readonly abandoned: readonly string[]
}

/** The result of a completed run, without the members that the checkpoint has itself. */
export interface SavedResult {
  readonly status: 'completed'
  /** Why the run ended: with an answer of the model, with the result of a `returnDirect` tool, or early through `earlyStop`. */
  readonly stopReason?: 'answer' | 'return-direct' | 'early-stop'
  /** The accepted answer: a message of the model, or the tool's message if the answer came from a `returnDirect` tool or the output tool. */
  readonly message: AssistantMessage | ToolMessage
  readonly text: string
  readonly output?: unknown
  /** The finish reason of `message`. If `message` is a tool's, the finish reason of the response that called the tool. */
  readonly finishReason: FinishReason
}

/** The current step. */
export interface Step {
  readonly number: number
  readonly phase: Phase
  /** Middleware whose hook of this phase has ended. A resume does not call these hooks again. */
  readonly done: readonly string[]
  /** Attempts of its model call so far. */
  readonly attempts: number
  /** The attempt that succeeded; absent if a wrap answered without the model. */
  readonly attempt?: number
  /** The ids of the calls whose tools the request did not offer, so that they are not executed. Absent if there are none. */
  readonly unoffered?: readonly string[]
  /** The finish reason of its response. */
  readonly finishReason?: FinishReason
  /** Whether the step has an answer that may end the run: no `beforeFinalAnswer` hook has rejected it. */
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
  /** The index in the history of the answer that may end the run. */
  readonly candidate?: number
  /** The text that the model had written when the run was cancelled. It enters the history only if a message follows it. */
  readonly cutOff?: string
  /** The feedback to the rejected answer of the step before. */
  readonly feedback?: string
}

/** The saved state of a call. */
export interface SavedCallState {
  /** The current id of the call. `call.id` is the id that it was made with. */
  readonly id: string
  readonly step: number
  /** Whether a response requested it. */
  readonly isRequested: boolean
  /** `discarded` is saved only for a call that was being stopped or undone. */
  readonly fate: 'provisional' | 'committed' | 'discarded'
  /** The number of its executions. */
  readonly attempts: number
  /**
   * For a call without a result: the strongest effect that may have happened and whose outcome is unknown. For a call with a result: its effect.
   * Absent if its function was never called.
   */
  readonly effect?: Effect
  /** `shown`: its `tool-end` event was emitted. */
  readonly told: 'open' | 'shown'
  /** The call has a result, but it is unknown whether it was executed, or whether it is still running. */
  readonly isUnknown?: true
  /** Whether this is the background work of a call, not the call itself. */
  readonly isWork?: true
  /** Whether the model has read the result of the background work. */
  readonly isRead?: true
}

/** A saved call: its state, and the values that belong to it. */
export interface SavedCall extends SavedCallState {
  /** The key of the call, the same in all processes. The background work of a call has the key of that call. */
  readonly key: string
  readonly call: ToolCall
  /** The earlier name of its tool, if the tool was renamed. The addresses of the call's questions have this name. */
  readonly madeAs?: string
  /** The key of the call whose tool or wrap made this call. */
  readonly maker?: string
  /** The result, if the call has settled. */
  readonly message?: ToolMessage
  /**
   * Set if the call has succeeded and its tool can undo it: its input and output. `output` is absent if it returned nothing. `input` is absent if the
   * values are not JSON; then a resume cannot undo the call.
   */
  readonly done?: { readonly input?: Json; readonly output?: Json }
  /** For a call without a result: the outcomes of its executions. If its wraps run again, `next` returns the same outcomes. */
  readonly outcomes: readonly SavedOutcome[]
  /** The runs of agents in executions that have no outcome yet. */
  readonly runs: readonly SavedRun[]
}

/** The run of an agent inside an execution of a call. */
export interface SavedRun {
  readonly invocation: Invocation
  readonly checkpoint: Checkpoint
  /** Answers to questions of this run that it has not read yet. Absent if there are none. */
  readonly answers?: Answers
}

/** The undo of a discarded call. A resume does not repeat it. */
export interface SavedUndo {
  /** The key of the call. */
  readonly key: string
  /** The id of the call. A call of a nested agent has the id of the call that runs the agent in front: `outer/inner`. */
  readonly id: string
  readonly tool: string
  /** Whether the undo has ended, although the checkpoint has the call as it was before. */
  readonly hasEnded?: boolean
}

/** What an execution returned or threw. For an error: its message, and the limit if it exceeded its time limit. */
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
  /** The canonical text of the input, absent if it is the call's own input. For an agent that a wrap runs: the name of the middleware. */
  readonly input?: string
  /** The number of earlier executions of the call with this input. */
  readonly n: number
  /** For the run of an agent: the number of runs that the execution started before it. Absent for the first. */
  readonly nested?: number
}

export interface Asked {
  /** The answers since the tool or middleware last ended. A hook that runs again after it has ended starts without answers. */
  readonly answers: readonly Json[]
  /** The payloads of the questions that these answers belong to, in the same order. */
  readonly payloads: readonly Json[]
  /** The number of questions that were answered before these. */
  readonly past: number
}

/** The questions and answers in a checkpoint. The key is the canonical text of the address. */
export type SavedQuestions = { readonly [address: string]: Asked }
