/** Keeps the reason for which a response stopped. */

import { allowsCalls, type FinishReason } from '@meanwhile/core'
import { finishReasonOf } from './finish-reasons.ts'

/** After a reason that cut the response off, no other reason counts (qC42, qA19). */
export class StopReason {
  /** The provider's own word. */
  word: string | undefined
  reason: FinishReason = 'other'

  add(word: string | null | undefined): void {
    if (!word || this.isCut) return
    this.word = word
    this.reason = finishReasonOf(word)
  }

  get isCut(): boolean {
    return this.reason !== 'other' && !allowsCalls(this.reason)
  }
}
