/** `npm run explore`: explores the worlds, or replays one path, or checks that mutants break a promise. */

import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { type Explored, explore, PromiseBroken } from './explorer.ts'
import { loadCore } from './inside.ts'
import { EQUIVALENT, MUTANTS, WORLDS } from './lists.ts'
import { checkPatch, loadMutant } from './mutate.ts'
import { shown } from './show.ts'

const HELP = `npm run explore [-- OPTIONS]

Runs core in small worlds, in many orders of everything that can happen there, and checks what it promises after each move.

  --paths N      how many paths in all worlds together, or all of them (default 5000; at least 50 in each world)
  --uncut        a path does not end where another one has been; all of them only in the smallest worlds
  --seed N       the order of the paths (default: half of them with seed 1, half with a random one)
  --world TEXT   only the worlds whose description contains TEXT
  --path MOVES   shows one path of that world, move by move
  --mutants N    checks that deliberate faults break a promise: N of them, spread over the list, or all
  --help         shows this text`

const FIXED = 1
const AT_LEAST = 50

const { values } = parseArgs({
  options: {
    paths: { type: 'string', default: '5000' },
    uncut: { type: 'boolean', default: false },
    seed: { type: 'string' },
    world: { type: 'string', default: '' },
    path: { type: 'string' },
    mutants: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

if (values.help) console.log(HELP)
else if (values.mutants !== undefined) process.exitCode = await tryMutants(countOf(values.mutants))
else if (values.path !== undefined)
  console.log(await shown(worlds()[0].scenario, await loadCore(), values.path.split(' | ')))
else process.exitCode = await exploreWorlds(countOf(values.paths))

function countOf(text: string): number {
  return text === 'all' ? Number.POSITIVE_INFINITY : Number(text)
}

function worlds(): readonly [(typeof WORLDS)[number], ...typeof WORLDS] {
  const [first, ...more] = WORLDS.filter(({ shows }) => shows.includes(values.world))
  if (!first) throw new Error(`no world has a description that contains "${values.world}"`)
  return [first, ...more]
}

/** Returns how many worlds break a promise. */
async function exploreWorlds(paths: number): Promise<number> {
  const on = await loadCore()
  const seeds =
    values.seed === undefined && paths < Number.POSITIVE_INFINITY
      ? [FIXED, randomInt(2 ** 31)]
      : [Number(values.seed ?? FIXED)]
  const most = Math.ceil(Math.max(AT_LEAST, paths / worlds().length) / seeds.length)
  console.log(`seeds ${seeds.join(' and ')}, ${most} paths in each world with each seed`)
  const all: Explored[] = []
  let broken = 0
  for (const { shows, scenario } of worlds()) {
    const begun = performance.now()
    try {
      const parts: Explored[] = []
      for (const seed of seeds) parts.push(await explore({ scenario, on, seed, most, uncut: values.uncut }))
      all.push(...parts)
      console.log(`${counts(parts)} ${seconds(begun)}  ${shows}`)
    } catch (error) {
      if (!(error instanceof PromiseBroken)) throw error
      broken++
      // One command that replays the path.
      const command = `npm run explore -- --world ${quoted(shows)} --path ${quoted(error.path.join(' | '))}`
      console.log(`BROKEN  ${error.message.slice(0, 2_000)}\n  in the world: ${shows}\n  ${command}`)
    }
  }
  console.log(`${worlds().length} worlds, ${counts(all)} ${seconds(0)}; ${broken} broken`)
  return broken
}

/** Each of these mutants, spread over the list, must break a promise in its world, and each patch must fit. Returns how many survive. */
async function tryMutants(count: number): Promise<number> {
  for (const mutant of MUTANTS) checkPatch(mutant)
  const tried = MUTANTS.filter((_, index) => index % Math.max(1, Math.floor(MUTANTS.length / count)) === 0)
  const survivors: string[] = []
  for (const mutant of tried) {
    try {
      await explore({ scenario: mutant.scenario, on: await loadMutant(mutant), seed: FIXED, most: 2_000 })
      survivors.push(mutant.shows)
    } catch (error) {
      if (!(error instanceof PromiseBroken)) throw error
      console.log(`${mutant.shows}\n    breaks "${error.promise}" after ${error.path.length} moves`)
    }
  }
  const others = `${MUTANTS.length} mutants, and ${EQUIVALENT.length} that change nothing`
  console.log(`${tried.length} of ${others}: ${survivors.length} survive ${seconds(0)}`)
  for (const one of survivors) console.log(`SURVIVES  ${one}`)
  return survivors.length
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

function counts(parts: readonly Explored[]): string {
  const sum = (what: 'paths' | 'states' | 'moves') =>
    `${String(parts.reduce((all, one) => all + one[what], 0)).padStart(7)} ${what}`
  return `${sum('paths')} ${sum('states')} ${sum('moves')}${parts.every(({ isWhole }) => isWhole) ? ', whole' : ''}`
}

function seconds(begun: number): string {
  return `${((performance.now() - begun) / 1_000).toFixed(1)} s`
}
