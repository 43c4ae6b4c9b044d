/** A call in a block of a Messages stream, as far as it has arrived. */

import type { InputLimits } from '@meanwhile/core'
import { CallInput } from './call-input.ts'
import { isJson } from './is-json.ts'
import { hasMembers, isRecord } from './is-record.ts'
import type { OwnCall, ProviderCall } from './messages-content.ts'
import type { TwinCall } from './twin-calls.ts'
import { argumentsIn, idIn } from './wire-values.ts'

export interface BlockCall extends TwinCall<BlockCall> {
  readonly id: string | undefined
  /** Whether we run it, and not the provider. */
  readonly isOurs: boolean
  /** Whether its block has stopped. */
  ended: boolean
  /** The input in its start event as text. */
  given: string
  /** Whether the start event had it as a value: a placeholder if deltas follow (qA2, qA3). */
  isPlaceholder: boolean
  /** The part of its input that waits until the call ends. */
  waiting?: Waiting
  /** Whether its deltas must repeat its given input. */
  isCompared?: boolean
  /** Whether pieces of an index that nobody opened are part of its input. */
  hasStrays?: boolean
  /** Whether the model that made it refused later, and another one answers. */
  isWithdrawn?: boolean
}

interface Waiting {
  /** What was shown before. */
  readonly shown: string
  readonly rest: CallInput
}

/** The call that a block starts with. */
export function callOf(
  label: BlockCall['label'],
  { type, id, name, input }: OwnCall | ProviderCall,
  limits: InputLimits,
): BlockCall {
  const isPlaceholder = typeof input !== 'string'
  return {
    label,
    id: idIn(id),
    name,
    isOurs: type === 'tool_use',
    given: isRecord(input) && !hasMembers(input) ? '' : argumentsIn(input),
    isPlaceholder,
    input: new CallInput(limits),
    isFed: false,
    ended: false,
    isSealed: false,
  }
}

/** Whether its input is not JSON although it contains pieces of an index that nobody opened. */
export function isIncomplete({ hasStrays, waiting }: BlockCall): boolean {
  // Read as a continuation: at another index it may as well be the input of a call that is lost.
  return hasStrays === true && waiting !== undefined && !isJson(waiting.shown + waiting.rest.text)
}

/** Whether the pieces of another index are the input of another call, and not the rest of this one. */
export function holdsOther(call: BlockCall): boolean {
  return isIncomplete(call) && call.waiting !== undefined && isJson(call.waiting.rest.text)
}
