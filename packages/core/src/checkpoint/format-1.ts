/** Converts checkpoints of format 1, which earlier versions wrote. */

import type { Effect } from '../vocabulary/effect.ts'
import type { ToolCall, ToolMessage } from '../vocabulary/message.ts'
import { present } from '../vocabulary/present.ts'
import type { Checkpoint, Invocation, Outcome, SavedCall, SavedUndo, Step } from '../vocabulary/saved-run.ts'
import { signed } from './checksum.ts'

/** A checkpoint of format 1. An optional member is absent if it has no value, or if the version that wrote it did not have the member. */
export interface Format1 extends Omit<Checkpoint, 'format' | 'steps' | 'calls' | 'undos'> {
  readonly format: 1
  readonly steps: number
  readonly step?: Step1
  readonly feedback?: string
  readonly calls: readonly Call1[]
  readonly background?: readonly Call1[]
  readonly undos?: readonly SavedUndo[]
}

interface Step1 extends Omit<Step, 'isOffered'> {
  readonly added: readonly number[]
  readonly candidate?: number
  readonly cutOff?: string
}

export interface Call1 {
  readonly key: string
  readonly call: ToolCall
  readonly step: number
  readonly attempts: number
  readonly effect?: Effect
  readonly message?: ToolMessage
  /** In the order in which they arrived. */
  readonly outcomes?: readonly (Outcome & { readonly invocation?: Invocation })[]
  /** The run of the agent in an execution without an outcome, and that execution. */
  readonly nested?: Format1
  readonly nestedIn?: Invocation
  /** The agent runs of further parallel executions. */
  readonly alsoNested?: readonly { readonly nested: Format1; readonly nestedIn: Invocation }[]
  /** For work in the background: the model has read its result. Such work has none of the members below. */
  readonly delivered?: boolean
  readonly id?: string
  readonly asked?: boolean
  readonly provisional?: boolean
  readonly maker?: string
  readonly told?: boolean
  readonly done?: NonNullable<SavedCall['done']>
}

/** The same state in the current format, with its new checksum. */
export function fromFormat1(old: Format1): Checkpoint {
  const { steps, step, feedback, calls, background = [], undos = [], ...rest } = old
  const { added = [], candidate, cutOff } = step ?? {}
  const lost = [...old.unknown, ...old.abandoned]
  return signed({
    ...rest,
    format: 2,
    steps: present({ begun: steps, current: step && stepFrom(step), added, candidate, cutOff, feedback }),
    calls: [...calls.map((call) => callFrom(call, lost)), ...background.map((work) => workFrom(work, lost))],
    undos,
  })
}

function stepFrom({ added: _, candidate, cutOff: __, ...step }: Step1): Step {
  return { ...step, isOffered: candidate !== undefined }
}

/** Converts a call. `lost`: the ids of calls that may have happened, or are still running. */
function callFrom(old: Call1, lost: readonly string[]): SavedCall {
  const { asked = false, provisional, told, outcomes = [], nested, nestedIn, alsoNested = [], ...rest } = old
  const { message, id = rest.call.id } = rest
  const first = nested ? [{ nested, nestedIn: nestedIn ?? { n: outcomes.length } }] : []
  return {
    ...rest,
    id,
    isRequested: asked,
    fate: provisional ? 'provisional' : 'committed',
    told: told ? 'shown' : 'open',
    // An outcome without an invocation belongs to the call's own input.
    outcomes: outcomes.map((outcome, n) => ({ ...outcome, invocation: outcome.invocation ?? { n } })),
    runs: [...first, ...alsoNested].map((run) => ({ invocation: run.nestedIn, checkpoint: fromFormat1(run.nested) })),
    ...(message && lost.includes(id) && { isUnknown: true }),
  }
}

function workFrom({ delivered, ...old }: Call1, lost: readonly string[]): SavedCall {
  return { ...callFrom(old, lost), isWork: true, ...(delivered && { isRead: true }) }
}
