/** Checks whether a value from outside has its required members. */

import { isRecord } from './json.ts'

export type Is = (value: unknown) => boolean

/** For each member, the check that it must pass. The check of an optional member accepts `undefined`. */
export type Shape<Shaped> = { readonly [Name in keyof Required<Shaped>]: Is }

/** Returns the name of the first member that is missing or wrong. It only looks at the members of the shape, because each event is checked. */
export function wrongIn(
  value: Readonly<Record<string, unknown>>,
  shape: Readonly<Record<string, Is>>,
): string | undefined {
  for (const name in shape) if (!shape[name]?.(value[name])) return name
  return undefined
}

export function fits<Shaped>(value: unknown, shape: Shape<Shaped>): value is Shaped {
  return isRecord(value) && wrongIn(value, shape) === undefined
}

export const isText = (value: unknown): value is string => typeof value === 'string'

export const isNumber = (value: unknown): value is number => typeof value === 'number'

export const isCount = (value: unknown): value is number => Number.isInteger(value) && Number(value) >= 0

/** Checks that a value has an id and a name, as the calls of a response have. */
export const isCall: Is = (value) => fits(value, { id: isText, name: isText })

export function optional(is: Is): Is {
  return (value) => value === undefined || is(value)
}

export function listOf(is: Is): Is {
  return (value) => Array.isArray(value) && value.every(is)
}

export const isTexts: Is = listOf(isText)
