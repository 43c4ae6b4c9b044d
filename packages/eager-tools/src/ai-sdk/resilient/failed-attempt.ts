/** A sentence about a failed attempt, for the warnings of the response. */

import type { Attempts } from '../../resilient/attempts.ts'
import { messagesOf } from '../../resilient/failure.ts'
import type { Model } from '../resolved-model.ts'

export function failedAttempt({ count, model }: Attempts<Model>, error: unknown, shown: number): string {
  return `attempt ${count} of ${model.modelId} failed after ${shown} characters: ${messagesOf(error)}`
}
