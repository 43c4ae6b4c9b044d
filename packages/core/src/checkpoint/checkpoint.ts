/** What a run is saved as: versioned, plain JSON. */

import { CheckpointCorruptError, CheckpointVersionError } from '../vocabulary/checkpoint-errors.ts'
import { hashOf } from '../vocabulary/hash.ts'
import { freeze, isMessage } from '../vocabulary/history.ts'
import type { PendingInterrupt, SavedQuestions } from '../vocabulary/interrupt.ts'
import { isRecord } from '../vocabulary/json.ts'
import {
  CHECKPOINT_FORMAT,
  type Checkpoint,
  type Invocation,
  PHASES,
  type SavedCall,
  type SavedNested,
  type SavedStep,
  type SavedUndo,
  type SavedWork,
} from '../vocabulary/saved-run.ts'
import {
  fits,
  type Is,
  isCall,
  isCount,
  isFlag,
  isNumber,
  isText,
  listOf,
  membersOf,
  oneOf,
  optional,
  type Shape,
} from '../vocabulary/shape.ts'

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
    if (isCheckpoint(copy) && copy.checksum === checksumOf(copy)) return copy
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

function isCheckpoint(value: unknown): value is Checkpoint {
  if (!fits(value, CHECKPOINT)) return false
  const { step, messages, status, result } = value
  const places = step ? [...step.added, step.candidate ?? -1] : []
  return places.every((place) => place < messages.length) && (status === 'completed') === (result !== undefined)
}

const INVOCATION: Shape<Invocation> = { n: isCount, input: optional(isText), nested: optional(isCount) }

const isInvocation: Is = (value) => fits(value, INVOCATION)

const isOutcome: Is = (value) =>
  fits(value, { invocation: optional(isInvocation) }) &&
  (fits(value, { message: isMessage }) || fits(value, { error: isText, timeout: optional(isNumber) }))

const NESTED: Shape<SavedNested> = { nested: isCheckpoint, nestedIn: isInvocation }

/** What the work of a background call has in common with other calls. */
const EXECUTED: Shape<Omit<SavedWork, 'delivered'>> = {
  key: isText,
  call: isCall,
  step: isCount,
  attempts: isCount,
  effect: optional(isText),
  message: optional(isMessage),
  outcomes: optional(listOf(isOutcome)),
  nested: optional(isCheckpoint),
  nestedIn: optional(isInvocation),
  alsoNested: optional(listOf((value) => fits(value, NESTED))),
}

const WORK: Shape<SavedWork> = { ...EXECUTED, delivered: isFlag }

const CALL: Shape<SavedCall> = {
  ...EXECUTED,
  id: isText,
  asked: isFlag,
  provisional: isFlag,
  maker: optional(isText),
  told: optional(isFlag),
  done: optional(isRecord),
}

const STEP: Shape<SavedStep> = {
  number: isCount,
  phase: oneOf(PHASES),
  done: listOf(isText),
  attempts: isCount,
  attempt: optional(isCount),
  finishReason: optional(isText),
  added: listOf(isCount),
  candidate: optional(isCount),
  direct: isFlag,
  cutOff: optional(isText),
}

const UNDO: Shape<SavedUndo> = { key: isText, id: isText, tool: isText, hasEnded: optional(isFlag) }

const PENDING: Shape<PendingInterrupt> = {
  id: isText,
  address: listOf(isRecord),
  payload: (value) => value !== undefined,
}

const ASKED: Shape<SavedQuestions[string]> = { answers: Array.isArray, past: isCount }

const TRACE: Shape<NonNullable<Checkpoint['trace']>> = { traceId: isText, spanId: isText, traceFlags: isCount }

const CHECKPOINT: Shape<Checkpoint> = {
  format: oneOf([CHECKPOINT_FORMAT]),
  runId: (value) => isText(value) && value !== '',
  agent: (value) => value === null || isText(value),
  revision: isCount,
  status: oneOf(['running', 'interrupted', 'cancelled', 'completed']),
  messages: listOf(isMessage),
  usage: membersOf(isNumber),
  warnings: listOf(isRecord),
  steps: isCount,
  step: optional((value) => fits(value, STEP)),
  calls: listOf((value) => fits(value, CALL)),
  background: optional(listOf((value) => fits(value, WORK))),
  undos: optional(listOf((value) => fits(value, UNDO))),
  tools: listOf(isText),
  interrupts: listOf((value) => fits(value, PENDING)),
  questions: membersOf((value) => fits(value, ASKED)),
  values: isRecord,
  sent: listOf(isMessage),
  feedback: optional(isText),
  unknown: listOf(isText),
  abandoned: listOf(isText),
  trace: optional((value) => fits(value, TRACE)),
  result: optional(isRecord),
  checksum: isText,
}
