/** Explores every order in which things can happen in a world. A path is executed again from its beginning. */

import { StandingClock, turn } from '../standing-clock.ts'
import type { LoadedCore } from './inside.ts'
import { type Broken, brokenIn, historyOf } from './promises/index.ts'
import { bare, type Scenario } from './scenario.ts'
import { MOST_MOVES, World } from './world.ts'

export interface Explored {
  readonly paths: number
  readonly states: number
  readonly moves: number
  /** Whether every path was explored. */
  readonly isWhole: boolean
  /** The first promise that is broken. Nothing was explored after that. */
  readonly broken?: Broken
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

/** Everything in this process has it. */
const clock = new StandingClock()
clock.install()

export async function explore({ scenario, on, seed, most, uncut }: Exploration): Promise<Explored> {
  const expected = await undisturbedHistory(scenario, on)
  const random = randomOf(seed)
  const seen = new Set<string>()
  const open: (readonly string[])[] = [[]]
  let [paths, moves] = [0, 0]
  let broken: Broken | undefined
  for (; open.length > 0 && paths < most && !broken; paths++) {
    const world = await replayed(scenario, on, taken(open, random))
    for (;;) {
      broken = brokenIn(world, expected)
      const key = world.key()
      if (broken || (seen.has(key) && !uncut)) break
      seen.add(key)
      open.push(...insideOf(world))
      const next = [...world.moves()]
      if (next.length === 0) break
      const [move = ''] = next.splice(Math.floor(random() * next.length), 1)
      for (const other of next) open.push([...world.path, other])
      await world.do(move)
    }
    moves += world.path.length
  }
  return { paths, states: seen.size, moves, isWhole: open.length === 0, ...(broken && { broken }) }
}

/** The path with an act inside each of the moments of its last move. */
function insideOf({ path, isOver, moments, acts }: World): string[][] {
  const last = path.at(-1)
  if (last === undefined || last.includes(' > ') || isOver) return []
  return acts.flatMap((act) => moments.map((moment) => path.with(-1, `${last} > ${act} in ${moment}`)))
}

/** Any of the open paths. The last one takes its place. */
function taken(open: (readonly string[])[], random: () => number): readonly string[] {
  const place = Math.floor(random() * open.length)
  const path = open[place] ?? []
  open[place] = open.at(-1) ?? []
  open.pop()
  return path
}

export async function replayed(scenario: Scenario, on: LoadedCore, path: readonly string[]): Promise<World> {
  clock.reset()
  const world = new World(scenario, on, clock)
  await turn()
  for (const move of path) await world.do(move)
  return world
}

/** The history of a run that starts nothing early, makes one call at a time, and to which nothing happens. */
export async function undisturbedHistory(scenario: Scenario, on: LoadedCore): Promise<string> {
  const { steps, wrap, maxSteps, hook } = scenario
  const same = { ...bare(steps), maxSteps, ...(wrap && { wrap }), ...(hook === 'hook edits' && { hook }) }
  // Calls ask one after the other.
  const world = await replayed({ ...same, resumes: 20 }, on, [])
  for (let [move] = world.moves(); move !== undefined && world.path.length <= MOST_MOVES; [move] = world.moves())
    await world.do(move)
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
