/** One whole response of several attempts. */

import type { Attempts } from '../../resilient/attempts.ts'
import { endedWith } from '../../resilient/failure.ts'
import type { Model } from '../resolved-model.ts'
import { failedAttempt } from './failed-attempt.ts'
import type { Request, Warning, WholeAnswer } from './parts.ts'
import { SummedUsage } from './summed-usage.ts'

/** Asks the models until a response counts. */
export async function wholeAnswer(attempts: Attempts<Model>, request: Request): Promise<WholeAnswer> {
  const usage = new SummedUsage()
  const warnings: Warning[] = []
  const next = async (error: unknown) => {
    warnings.push({ type: 'other', message: failedAttempt(attempts, error, 0) })
    await attempts.next()
  }
  for (;;) {
    let answer: WholeAnswer
    try {
      answer = await attempts.model.doGenerate(request)
    } catch (error) {
      if (!attempts.failed(error, 0)) throw attempts.failure(error)
      await next(error)
      continue
    }
    usage.add(answer.usage)
    warnings.push(...answer.warnings)
    const { unified: reason } = answer.finishReason
    if (!attempts.isAccepted(reason)) {
      const error = endedWith(reason)
      if (attempts.failed(error, 0, reason)) {
        await next(error)
        continue
      }
    }
    return { ...usage.on(answer, attempts.count), warnings }
  }
}
