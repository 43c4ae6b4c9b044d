/** Checks the type of each member of a checkpoint. A correct checksum does not prove that the types are correct. */

import { isEffect } from '../vocabulary/effect.ts'
import { isHistory } from '../vocabulary/history.ts'
import type { PendingInterrupt } from '../vocabulary/interrupt.ts'
import { isRecord } from '../vocabulary/json.ts'
import type {
  Asked,
  Checkpoint,
  Invocation,
  SavedCall,
  SavedOutcome,
  SavedResult,
  SavedRun,
  SavedSteps,
  SavedUndo,
  Step,
} from '../vocabulary/saved-run.ts'
import {
  fits,
  type Is,
  isCall,
  isCount,
  isNumber,
  isText,
  isTexts,
  listOf,
  optional,
  type Shape,
} from '../vocabulary/shape.ts'

export function isCheckpoint(value: unknown): value is Checkpoint {
  if (!fits(value, CHECKPOINT) || (value.status === 'completed' && !value.result)) return false
  // Otherwise an answer would be for two questions.
  return new Set(value.interrupts.map(({ id }) => id)).size === value.interrupts.length
}

const isAny: Is = () => true
const isFlag: Is = (value) => typeof value === 'boolean'
const isMessage: Is = (value) => isHistory([value])

function shaped<Shaped>(shape: Shape<Shaped>): Is {
  return (value) => fits(value, shape)
}

function oneOf(...texts: readonly string[]): Is {
  return (value) => isText(value) && texts.includes(value)
}

const INVOCATION: Shape<Invocation> = { input: optional(isText), n: isCount, nested: optional(isCount) }

const OUTCOME: Shape<{ readonly [Name in 'message' | 'error' | 'timeout' | keyof SavedOutcome]: unknown }> = {
  invocation: shaped(INVOCATION),
  message: optional(isMessage),
  error: optional(isText),
  timeout: optional(isNumber),
}

const RUN: Shape<SavedRun> = { invocation: shaped(INVOCATION), checkpoint: isCheckpoint, answers: optional(isRecord) }

const CALL: Shape<SavedCall> = {
  key: isText,
  call: isCall,
  madeAs: optional(isText),
  maker: optional(isText),
  message: optional(isMessage),
  done: optional(isRecord),
  outcomes: listOf(shaped(OUTCOME)),
  runs: listOf(shaped(RUN)),
  id: isText,
  step: isCount,
  isRequested: isFlag,
  fate: oneOf('provisional', 'committed', 'discarded'),
  attempts: isCount,
  effect: optional(isEffect),
  told: isText,
  isUnknown: optional(isFlag),
  isWork: optional(isFlag),
  isRead: optional(isFlag),
}

const STEP: Shape<Step> = {
  number: isCount,
  phase: oneOf('before-model', 'model', 'after-model', 'calls', 'gate', 'over'),
  done: isTexts,
  attempts: isCount,
  attempt: optional(isCount),
  unoffered: optional(isTexts),
  finishReason: optional(isText),
  isOffered: isFlag,
  direct: isFlag,
}

const STEPS: Shape<SavedSteps> = {
  begun: isCount,
  current: optional(shaped(STEP)),
  added: listOf(isCount),
  candidate: optional(isCount),
  cutOff: optional(isText),
  feedback: optional(isText),
}

const INTERRUPT: Shape<PendingInterrupt> = {
  id: isText,
  address: listOf(isRecord),
  innerRun: optional(isText),
  payload: isAny,
  answerSchema: optional(isRecord),
}

const ASKED: Shape<Asked> = { answers: Array.isArray, payloads: Array.isArray, past: isCount }

const UNDO: Shape<SavedUndo> = { key: isText, id: isText, tool: isText, hasEnded: optional(isFlag) }

const RESULT: Shape<SavedResult> = {
  status: isText,
  stopReason: optional(isText),
  message: isMessage,
  text: isText,
  output: isAny,
  finishReason: isText,
}

/** The format, the revision and the checksum are checked before. */
const CHECKPOINT: Shape<Omit<Checkpoint, 'format' | 'revision' | 'checksum'>> = {
  runId: isText,
  agent: (value) => value === null || isText(value),
  status: oneOf('running', 'interrupted', 'cancelled', 'completed'),
  interrupts: listOf(shaped(INTERRUPT)),
  messages: isHistory,
  usage: isRecord,
  warnings: listOf(isRecord),
  conversationId: optional(isText),
  trace: optional(isRecord),
  result: optional(shaped(RESULT)),
  failure: optional(isRecord),
  steps: shaped(STEPS),
  calls: listOf(shaped(CALL)),
  undos: listOf(shaped(UNDO)),
  spentKeys: optional(isTexts),
  spentIds: optional(isTexts),
  tools: isTexts,
  questions: (value) => isRecord(value) && Object.values(value).every(shaped(ASKED)),
  values: isRecord,
  sent: isHistory,
  unknown: isTexts,
  abandoned: isTexts,
}
