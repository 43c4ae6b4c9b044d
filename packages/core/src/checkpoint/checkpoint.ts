/** What a run is saved as: versioned, plain JSON. */

import { hashOf } from '../hash.ts'
import type { PendingInterrupt } from '../interrupt/interrupt.ts'
import { isRecord } from '../json.ts'
import { freeze, isMessage } from '../run/history.ts'
import {
  CHECKPOINT_FORMAT,
  type Checkpoint,
  PHASES,
  type Phase,
  type SavedCall,
  type SavedOutcome,
  type SavedStep,
  type SavedUndo,
  type SavedWork,
} from '../saved-run.ts'
import { CheckpointCorruptError, CheckpointVersionError } from './checkpoint-errors.ts'

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
