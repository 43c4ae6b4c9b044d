/** A row of docs/proved.md: a fault of a library that somebody has reported, and what ours does with the same input. */

import type { Load } from '../peers/driver.ts'

export interface Row {
  /** The case, as a noun with what happens to it. */
  readonly title: string
  /** The library, by the name that its users give it. */
  readonly library: string
  /** Undefined if nobody has reported it, as far as we know. */
  readonly thread?: Thread
  /** What a reader who knows the library should add. */
  readonly note?: string
  readonly test: TestPlace
  /** How both were tried; or why the library's own code was not run. */
  readonly trial: Trial | { readonly notRun: string }
}

/** A public thread about the fault. */
export interface Thread {
  /** Owner, repository and number: `vercel/ai#19063`. */
  readonly name: string
  /** The month in which it was opened, if we know it, and its state: `2026-08, closed`. */
  readonly status?: string
  /** It is about something near: as far as we know, nobody has reported this case. */
  readonly isRelated?: boolean
}

/** Our test, which fails if ours gets this fault. */
export interface TestPlace {
  /** From the root of the repository. */
  readonly file: string
  /** Words of its title. */
  readonly title: string
}

export interface Trial {
  /** Where the library is installed: a folder of `apps/bench/proved`. */
  readonly folder: 'libraries' | 'librechat'
  /** The packages whose versions count, the library first. */
  readonly packages: readonly string[]
  /** Who is right. `both`: the fault was reported, and the library has fixed it. */
  readonly right: 'ours' | 'theirs' | 'both'
  /** Runs the library, and says what was observed. */
  theirs(load: Load): Promise<string>
  /** The same input, and the same observations. */
  ours(): Promise<string>
  /** What was observed when the row was written. */
  readonly expected: Outcome
}

export interface Outcome {
  readonly theirs: string
  readonly ours: string
}

/** What a trial observes now. */
export interface Tried {
  /** `ai 7.0.173` */
  readonly versions: readonly string[]
  readonly outcome: Outcome
}

/** Why the row is no longer right; undefined if it is. */
export function changeOf({ expected }: Trial, { outcome }: Tried): string | undefined {
  if (outcome.ours !== expected.ours) return `ours has changed; it was: ${expected.ours}`
  if (outcome.theirs !== expected.theirs) return `the library has changed; it was: ${expected.theirs}`
  return undefined
}
