/** Merges the metadata that a provider sends with a part. */

import type { ProviderMetadata } from '@meanwhile/core'
import { isRecord } from '@meanwhile/core/calls'

/** Both metadata, merged per provider. If both have a member, the later one counts. */
export function mergeMetadata(
  earlier: ProviderMetadata | undefined,
  later: ProviderMetadata | undefined,
): ProviderMetadata | undefined {
  if (!earlier || !later) return earlier ?? later
  const merged = Object.entries(later).map(([provider, data]) => {
    const before = earlier[provider]
    return [provider, isRecord(before) && isRecord(data) ? { ...before, ...data } : data]
  })
  return { ...earlier, ...Object.fromEntries(merged) }
}
