/** The declarations users make for tools of another library: what a call does to the world, and how it is undone. */

import { ConfigError, checkOptions, type Effect, type OptionNames } from '@meanwhile/core'
import { isRecord } from '@meanwhile/core/calls'
import { unknownTool } from '../unknown-names.ts'

/** The effects of a library's tool. `calls` is missing, because it needs a Meanwhile run. */
export type HostEffect = Exclude<Effect, 'calls'>

/**
 * What a call of a tool does to the world. It decides how early the call may start:
 * - `read`: when its arguments are complete. An extra execution whose result is dropped must be harmless.
 * - `idempotent`: when the provider has stated the end of the call. Executing it twice must have the same effect as
 *   once.
 * - `reversible`: at the same time as `idempotent`. `compensate` undoes it.
 * - `external`: never before the library executes it, as if the tool were not declared.
 *
 * Declare a tool only if its result depends on nothing but its input, and if it never asks a user anything.
 */
export type DeclaredEffect<Input = unknown, Output = unknown> =
  | Exclude<HostEffect, 'reversible'>
  | DeclaredCall<Input, Output>

/** `compensate` is required with `reversible`, and allowed with a function that may return `reversible`. */
export type DeclaredCall<Input = unknown, Output = unknown> = DeclaredKeys<Input> & (Undone<Input, Output> | NotUndone)

interface DeclaredKeys<Input> {
  /** Resource keys that a call reads. Early calls with the same key wait for each other if one of them writes it. */
  reads?(input: Input): readonly string[]
  /** Resource keys that a call writes. */
  writes?(input: Input): readonly string[]
}

/** What {@link DeclaredCall} allows, with looser types. */
export interface DeclaredTool<Input = unknown, Output = unknown> extends DeclaredKeys<Input> {
  /** A function receives the checked input of each call; if it throws, the call counts as `external`. */
  readonly effect: HostEffect | ((input: Input) => HostEffect)
  /** Undoes a call that succeeded but is not used. An error is reported as a warning. */
  compensate?(input: Input, output: Output): void | Promise<void>
}

interface Reversible<Input, Output> extends Pick<Required<DeclaredTool<Input, Output>>, 'compensate'> {
  readonly effect: 'reversible'
}

interface Decided<Input, Output> extends Pick<DeclaredTool<Input, Output>, 'compensate'> {
  /** Receives the checked input of each call; if it throws, the call counts as `external`. */
  readonly effect: (input: Input) => HostEffect
}

type Undone<Input, Output> = Reversible<Input, Output> | Decided<Input, Output>

interface NotUndone {
  readonly effect: Exclude<HostEffect, 'reversible'>
  readonly compensate?: never
}

/** By the name of the tool. */
export type Declared = ReadonlyMap<string, DeclaredTool>

/**
 * Returns the declarations of all tools that may start early.
 *
 * @param tools The names of all tools, if they are known and none may be missing.
 * @throws {ConfigError} An effect or a tool does not exist, a `reversible` tool has no `compensate`, or a `read` or
 * `idempotent` tool has one.
 */
export function declaredEffects(effects: object, tools?: readonly string[]): Declared {
  if (!isRecord(effects)) throw new ConfigError('effects', "must be an object, such as { weather: 'read' }")
  const declared = new Map<string, DeclaredTool>()
  for (const [name, given] of Object.entries(effects)) {
    if (given === undefined) continue
    if (tools && !tools.includes(name)) throw new ConfigError(`effects.${name}`, unknownTool(name, tools))
    const call = declaredCall(name, given)
    if (call.effect !== 'external') declared.set(name, call)
  }
  return declared
}

const EFFECTS: readonly unknown[] = ['read', 'idempotent', 'reversible', 'external'] satisfies HostEffect[]
const MEMBERS: OptionNames<DeclaredTool> = { effect: '', reads: '', writes: '', compensate: 'undo' }

function declaredCall(name: string, given: unknown): DeclaredTool {
  const option = `effects.${name}`
  const call: object = isRecord(given) ? given : { effect: given }
  checkOptions<object>('an effect', call, MEMBERS, `${option}.`)
  check(call, option)
  return call
}

function check(call: object, option: string): asserts call is DeclaredTool {
  const { effect, reads, writes, compensate }: Readonly<Record<string, unknown>> = { ...call }
  if (typeof effect !== 'function' && !EFFECTS.includes(effect))
    throw new ConfigError(option, `${String(effect)} is not an effect; the effects are ${EFFECTS.join(', ')}`)
  for (const [member, value] of Object.entries({ reads, writes, compensate })) {
    if (value !== undefined && typeof value !== 'function')
      throw new ConfigError(`${option}.${member}`, 'must be a function')
  }
  if (effect === 'reversible' && !compensate)
    throw new ConfigError(option, 'is reversible but has no compensate(input, output) to undo a call')
  if (compensate && (effect === 'read' || effect === 'idempotent'))
    throw new ConfigError(
      `${option}.compensate`,
      `is never called: the effect is ${effect}, and only reversible calls are undone`,
    )
}
