/** The config of an early call: what the tools node would pass, as far as it is known at the model's node. */

import { isObject, type NodeConfig } from './library.ts'

/** A tool has read something that exists only when the response has ended. */
class NotYetKnownError extends Error {
  override readonly name = 'NotYetKnownError'

  constructor(member: string) {
    super(`the tool reads ${member}, which exists only when the response has ended`)
  }
}

export interface EarlyConfig {
  readonly id: string | undefined
  readonly signal: AbortSignal
  /** Called with the name of what the tool has read too early. The tool may catch the error that it gets. */
  decline(member: string): void
}

const SCRATCHPAD = '__pregel_scratchpad'

/** `config`: that of the node that calls the model. */
export function earlyConfig(config: NodeConfig, { id, signal, decline }: EarlyConfig): object {
  const missing = (member: string): never => {
    decline(member)
    throw new NotYetKnownError(member)
  }
  const unknown = (member: string) => trap(() => missing(member))
  const state = stateOf(config, missing)
  const configurable: Record<string, unknown> = { ...config.configurable }
  for (const [key, value] of Object.entries(configurable))
    if (key.startsWith('__pregel') && value !== undefined && typeof value !== 'string')
      configurable[key] = unknown(`configurable.${key}`)
  if (SCRATCHPAD in configurable)
    configurable[SCRATCHPAD] = trap(() => missing('interrupt'), state && { currentTaskInput: state })
  const early = {
    ...config,
    configurable,
    signal,
    writer: unknown('writer'),
    interrupt: unknown('interrupt'),
    executionInfo: unknown('executionInfo'),
  }
  return { ...early, config: early, toolCallId: id, state: state ?? unknown('state') }
}

/** The state that the model's node has. Its messages lack the response that is still streaming. */
function stateOf(config: NodeConfig, missing: (member: string) => never): object | undefined {
  const scratchpad: unknown = config.configurable?.[SCRATCHPAD]
  const state: unknown = isObject(scratchpad) && Reflect.get(scratchpad, 'currentTaskInput')
  if (!isObject(state) || Array.isArray(state)) return undefined
  const read = () => missing('state.messages')
  return Object.defineProperty({ ...state }, 'messages', { get: read, set: read, enumerable: true, configurable: true })
}

/** Any use of the returned value calls `caught`, except reading the `known` members. Passing it on is allowed. */
function trap(caught: () => never, known: object = {}): unknown {
  const get = (_: object, key: PropertyKey): unknown => (Object.hasOwn(known, key) ? Reflect.get(known, key) : caught())
  return new Proxy(() => undefined, new Proxy({}, { get: (_, kind) => (kind === 'get' ? get : caught) }))
}
