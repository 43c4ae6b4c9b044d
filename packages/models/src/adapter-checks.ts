/** Checks the options of an adapter, for users without TypeScript. */

import { ConfigError } from '@meanwhile/core'
import { shownValue } from '@meanwhile/core/calls'
import { isRecord } from './is-record.ts'

interface AdapterOptions {
  readonly client: { readonly baseURL: string }
  readonly model: string
  readonly idleTimeout?: number
}

/** The options shared by the adapters of all wires. */
export const ADAPTER_OPTIONS = {
  client: '',
  model: '',
  provider: '',
  idleTimeout: 'timeout',
  structuredOutput: '',
} as const

/**
 * `path`: the path of the client's method that makes the request. `example`: how a client is made, for the message.
 *
 * @throws {ConfigError} An option is invalid; the error names it.
 */
export function checkAdapter(options: AdapterOptions, path: string, example: string): void {
  const { client, model, idleTimeout }: Partial<AdapterOptions> = isRecord(options) ? options : {}
  if (typeof client?.baseURL !== 'string' || typeof memberAt(client, path) !== 'function')
    throw new ConfigError('client', `must be a client of the official library, such as ${example}`)
  if (typeof model !== 'string' || model === '') throw new ConfigError('model', 'must be the name of a model')
  checkIdleTimeout(idleTimeout)
}

/** @throws {ConfigError} It is neither `undefined` nor a positive number. */
export function checkIdleTimeout(idleTimeout: number | undefined): void {
  if (idleTimeout !== undefined && !(typeof idleTimeout === 'number' && idleTimeout > 0))
    throw new ConfigError(
      'idleTimeout',
      `must be milliseconds greater than 0, or Infinity, not ${shownValue(idleTimeout)}`,
    )
}

function memberAt(value: unknown, path: string): unknown {
  return path.split('.').reduce((of, name) => (isRecord(of) ? of[name] : undefined), value)
}
