/**
 * Keeps provider data that messages have no field for: stored in the metadata of a part, and sent back only to the same
 * provider.
 */

import type { FilePart, ProviderMetadata } from '@meanwhile/core'
import type { JsonValue } from './ai-sdk-model.ts'
import { isRecord } from './is-record.ts'

export interface Kept {
  /** The part is a file created by the model. */
  readonly file?: FilePart
  /** The part is of this kind, which only its provider understands. */
  readonly custom?: `${string}.${string}`
  /** The provider executed the call. */
  readonly executed?: true
  /** Its result is an error. */
  readonly isError?: boolean
  readonly resultMetadata?: ProviderMetadata
  /** The part has no content, but data of a Chat Completions message that its provider gets back. */
  readonly opaque?: Readonly<Record<string, unknown>>
  /** The part is only the result of a call in an earlier message; this is the call's id. */
  readonly resultOf?: string
}

export interface Keeper {
  /** Returns the metadata for a part. */
  keep(kept: Kept): ProviderMetadata
  /** The same for {@link Kept.opaque}; `undefined` if the provider's package sends none back, or reads it itself. */
  keepOpaque(opaque: Readonly<Record<string, unknown>>): ProviderMetadata | undefined
  /** Returns what was kept in a part; `undefined` if it belongs to another provider. */
  of(part: { readonly providerMetadata?: ProviderMetadata }): Kept | undefined
}

/** Marks where another model continued because the previous one refused (qA11). */
export const FALLBACK = 'anthropic.fallback'

/** Packages for the Chat wire that do not send members of a message back which they do not know. */
const NO_OPAQUE = /^(openai|azure|azure-openai|openrouter)\./

const PREFIX = 'ai-sdk.'

/** Precedes the AI SDK's own names, which are also names of our adapters: each of them keeps its own data. */
const SDK = 'ai-sdk:'

export function keeper(provider: string): Keeper {
  const key = PREFIX + provider
  return {
    keep: (kept) => ({ [key]: kept }),
    keepOpaque: (opaque) => (NO_OPAQUE.test(provider) ? undefined : { [key]: { opaque } satisfies Kept }),
    of: ({ providerMetadata }) => {
      const kept = providerMetadata?.[key]
      if (isRecord(kept)) return kept
      return Object.keys(providerMetadata ?? {}).some(isMark) ? undefined : {}
    },
  }
}

/** Returns the metadata of the AI SDK's part as a part of a message keeps it. */
export function ownMetadata(metadata: ProviderMetadata | undefined): ProviderMetadata | undefined {
  return metadata && Object.fromEntries(Object.entries(metadata).map(([name, data]) => [SDK + name, data]))
}

/** Returns the metadata of a part as provider options of the AI SDK; each of its providers reads its own. */
export function optionsOf(metadata: ProviderMetadata | undefined): {
  providerOptions?: Record<string, Record<string, JsonValue>>
} {
  const own = Object.entries(metadata ?? {}).filter(([name, data]) => isRecord(data) && !isMark(name))
  if (own.length === 0) return {}
  const options = new Map<string, Record<string, JsonValue>>()
  for (const [key, data] of own) {
    const name = key.startsWith(SDK) ? key.slice(SDK.length) : key
    // A message is JSON, so these objects are too.
    options.set(name, { ...options.get(name), ...(data as Record<string, JsonValue>) })
  }
  return { providerOptions: Object.fromEntries(options) }
}

function isMark(name: string): boolean {
  return name.startsWith(PREFIX)
}
