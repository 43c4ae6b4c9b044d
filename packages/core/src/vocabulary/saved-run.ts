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

/** The format this version writes. Older ones are read, newer ones refused (L18). */
export const CHECKPOINT_FORMAT = 1

/** What a step does, one after another. `over`: its answer was accepted. */
export const PHASES = ['before-model', 'model', 'after-model', 'calls', 'gate', 'over'] as const
export type Phase = (typeof PHASES)[number]

/**
 * A run at a point from which it can go on. It equals `JSON.parse(JSON.stringify(checkpoint))`, and holds no signal, function,
 * client or key (L13). Give it to `agent.resume`; everything but `runId`, `revision`, `status` and `interrupts` is core's own.
 */
export interface Checkpoint {
  readonly format: typeof CHECKPOINT_FORMAT
  readonly runId: string
  /** The agent's name: another one's checkpoint is refused. */
  readonly agent: string | null
  /** How often the run has been saved: what a store compares (L14). */
  readonly revision: number
  readonly status: 'running' | 'interrupted' | 'cancelled' | 'completed'
  readonly messages: readonly Message[]
  readonly usage: Usage
  readonly warnings: readonly Warning[]
  /** Steps begun. */
  readonly steps: number
  /** The step in whose middle the run is; absent between two. */
  readonly step?: SavedStep
  readonly calls: readonly SavedCall[]
  /** Absent in checkpoints of versions that knew no background calls. */
  readonly background?: readonly SavedWork[]
  /** Undos that had begun and were not over. Absent where there are none. */
  readonly undos?: readonly SavedUndo[]
  /** Names of the tools there were. */
  readonly tools: readonly string[]
  readonly interrupts: readonly PendingInterrupt[]
  readonly questions: SavedQuestions
  /** Run-local values, by key. */
  readonly values: { readonly [key: string]: Json }
  /** Messages of `run.send` that wait for their safe point. */
  readonly sent: readonly UserMessage[]
  /** What the gate said last, if the next step follows a rejected answer. */
  readonly feedback?: string
  /** Ids of calls that may have happened. */
  readonly unknown: readonly string[]
  readonly abandoned: readonly string[]
  /** The run's span, for the link of the resumed one (L12). */
  readonly trace?: { readonly traceId: string; readonly spanId: string; readonly traceFlags: number }
  /** Of a completed run: its result without the members above. */
  readonly result?: SavedResult
  /** Of all members but the revision: tells damage, not malice. */
  readonly checksum: string
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

/** The step at work, and what a resume needs to go on in its middle. */
export interface SavedStep {
  readonly number: number
  readonly phase: Phase
  /** Middlewares whose hook of this phase is done: a resume does not repeat it (L8). */
  readonly done: readonly string[]
  /** Attempts of its model call so far (J10). */
  readonly attempts: number
  /** The attempt that stood; absent if a wrap answered itself. */
  readonly attempt?: number
  /** How its response ended. */
  readonly finishReason?: FinishReason
  /** Places in the history of the messages the step has added. */
  readonly added: readonly number[]
  /** Place in the history of the candidate for the final answer. */
  readonly candidate?: number
  /** Whether that began as the result of a `returnDirect` tool. */
  readonly direct: boolean
  /** The text that the model had given when the run was cancelled: it is not in the history unless a message follows it. */
  readonly cutOff?: string
}

export interface SavedCall {
  readonly key: string
  /** The id it has by now; `call.id` is the one it was made under. */
  readonly id: string
  readonly call: ToolCall
  readonly step: number
  /** Whether a response asked for it. */
  readonly asked: boolean
  readonly provisional: boolean
  /** Key of the call whose tool or wrap made it. */
  readonly maker?: string
  readonly attempts: number
  /** Set when its tool's function was entered, or about to be: from then on it may have happened. */
  readonly effect?: Effect
  /** Its result, once it has settled. */
  readonly message?: ToolMessage
  /** Whether a reader was given that. */
  readonly told?: boolean
  /** Of one that stays open: what its tool's executions came to. Its wraps, entered again, get that again (L8). */
  readonly outcomes?: readonly SavedOutcome[]
  /** What it was given and gave, for a tool that can be undone. */
  readonly done?: { readonly input: Json; readonly output: Json }
  /** The run of the agent in an execution that has no outcome. */
  readonly nested?: Checkpoint
  /** Which execution that is. Absent in checkpoints of versions that kept one run for a call. */
  readonly nestedIn?: Invocation
  /** Those of further executions that were at work at once. */
  readonly alsoNested?: readonly SavedNested[]
}

export interface SavedNested {
  readonly nested: Checkpoint
  readonly nestedIn: Invocation
}

/** The work of a background call. */
export interface SavedWork
  extends Pick<
    SavedCall,
    'key' | 'call' | 'step' | 'attempts' | 'effect' | 'message' | 'outcomes' | 'nested' | 'nestedIn' | 'alsoNested'
  > {
  /** Whether the model has read its result. */
  readonly delivered: boolean
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

/** With the execution it is of. Those of earlier versions stand in the order in which they had come, and do not say that. */
export type SavedOutcome = Outcome & { readonly invocation?: Invocation }

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
