/** Merges the metadata that a provider sends with a part. */

import { isRecord } from '../vocabulary/json.ts'
import type { ProviderMetadata } from '../vocabulary/message.ts'

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
