/** The calls of a run in call order, and which of them name which resource keys: who holds back whom. */

import { Line } from './line.ts'
import type { ResourceKeys } from './resource-keys.ts'

/** A call's place in the order. */
export interface Spot {
  /** Behind those with a smaller one; `Infinity` for a call that is over. */
  readonly number: number
  /** What it names; not known until its input is checked, unless its tool names no keys. */
  readonly keys: ResourceKeys | undefined
  /** Whether one of its executions has begun and is not over. */
  readonly isAtWork: boolean
  /** It stays open when its run is over. */
  readonly isStopped: boolean
}

/** Who uses a key, or any. */
class Users<Call extends Spot> {
  /** Their calls are not over. */
  readonly open: Line<Call> = new Line()
  /** Those among them that are stopped. */
  readonly stopped: Line<Call> = new Line()
  readonly atWork: Set<Call> = new Set()

  add(spot: Call): void {
    if (Number.isFinite(spot.number)) {
      this.open.add(spot)
      if (spot.isStopped) this.stopped.add(spot)
    }
    if (spot.isAtWork) this.atWork.add(spot)
  }

  delete(spot: Call): void {
    this.open.delete(spot)
    this.stopped.delete(spot)
    this.atWork.delete(spot)
  }

  get isEmpty(): boolean {
    return this.open.isEmpty && this.atWork.size === 0
  }
}

/** A spot is taken out before it changes, and put in again afterwards. */
export class CallOrder<Call extends Spot> {
  readonly #all = new Users<Call>()
  /** Those that may yet name any key. */
  readonly #unknown = new Users<Call>()
  /** Readers and writers, by key. */
  readonly #naming: Map<string, Users<Call>> = new Map()
  readonly #writing: Map<string, Users<Call>> = new Map()

  add(spot: Call): void {
    if (!Number.isFinite(spot.number) && !spot.isAtWork) return
    this.#all.add(spot)
    // Most calls name none, and pay for nothing.
    if (!spot.keys) this.#unknown.add(spot)
    else this.#eachUse(spot.keys, (users, key) => usersOf(users, key).add(spot))
  }

  delete(spot: Call): void {
    this.#all.delete(spot)
    this.#unknown.delete(spot)
    if (!spot.keys) return
    this.#eachUse(spot.keys, (users, key) => {
      const those = usersOf(users, key)
      those.delete(spot)
      if (those.isEmpty) users.delete(key)
    })
  }

  /**
   * The nearest call in front of it that it has to come after, of those for whom that holds: of all, or of those that name one of these
   * keys, or may yet. Not the first: then all would wait for that one, and each of them would be tried when it is over.
   */
  inFrontOf(
    spot: Call,
    keys: ResourceKeys | 'all',
    which: 'open' | 'stopped',
    holds: (other: Call) => boolean,
  ): Call | undefined {
    let nearest: Call | undefined
    for (const users of this.#holding(keys)) {
      const other = users[which].before(spot.number, holds)
      if (other && !(nearest && nearest.number > other.number)) nearest = other
    }
    return nearest
  }

  /** Another call that is at work on one of these keys. */
  atWorkOn(spot: Call, keys: ResourceKeys): Call | undefined {
    for (const { atWork } of this.#meeting(keys)) for (const other of atWork) if (other !== spot) return other
    return undefined
  }

  /** Among whom a call with these keys is. No generator: most calls name none, and would pay for it at each change. */
  #eachUse({ reads, writes }: ResourceKeys, visit: (users: Map<string, Users<Call>>, key: string) => void): void {
    for (const key of writes) {
      visit(this.#writing, key)
      visit(this.#naming, key)
    }
    for (const key of reads) if (!writes.has(key)) visit(this.#naming, key)
  }

  /** Among whom those are that come first. */
  *#holding(keys: ResourceKeys | 'all'): Generator<Users<Call>> {
    if (keys === 'all') yield this.#all
    else {
      yield this.#unknown
      yield* this.#meeting(keys)
    }
  }

  /** Those of whom one writes what the other names. */
  *#meeting({ reads, writes }: ResourceKeys): Generator<Users<Call>> {
    for (const key of writes) yield* known(this.#naming.get(key))
    for (const key of reads) yield* known(this.#writing.get(key))
  }
}

function usersOf<Call extends Spot>(users: Map<string, Users<Call>>, key: string): Users<Call> {
  let those = users.get(key)
  if (!those) {
    those = new Users<Call>()
    users.set(key, those)
  }
  return those
}

function known<Call extends Spot>(users: Users<Call> | undefined): readonly Users<Call>[] {
  return users ? [users] : []
}
