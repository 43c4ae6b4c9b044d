/** The config of an early call: what the tools node would pass, as far as it is known at the model's node. */

import { isObject, type NodeConfig } from './library.ts'
import { over } from './over.ts'

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

/** By the signal of an early call that the agent executes: the config that it passes. */
const asked: WeakMap<AbortSignal, NodeConfig> = new WeakMap()

/** The agent executes the early call that has this signal. From now on its tool can read everything. */
export function setAsked(signal: AbortSignal, config: NodeConfig): void {
  asked.set(signal, config)
}

/**
 * `config`: that of the node that calls the model. What is not known there is read from the config with which the agent
 * executes the call, once it does; before that, reading it declines the call.
 */
export function earlyConfig(config: NodeConfig, { id, signal, decline }: EarlyConfig): Omit<NodeConfig, 'state'> {
  const known = () => asked.get(signal)
  /** Reads from the config that the agent passes. */
  const late = (member: string, read: (from: NodeConfig) => unknown) => () => {
    const from = known()
    if (from) return read(from)
    decline(member)
    throw new NotYetKnownError(member)
  }
  const lateMember = (member: string) => trap(late(member, (from) => Reflect.get(from, member)))
  const state = stateOf(
    config,
    late('state.messages', (from) => from.state?.messages),
  )
  const configurable = { ...config.configurable }
  for (const [key, value] of Object.entries(configurable)) {
    const read = late(key === SCRATCHPAD ? 'interrupt' : `configurable.${key}`, (from) => from.configurable?.[key])
    const isLate = key.startsWith('__pregel') && value !== undefined && typeof value !== 'string'
    const early: unknown = isLate ? trap(read, key === SCRATCHPAD && state ? { currentTaskInput: state } : {}) : value
    member(configurable, key, () => (known() ? read() : early))
  }
  const early = {
    ...config,
    configurable,
    signal,
    writer: lateMember('writer'),
    interrupt: lateMember('interrupt'),
    executionInfo: lateMember('executionInfo'),
  }
  const runtime = { ...early, config: early, toolCallId: id, state: state ?? lateMember('state') }
  return runtime
}

/** The state that the model's node has. Its messages lack the response that is still streaming. */
function stateOf(config: NodeConfig, messages: () => unknown): object | undefined {
  const scratchpad: unknown = config.configurable?.[SCRATCHPAD]
  const state: unknown = isObject(scratchpad) && Reflect.get(scratchpad, 'currentTaskInput')
  return isObject(state) && !Array.isArray(state) ? member({ ...state }, 'messages', messages) : undefined
}

/** A member that is read each time, until it is written. */
function member<Of extends object>(of: Of, key: string, get: () => unknown): Of {
  const set = (value: unknown) => {
    get()
    Object.defineProperty(of, key, { value, writable: true, enumerable: true, configurable: true })
  }
  return Object.defineProperty(of, key, { get, set, enumerable: true, configurable: true })
}

/** Stands for what `read` returns. Any use of it reads, except of the `early` members. Passing it on is allowed. */
function trap(read: () => unknown, early: object = {}): unknown {
  const used = (kind: PropertyKey, of: readonly unknown[]): unknown => {
    const [key] = of
    if (kind === 'get' && typeof key === 'string' && Object.hasOwn(early, key)) return Reflect.get(early, key)
    const value = read()
    if (value === undefined || value === null) return undefined
    const use: unknown = Reflect.get(Reflect, kind)
    // The last one is the receiver, which would be this proxy.
    const given = kind === 'get' || kind === 'set' ? of.slice(0, -1) : of
    return typeof use === 'function' ? Reflect.apply(use, Reflect, [over(Object(value), {}), ...given]) : undefined
  }
  const uses = {
    get:
      (_: object, kind: PropertyKey) =>
      (_: object, ...of: readonly unknown[]) =>
        used(kind, of),
  }
  return new Proxy(() => undefined, new Proxy({}, uses))
}
