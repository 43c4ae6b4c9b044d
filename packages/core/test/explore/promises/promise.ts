/** A promise is a sentence, with a function that returns what is wrong if it is broken; otherwise nothing, or `false`. */

import type { World } from '../world.ts'

export type Promises = Readonly<Record<string, (world: World) => unknown>>

/** What is wrong if two texts must be equal. */
export const differ = (one: string, other: string): string | false => one !== other && `${one} and ${other}`

/** What is twice in the list. */
export const twice = (all: readonly string[]): string | undefined =>
  all.find((one, index) => all.indexOf(one) !== index)

export const count = (all: readonly string[], one: string): number => all.filter((other) => other === one).length

/** What is more often in the first list than in the second one. */
export const moreOften = (all: readonly string[], than: readonly string[]): string | undefined =>
  all.find((one) => count(than, one) < count(all, one))
