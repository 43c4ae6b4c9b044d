/** A call in a block of a Messages stream, as far as it has arrived. */

import { isJson } from './is-json.ts'
import { isRecord } from './is-record.ts'
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
  /** How much of its input is shown, if the rest waits until the call ends. */
  shown?: number
  /** Whether its deltas must repeat its given input. */
  isCompared?: boolean
  /** Whether pieces of an index that nobody opened are part of its input. */
  hasStrays?: boolean
}

/** The call that a block starts with. */
export function callOf(label: BlockCall['label'], { type, id, name, input }: OwnCall | ProviderCall): BlockCall {
  const isPlaceholder = typeof input !== 'string'
  return {
    label,
    id: idIn(id),
    name,
    isOurs: type === 'tool_use',
    given: isRecord(input) && !isFilled(input) ? '' : argumentsIn(input),
    isPlaceholder,
    text: '',
    told: false,
    ended: false,
    isSealed: false,
  }
}

/** Whether the pieces of an index that nobody opened do not complete its input. */
export function isBroken({ hasStrays, text }: BlockCall): boolean {
  return hasStrays === true && !isJson(text)
}

export function isFilled(value: object): boolean {
  return Object.keys(value).length > 0
}
