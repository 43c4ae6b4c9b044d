/** Keeps the reason for which a response stopped. */

import type { Assembler } from '@meanwhile/assemble'
import { allowsCalls, type FinishReason } from '@meanwhile/core'
import { finishReasonOf } from './finish-reasons.ts'

/** How a response ends: for a reason, or with an error in place of one. */
export type ResponseEnd = Parameters<Assembler['finish']>[0]

export type FailedEnd = Exclude<ResponseEnd, FinishReason>

/** After a reason that cut the response off, no other reason counts; otherwise the last one does (qC42, qA19). */
export class StopReason {
  /** The provider's own word, once one has arrived. */
  word: string | undefined
  reason: FinishReason = 'other'

  add(word: string | null | undefined): void {
    if (!word || isCutOff(this.reason)) return
    this.word = word
    this.reason = finishReasonOf(word)
  }
}

/** Whether the reason means that the response was cut off. Nobody knows that of an unknown reason. */
export function isCutOff(reason: FinishReason): boolean {
  return reason !== 'other' && !allowsCalls(reason)
}
