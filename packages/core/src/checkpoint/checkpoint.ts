/** What a run is saved as: versioned, plain JSON. */

import type { Warning } from '../events.ts'
import { hashOf } from '../hash.ts'
import type { PendingInterrupt } from '../interrupt/interrupt.ts'
import type { SavedQuestions } from '../interrupt/questions.ts'
import { isRecord } from '../json.ts'
import type { Invocation } from '../machine/invocation.ts'
import type { Json, Message, ToolCall, ToolMessage, Usage, UserMessage } from '../message.ts'
import type { CompletedResult } from '../result.ts'
import { freeze, isMessage } from '../run/history.ts'
import { PHASES, type Phase } from '../run/step.ts'
import type { Effect } from '../tool.ts'
import { CheckpointCorruptError, CheckpointVersionError } from './checkpoint-errors.ts'

/** The format this version writes. Older ones are read, newer ones refused (L18). */
export const CHECKPOINT_FORMAT = 1

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
  readonly result?: Omit<CompletedResult, 'messages' | 'usage' | 'warnings' | 'steps'>
  /** Of all members but the revision: tells damage, not malice. */
  readonly checksum: string
}

export interface SavedStep {
  readonly number: number
  readonly phase: Phase
  readonly done: readonly string[]
  readonly attempts: number
  readonly attempt?: number
  readonly finishReason?: CompletedResult['finishReason']
  /** Places in the history of the messages the step has added. */
  readonly added: readonly number[]
  /** Place in the history of the candidate for the final answer. */
  readonly candidate?: number
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

/** Whatever the order of its members is by now. */
export function checksumOf(checkpoint: Omit<Checkpoint, 'checksum'>): string {
  return hashOf({ ...checkpoint, revision: undefined, checksum: undefined })
}

/**
 * A checkpoint from outside: a frozen copy.
 *
 * @throws {CheckpointCorruptError} It is none, or is damaged.
 * @throws {CheckpointVersionError} A later version wrote it.
 */
export function checkedCheckpoint(value: unknown): Checkpoint {
  if (isRecord(value) && typeof value.format === 'number' && value.format > CHECKPOINT_FORMAT)
    throw new CheckpointVersionError(idOf(value), value.format, CHECKPOINT_FORMAT)
  try {
    const copy: unknown = freeze(JSON.parse(JSON.stringify(value)))
    if (isRecord(copy) && isCheckpoint(copy) && copy.checksum === checksumOf(copy)) return copy
  } catch (cause) {
    // It refers to itself, is nested too deep …
    throw new CheckpointCorruptError(idOf(value), 'it is no JSON that can be read', { cause })
  }
  throw new CheckpointCorruptError(idOf(value), 'it is no checkpoint, or is damaged')
}

/** Whether it is a checkpoint of a run whose answer was accepted: no further step takes what is sent to it. */
export function hasEnded(value: unknown): boolean {
  if (!isRecord(value)) return false
  return value.status === 'completed' || (isRecord(value.step) && value.step.phase === 'over')
}

function idOf(value: unknown): string {
  return isRecord(value) && typeof value.runId === 'string' ? value.runId : ''
}

type Unchecked = { readonly [key: string]: unknown }

function isCheckpoint(value: Unchecked): value is Unchecked & Checkpoint {
  const { messages } = value
  return (
    value.format === CHECKPOINT_FORMAT &&
    typeof value.runId === 'string' &&
    value.runId !== '' &&
    (value.agent === null || typeof value.agent === 'string') &&
    isCount(value.revision) &&
    ['running', 'interrupted', 'cancelled', 'completed'].includes(value.status as string) &&
    isListOf(messages, isMessage) &&
    isRecord(value.usage) &&
    Object.values(value.usage).every((figure) => typeof figure === 'number') &&
    isListOf(value.warnings, isRecord) &&
    isCount(value.steps) &&
    (value.step === undefined || isStep(value.step, messages)) &&
    isListOf(value.calls, isCall) &&
    isOptional(value.background, (works) => isListOf(works, isWork)) &&
    isOptional(value.undos, (undos) => isListOf(undos, isUndo)) &&
    isListOf(value.tools, isText) &&
    isListOf(value.interrupts, isPending) &&
    isRecord(value.questions) &&
    Object.values(value.questions).every(isAsked) &&
    isRecord(value.values) &&
    isListOf(value.sent, isMessage) &&
    isOptional(value.feedback, isText) &&
    isListOf(value.unknown, isText) &&
    isListOf(value.abandoned, isText) &&
    isOptional(value.trace, isTrace) &&
    (value.status === 'completed') === (value.result !== undefined) &&
    isOptional(value.result, isRecord)
  )
}

function isStep(step: unknown, messages: readonly unknown[]): step is SavedStep {
  const isPlace = (place: unknown) => isCount(place) && place < messages.length
  return (
    isRecord(step) &&
    isCount(step.number) &&
    PHASES.includes(step.phase as Phase) &&
    isListOf(step.done, isText) &&
    isCount(step.attempts) &&
    isOptional(step.attempt, isCount) &&
    isOptional(step.finishReason, isText) &&
    isListOf(step.added, isPlace) &&
    isOptional(step.candidate, isPlace) &&
    typeof step.direct === 'boolean' &&
    isOptional(step.cutOff, isText)
  )
}

function isCall(saved: unknown): saved is SavedCall {
  return (
    isRecord(saved) &&
    isText(saved.key) &&
    isText(saved.id) &&
    isRecord(saved.call) &&
    isText(saved.call.id) &&
    isText(saved.call.name) &&
    isCount(saved.step) &&
    typeof saved.asked === 'boolean' &&
    typeof saved.provisional === 'boolean' &&
    isOptional(saved.maker, isText) &&
    isCount(saved.attempts) &&
    isOptional(saved.effect, isText) &&
    isOptional(saved.message, isMessage) &&
    isOptional(saved.outcomes, (outcomes) => isListOf(outcomes, isOutcome)) &&
    isOptional(saved.done, isRecord) &&
    areNested(saved)
  )
}

function isWork(saved: unknown): saved is SavedWork {
  return (
    isRecord(saved) &&
    isText(saved.key) &&
    isRecord(saved.call) &&
    isText(saved.call.id) &&
    isText(saved.call.name) &&
    isCount(saved.step) &&
    isCount(saved.attempts) &&
    isOptional(saved.effect, isText) &&
    isOptional(saved.message, isMessage) &&
    isOptional(saved.outcomes, (outcomes) => isListOf(outcomes, isOutcome)) &&
    areNested(saved) &&
    typeof saved.delivered === 'boolean'
  )
}

function isNestedCheckpoint(nested: unknown): boolean {
  return isRecord(nested) && isCheckpoint(nested)
}

function areNested({ nested, nestedIn, alsoNested }: Unchecked): boolean {
  const areAlso = isOptional(alsoNested, (also) => isListOf(also, isNested))
  return isOptional(nested, isNestedCheckpoint) && isOptional(nestedIn, isInvocation) && areAlso
}

function isNested(saved: unknown): boolean {
  return isRecord(saved) && isNestedCheckpoint(saved.nested) && isInvocation(saved.nestedIn)
}

function isInvocation(invocation: unknown): boolean {
  return (
    isRecord(invocation) &&
    isCount(invocation.n) &&
    isOptional(invocation.input, isText) &&
    isOptional(invocation.nested, isCount)
  )
}

function isUndo(saved: unknown): saved is SavedUndo {
  return isRecord(saved) && isText(saved.key) && isText(saved.id) && isText(saved.tool)
}

function isOutcome(outcome: unknown): outcome is SavedOutcome {
  if (!isRecord(outcome)) return false
  const { error, timeout, message, invocation } = outcome
  const isOne = (isText(error) && isOptional(timeout, (ms) => typeof ms === 'number')) || isMessage(message)
  return isOne && isOptional(invocation, isInvocation)
}

function isPending(pending: unknown): pending is PendingInterrupt {
  return isRecord(pending) && isText(pending.id) && isListOf(pending.address, isRecord) && 'payload' in pending
}

function isAsked(asked: unknown): boolean {
  return isRecord(asked) && Array.isArray(asked.answers) && isCount(asked.past)
}

function isTrace(trace: unknown): boolean {
  return isRecord(trace) && isText(trace.traceId) && isText(trace.spanId) && isCount(trace.traceFlags)
}

function isListOf<Item>(value: unknown, is: (item: unknown) => item is Item): value is Item[]
function isListOf(value: unknown, is: (item: unknown) => boolean): value is unknown[]
function isListOf(value: unknown, is: (item: unknown) => boolean): value is unknown[] {
  return Array.isArray(value) && value.every(is)
}

function isOptional(value: unknown, is: (value: unknown) => boolean): boolean {
  return value === undefined || is(value)
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0
}
