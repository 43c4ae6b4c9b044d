/** What the options of an adapter must be: for those whom types do not hold. */

import { ConfigError } from '@meanwhile/core'
import { isRecord } from './is-record.ts'

interface AdapterOptions {
  readonly client: { readonly baseURL: string }
  readonly model: string
  readonly idleTimeout?: number
}

/** The options that the adapters of all wires have. */
export const ADAPTER_OPTIONS = {
  client: '',
  model: '',
  provider: '',
  idleTimeout: 'timeout',
  structuredOutput: '',
} as const

/** Throws {@link ConfigError} naming what cannot work. `path`: to what is asked of the client; `example`: how one is made. */
export function checkAdapter(options: AdapterOptions, path: string, example: string): void {
  const { client, model, idleTimeout }: Partial<AdapterOptions> = isRecord(options) ? options : {}
  if (typeof client?.baseURL !== 'string' || typeof memberAt(client, path) !== 'function')
    throw new ConfigError('client', `must be a client of the official library, such as ${example}`)
  if (typeof model !== 'string' || model === '') throw new ConfigError('model', 'must be the name of a model')
  checkIdleTimeout(idleTimeout)
}

/** Throws {@link ConfigError} unless it is a time, or nothing. */
export function checkIdleTimeout(idleTimeout: number | undefined): void {
  if (idleTimeout !== undefined && !(typeof idleTimeout === 'number' && idleTimeout > 0))
    throw new ConfigError('idleTimeout', `must be milliseconds above 0, or Infinity, not ${String(idleTimeout)}`)
}

function memberAt(value: unknown, path: string): unknown {
  return path.split('.').reduce((of, name) => (isRecord(of) ? of[name] : undefined), value)
}
