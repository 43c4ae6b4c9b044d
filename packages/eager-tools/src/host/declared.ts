/** What users say of the tools of a loop that is not ours: what a call does to the world, and how it is undone. */

import { ConfigError, checkOptions, type Effect, type OptionNames } from '@meanwhile/core'
import { nearestName } from '@meanwhile/core/calls'

/** `calls` is for tools that are given a run of ours. */
export type HostEffect = Exclude<Effect, 'calls'>

/**
 * What a call of a tool does to the world. It decides how early the call may start:
 *
 * - `read`: when its arguments have closed. A second execution that nobody sees must not matter.
 * - `idempotent`: when the provider has stated the end of the call. Making it twice is making it once.
 * - `reversible`: at the same time. `compensate` undoes it.
 * - `external`: never before the host asks for it, as if the tool were not named at all.
 *
 * Declare a tool only if its result depends on nothing but its input, and if it never asks anybody anything.
 */
export type DeclaredEffect<Input = unknown, Output = unknown> =
  | Exclude<HostEffect, 'reversible'>
  | DeclaredCall<Input, Output>

/** `compensate` belongs to `reversible`, or to a function that may return it. */
export type DeclaredCall<Input = unknown, Output = unknown> = DeclaredKeys<Input> & (Undone<Input, Output> | NotUndone)

interface DeclaredKeys<Input> {
  /** Names of what a call reads. Early calls that name the same key wait for each other if one of them writes it. */
  reads?(input: Input): readonly string[]
  /** Names of what a call writes. */
  writes?(input: Input): readonly string[]
}

/** What {@link DeclaredCall} allows, and more. */
export interface DeclaredTool<Input = unknown, Output = unknown> extends DeclaredKeys<Input> {
  /** A function is called with the checked input of each call; a throw counts as `external`. */
  readonly effect: HostEffect | ((input: Input) => HostEffect)
  /** Undoes a call that has succeeded and that nobody asks for in the end. A throw is a warning. */
  compensate?(input: Input, output: Output): void | Promise<void>
}

interface Reversible<Input, Output> extends Pick<Required<DeclaredTool<Input, Output>>, 'compensate'> {
  readonly effect: 'reversible'
}

interface Decided<Input, Output> extends Pick<DeclaredTool<Input, Output>, 'compensate'> {
  /** Called with the checked input of each call; a throw counts as `external`. */
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
 * The tools that may start early at all.
 *
 * @param tools The names there are, if they are known.
 * @throws {ConfigError} There is no such effect or no such tool, a `reversible` tool has no `compensate`, or a `read` or `idempotent` one has it.
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

/** Why a name is none. */
export function unknownTool(name: string, tools: readonly string[]): string {
  const nearest = nearestName(name, Object.fromEntries(tools.map((tool) => [tool, ''])))
  return `is the name of no tool; ${nearest ? `did you mean ${nearest}?` : `there are ${tools.join(', ') || 'none'}`}`
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
    throw new ConfigError(option, `${String(effect)} is no effect; there are ${EFFECTS.join(', ')}`)
  for (const [member, value] of Object.entries({ reads, writes, compensate })) {
    if (value !== undefined && typeof value !== 'function')
      throw new ConfigError(`${option}.${member}`, 'must be a function')
  }
  if (effect === 'reversible' && !compensate)
    throw new ConfigError(option, 'is reversible and has no compensate(input, output), which undoes a call')
  if (compensate && (effect === 'read' || effect === 'idempotent'))
    throw new ConfigError(
      `${option}.compensate`,
      `is never called: the effect is ${effect}, and only reversible calls are undone`,
    )
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
