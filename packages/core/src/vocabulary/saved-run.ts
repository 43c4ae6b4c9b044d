/** What a checkpoint holds of a run: versioned, plain JSON. */

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

/** What a step does, one after another. `over`: its answer was accepted. */
export type Phase = 'before-model' | 'model' | 'after-model' | 'calls' | 'gate' | 'over'

/**
 * A run at a point from which it can go on: its state, and the values that belong to it. It equals `JSON.parse(JSON.stringify(checkpoint))`,
 * and holds no signal, function, client or key. Give it to `agent.resume`. The members up to `result` are for you to read; the others are
 * core's own, and a later version may write them in another way.
 */
export interface Checkpoint {
  readonly format: typeof CHECKPOINT_FORMAT
  readonly runId: string
  /** The agent's name: another one's checkpoint is refused. */
  readonly agent: string | null
  /** How often the run has been saved: what a store compares. */
  readonly revision: number
  readonly status: 'running' | 'interrupted' | 'cancelled' | 'completed'
  readonly interrupts: readonly PendingInterrupt[]
  readonly messages: readonly Message[]
  readonly usage: Usage
  readonly warnings: readonly Warning[]
  /** The conversation it belongs to, if its caller named one: a run that goes on from here belongs to it, too. */
  readonly conversationId?: string
  /** The run's span, for the link of the resumed one. */
  readonly trace?: { readonly traceId: string; readonly spanId: string; readonly traceFlags: number }
  /** Of a completed run: its result without the members above. */
  readonly result?: SavedResult
  /** Of all members except the revision: tells damage, not malice. */
  readonly checksum: string
  readonly steps: SavedSteps
  /** In the order in which they were made, and behind them the work of background calls. */
  readonly calls: readonly SavedCall[]
  /** Undos that had begun and were not over. */
  readonly undos: readonly SavedUndo[]
  /** Keys of calls of the step at work that were discarded, which no other call gets; absent if there are none. */
  readonly spentKeys?: readonly string[]
  /** Names of the tools there were. */
  readonly tools: readonly string[]
  readonly questions: SavedQuestions
  /** Run-local values, by key. */
  readonly values: { readonly [key: string]: Json }
  /** Messages of `run.send` that wait for their safe point. */
  readonly sent: readonly UserMessage[]
  /** Ids of calls that may have happened. */
  readonly unknown: readonly string[]
  /** Ids of calls that went on beyond their grace time. */
  readonly abandoned: readonly string[]
}

/** The result of a completed run, without the members that the checkpoint has itself. */
export interface SavedResult {
  readonly status: 'completed'
  readonly stopReason?: 'answer' | 'return-direct' | 'early-stop'
  /** The accepted answer: the model's message, or for `return-direct`, and an output that came through a call, the tool's. */
  readonly message: AssistantMessage | ToolMessage
  readonly text: string
  readonly output?: unknown
  /** That of `message` if the model gave it. If a tool gave it: that of the response that called the tool. */
  readonly finishReason: FinishReason
}

/** The step at work. */
export interface Step {
  readonly number: number
  readonly phase: Phase
  /** Middlewares whose hook of this phase is done: a resume does not repeat it. */
  readonly done: readonly string[]
  /** Attempts of its model call so far. */
  readonly attempts: number
  /** The attempt that stood; absent if a wrap answered itself. */
  readonly attempt?: number
  /** How its response ended. */
  readonly finishReason?: FinishReason
  /** Whether it has an answer that may end the run: the gate has not rejected it. */
  readonly isOffered: boolean
  /** Whether that answer began as the result of a `returnDirect` tool. */
  readonly direct: boolean
}

/** How far the steps have come, and the values that belong to them. */
export interface SavedSteps {
  /** How many steps have begun. */
  readonly begun: number
  /** The step in whose middle the run is; absent between two. */
  readonly current?: Step
  /** Places in the history of the messages that this step has added. */
  readonly added: readonly number[]
  /** Place in the history of the answer that it offers. */
  readonly candidate?: number
  /** The text that the model had given when the run was cancelled: it is not in the history unless a message follows it. */
  readonly cutOff?: string
  /** What the gate said last, if the next step follows a rejected answer. */
  readonly feedback?: string
}

/** What is kept of the state of a call. */
export interface SavedCallState {
  /** The id it has by now; `call.id` is the one it was made under. */
  readonly id: string
  readonly step: number
  /** Whether a response requested it. */
  readonly isRequested: boolean
  /** A `discarded` call was told to stop, or was to be undone, and that was not over. */
  readonly fate: 'provisional' | 'committed' | 'discarded'
  /** How often it was executed. */
  readonly attempts: number
  /**
   * Of a call without a result: the gravest effect that may have happened, and of which no outcome is known. Of one with a result: the
   * effect that it had. Absent if its function was never called.
   */
  readonly effect?: Effect
  /** `shown`: the reader was told of its end. */
  readonly told: 'open' | 'shown'
  /** It has a result, and nobody knows whether it has happened, or goes on. */
  readonly isUnknown?: true
  /** It is the work of a background call. */
  readonly isWork?: true
  /** The model has read the result of that work. */
  readonly isRead?: true
}

/** A call: its state, and the values that belong to it. */
export interface SavedCall extends SavedCallState {
  /** Stands for it in all processes. The work of a background call has the key of that call. */
  readonly key: string
  readonly call: ToolCall
  /** Key of the call whose tool or wrap made it. */
  readonly maker?: string
  /** Its result, once it has settled. */
  readonly message?: ToolMessage
  /**
   * It has succeeded, and its tool can undo it: what it was given and gave. Without `output` it gave nothing. Without `input` these values
   * are not JSON, so that a resume cannot undo it.
   */
  readonly done?: { readonly input?: Json; readonly output?: Json }
  /** Of one without a result: what its tool's executions came to. Its wraps, entered again, get that again. */
  readonly outcomes: readonly SavedOutcome[]
  /** The runs of agents in its executions that have no outcome. */
  readonly runs: readonly SavedRun[]
}

/** The run of an agent in an execution of a call. */
export interface SavedRun {
  readonly invocation: Invocation
  readonly checkpoint: Checkpoint
  /** Answers to questions of this run, which had not gone on with them by then. Absent if there are none. */
  readonly answers?: Answers
}

/** The undo of a discarded call, which a resume does not repeat. */
export interface SavedUndo {
  /** The call's. */
  readonly key: string
  /** The call's id; in front of it, for a call of a nested agent, the id of the call that runs that: `outer/inner`. */
  readonly id: string
  readonly tool: string
  /** It is over, and the checkpoint still has the call as it was before. */
  readonly hasEnded?: boolean
}

/** What an execution gave, or what it threw: the message of the error, and of its time limit how long that was. */
export type Outcome = { readonly message: ToolMessage } | { readonly error: string; readonly timeout?: number }

/** With the execution it is of. */
export type SavedOutcome = Outcome & { readonly invocation: Invocation }

/** What a resumed run goes on from. */
export interface Resumed {
  readonly checkpoint: Checkpoint
  readonly answers: Answers
}

/** Tells the executions of one call apart: by it a resume finds what the checkpoint holds of each. */
export interface Invocation {
  /** The hash of its input; absent if that is the call's own input. For an agent that a wrap runs: the name of the wrap's middleware. */
  readonly input?: string
  /** How many executions of the call with this input came before it. */
  readonly n: number
  /** For the run of an agent: how many such runs the execution began before it. Absent for the first. */
  readonly nested?: number
}
