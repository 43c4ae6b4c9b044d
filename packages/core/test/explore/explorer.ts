/** Explores every order in which things can happen in a world. A path is executed again from its beginning. */

import { messageOf } from '../../src/vocabulary/errors.ts'
import { StandingClock, turn } from '../standing-clock.ts'
import type { LoadedCore } from './inside.ts'
import { broken, historyOf } from './promises/index.ts'
import type { Scenario } from './scenario.ts'
import { World } from './world.ts'

/** A promise is broken. `path`: what had happened, in order. */
export class PromiseBroken extends Error {
  override readonly name = 'PromiseBroken'
  readonly promise: string
  readonly path: readonly string[]

  constructor(promise: string, problem: string, path: readonly string[]) {
    super(`${promise}: ${problem}`)
    this.promise = promise
    this.path = path
  }
}

export interface Explored {
  readonly paths: number
  readonly states: number
  readonly moves: number
  /** Whether every path was explored. */
  readonly isWhole: boolean
}

export interface Exploration {
  readonly scenario: Scenario
  readonly on: LoadedCore
  /** The order of the paths follows from this number. */
  readonly seed: number
  readonly most: number
  /** Paths do not end at states that are known. */
  readonly uncut?: boolean
}

const ENDS = 'every run ends'
/** No run of a small world is longer. */
const LONGEST = 400

const unheard: unknown[] = []
process.on('unhandledRejection', (error) => void unheard.push(error))

/** @throws {PromiseBroken} At the first state in which a promise is broken. */
export async function explore({ scenario, on, seed, most, uncut }: Exploration): Promise<Explored> {
  const clock = new StandingClock()
  const uninstall = clock.install()
  try {
    const expected = await undisturbedHistory(scenario, on, clock)
    const random = randomOf(seed)
    const seen = new Set<string>()
    const open: (readonly string[])[] = [[]]
    let [paths, moves] = [0, 0]
    while (open.length > 0 && paths < most) {
      paths++
      const path = taken(open, random)
      const world = await replayed(scenario, on, clock, path)
      moves += path.length
      for (;;) {
        checked(world, expected)
        const key = world.key()
        if (seen.has(key) && !uncut) break
        seen.add(key)
        const inside = world.path.at(-1)?.includes(' > ') ? [] : insideOf(world)
        for (const move of inside) open.push([...world.path.slice(0, -1), move])
        const next = [...world.moves()]
        if (next.length === 0) {
          if (!world.isOver) throw new PromiseBroken(ENDS, key, world.path)
          break
        }
        if (world.path.length > LONGEST) throw new PromiseBroken(ENDS, `${LONGEST} moves`, world.path)
        const move = next.splice(Math.floor(random() * next.length), 1)[0] as string
        for (const other of next) open.push([...world.path, other])
        world.do(move)
        moves++
        await turn()
      }
    }
    return { paths, states: seen.size, moves, isWhole: open.length === 0 }
  } finally {
    uninstall()
  }
}

/** The last move once more, with an act inside each of its moments. */
function insideOf(world: World): string[] {
  const last = world.path.at(-1)
  if (last === undefined || world.isOver) return []
  return world.acts().flatMap((act) => world.moments.map((moment) => `${last} > ${act} in ${moment}`))
}

function checked(world: World, expected: string): void {
  const [rejection] = unheard.splice(0)
  const wrong =
    rejection === undefined
      ? broken(world, expected)
      : (['no rejection is left unhandled', messageOf(rejection)] as const)
  if (wrong) throw new PromiseBroken(...wrong, world.path)
}

/** Any of the open paths, which it removes. */
function taken(open: (readonly string[])[], random: () => number): readonly string[] {
  const place = Math.floor(random() * open.length)
  const path = open[place] ?? []
  const last = open.pop()
  if (last && place < open.length) open[place] = last
  return path
}

export async function replayed(
  scenario: Scenario,
  on: LoadedCore,
  clock: StandingClock,
  path: readonly string[],
): Promise<World> {
  clock.reset()
  const world = new World(scenario, on, clock)
  await turn()
  for (const move of path) {
    world.do(move)
    await turn()
  }
  return world
}

/** The history of a run that starts nothing early, makes one call at a time, and to which nothing happens. */
export async function undisturbedHistory(scenario: Scenario, on: LoadedCore, clock: StandingClock): Promise<string> {
  const { steps, wrap, maxSteps, hook } = scenario
  clock.reset()
  const same = { ...(wrap && { wrap }), ...(hook === 'edits' && { hook }), ...(maxSteps !== undefined && { maxSteps }) }
  // Calls ask one after the other.
  const world = new World({ steps, eager: false, limit: 1, ...same }, on, clock, 20)
  await turn()
  for (let [move] = world.moves(); move !== undefined; [move] = world.moves()) {
    if (world.path.length > LONGEST) break
    world.do(move)
    await turn()
  }
  if (!world.isOver) throw new PromiseBroken(ENDS, 'also an undisturbed one', world.path)
  return historyOf(world) ?? ''
}

/** Numbers from 0 up to 1 (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
