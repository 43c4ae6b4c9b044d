/** The addresses that each of several models can read by itself. */

import type { Model } from '../resolved-model.ts'

type Urls = Record<string, RegExp[]>

/** Only patterns that all models have, so that the AI SDK downloads what one of them could not read. */
export async function commonUrls(models: readonly Model[]): Promise<Urls> {
  const [first = {}, ...others] = await Promise.all(
    [...new Set(models)].map(async ({ supportedUrls }) => await supportedUrls),
  )
  if (others.length === 0) return first
  const isCommon = (type: string, pattern: RegExp) =>
    others.every((urls) => urls[type]?.some((other) => String(other) === String(pattern)))
  const common = Object.entries(first).map(([type, patterns]): [string, RegExp[]] => [
    type,
    patterns.filter((pattern) => isCommon(type, pattern)),
  ])
  return Object.fromEntries(common.filter(([, patterns]) => patterns.length > 0))
}
