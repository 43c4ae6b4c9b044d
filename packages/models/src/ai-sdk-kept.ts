/** What a message has no word for: kept as opaque data of a part, and sent back to the provider that said it alone. */

import type { FilePart, ProviderMetadata } from '@meanwhile/core'
import type { JsonValue } from './ai-sdk-model.ts'
import { isRecord } from './is-record.ts'

export interface Kept {
  /** The part is a file that the model made. */
  readonly file?: FilePart
  /** The part is one that only its provider understands, of this kind. */
  readonly custom?: `${string}.${string}`
  /** The call was made by the provider. */
  readonly executed?: true
  /** Its result is an error. */
  readonly isError?: boolean
  readonly resultMetadata?: ProviderMetadata
  /** The part is the result alone, of a call that stands in an earlier message, under this id. */
  readonly resultOf?: string
}

export interface Keeper {
  /** The metadata to give to a part. */
  keep(kept: Kept): ProviderMetadata
  /** What was kept in a part; `undefined` if that was for another provider. */
  of(part: { readonly providerMetadata?: ProviderMetadata }): Kept | undefined
}

/** The part where another model goes on, because the one before it declined (qA11). */
export const FALLBACK = 'anthropic.fallback'

const PREFIX = 'ai-sdk.'

export function keeper(provider: string): Keeper {
  const key = PREFIX + provider
  return {
    keep: (kept) => ({ [key]: kept }),
    of: ({ providerMetadata }) => {
      const kept = providerMetadata?.[key]
      if (isRecord(kept)) return kept
      return Object.keys(providerMetadata ?? {}).some(isMark) ? undefined : {}
    },
  }
}

/** The metadata of a part as the options the AI SDK wants back: its providers pick out what is theirs. */
export function optionsOf(metadata: ProviderMetadata | undefined): {
  providerOptions?: Record<string, Record<string, JsonValue>>
} {
  const own = Object.entries(metadata ?? {}).filter(([name, data]) => isRecord(data) && !isMark(name))
  if (own.length === 0) return {}
  // A message is JSON, and these are its objects.
  return { providerOptions: Object.fromEntries(own) as Record<string, Record<string, JsonValue>> }
}

function isMark(name: string): boolean {
  return name.startsWith(PREFIX)
}
