/** The tokens of several attempts. */

import type { Finish, Usage } from './parts.ts'

/** Reports of usage, of the attempts that have made one. */
export class SummedUsage {
  readonly #reported: Usage[] = []

  add(usage: Usage): void {
    this.#reported.push(usage)
  }

  /**
   * The usage of all attempts, and how many of them have reported none: a response that breaks off reports nothing, and no
   * number is invented for it. Nothing changes if there was one attempt.
   */
  on<Of extends Pick<Finish, 'usage' | 'providerMetadata'>>(answer: Of, attempts: number): Of {
    if (attempts === 1) return answer
    const meanwhile = { attempts, unknownUsage: attempts - this.#reported.length }
    return { ...answer, usage: summed(this.#reported), providerMetadata: { ...answer.providerMetadata, meanwhile } }
  }
}

function summed(usages: readonly Usage[]): Usage {
  const [only] = usages
  if (only && usages.length === 1) return only
  const input = (name: keyof Usage['inputTokens']) => total(usages.map(({ inputTokens }) => inputTokens[name]))
  const output = (name: keyof Usage['outputTokens']) => total(usages.map(({ outputTokens }) => outputTokens[name]))
  return {
    inputTokens: {
      total: input('total'),
      noCache: input('noCache'),
      cacheRead: input('cacheRead'),
      cacheWrite: input('cacheWrite'),
    },
    outputTokens: { total: output('total'), text: output('text'), reasoning: output('reasoning') },
  }
}

/** Counts that are not known are left out; `undefined` if none is. */
function total(counts: readonly (number | undefined)[]): number | undefined {
  const known = counts.filter((count) => count !== undefined)
  return known.length > 0 ? known.reduce((sum, count) => sum + count, 0) : undefined
}
