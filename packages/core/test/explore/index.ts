/**
 * `npm run explore`: runs core in small worlds, in many orders of everything that can happen there, and checks what it promises after each move.
 * Or it replays one path, or checks that mutants break a promise.
 */

import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { type Explored, explore } from './explorer.ts'
import { loadCore } from './inside.ts'
import { EQUIVALENT, MUTANTS, WORLDS } from './lists.ts'
import { loadMutant, patched } from './mutate.ts'
import { shown } from './show.ts'

const FIXED = 1
const AT_LEAST = 50

const OPTIONS = {
  paths: { type: 'string', default: '5000', is: 'how many paths in all worlds together, or all; at least 50 in each' },
  uncut: { type: 'boolean', default: false, is: 'no path ends where another one has been: for the smallest worlds' },
  seed: { type: 'string', is: 'the order of the paths; by default half of them have seed 1, half a random one' },
  world: { type: 'string', default: '', is: 'only the worlds whose description contains this text' },
  path: { type: 'string', is: 'shows one path of that world, move by move' },
  mutants: { type: 'string', is: 'checks that faults break a promise: so many of the list, or all' },
  help: { type: 'boolean', default: false, is: 'shows this' },
} as const

const { values } = parseArgs({ options: OPTIONS })

const countOf = (text: string): number => (text === 'all' ? Number.POSITIVE_INFINITY : Number(text))
const seconds = (begun: number): string => `${(process.uptime() - begun).toFixed(1)} s`

if (values.help) for (const [name, { is }] of Object.entries(OPTIONS)) console.log(`--${name.padEnd(8)} ${is}`)
else process.exitCode = await (values.mutants ? tryMutants(values.mutants) : exploreWorlds(values.paths))

/** Returns how many worlds break a promise. */
async function exploreWorlds(paths: string): Promise<number> {
  const on = await loadCore()
  const worlds = WORLDS.filter(({ shows }) => shows.includes(values.world))
  const [first] = worlds
  if (!first) throw new Error(`no world has a description that contains "${values.world}"`)
  if (values.path !== undefined) {
    console.log(await shown(first.scenario, on, values.path.split(' | ')))
    return 0
  }
  const seeds =
    values.seed === undefined && paths !== 'all' ? [FIXED, randomInt(2 ** 31)] : [Number(values.seed ?? FIXED)]
  const most = Math.ceil(Math.max(AT_LEAST, countOf(paths) / worlds.length) / seeds.length)
  console.log(`seeds ${seeds.join(' and ')}, ${most} paths in each world with each seed`)
  const all: Explored[] = []
  for (const { shows, scenario } of worlds) {
    const begun = process.uptime()
    const parts: Explored[] = []
    for (const seed of seeds) parts.push(await explore({ scenario, on, seed, most, uncut: values.uncut }))
    all.push(...parts)
    console.log(`${counts(parts)} ${seconds(begun)}  ${shows}`)
    const broken = parts.find((one) => one.broken)?.broken
    if (!broken) continue
    // One command that replays the path.
    const command = `npm run explore -- --world '${shows}' --path '${broken.path.join(' | ')}'`
    console.log(`BROKEN  ${broken.promise}: ${broken.problem.slice(0, 2_000)}\n  ${command}`)
  }
  const broken = all.filter((one) => one.broken).length
  console.log(`${worlds.length} worlds, ${counts(all)} ${seconds(0)}; ${broken} broken`)
  return broken
}

/** Each of these mutants, spread over the list, must break a promise in its world, and each patch must fit. Returns how many survive. */
async function tryMutants(count: string): Promise<number> {
  for (const mutant of MUTANTS) patched(mutant)
  const tried = MUTANTS.filter((_, index) => index % Math.max(1, Math.floor(MUTANTS.length / countOf(count))) === 0)
  const survivors: string[] = []
  for (const mutant of tried) {
    const { broken } = await explore({ ...mutant, on: await loadMutant(mutant), seed: FIXED, most: 2_000 })
    if (broken) console.log(`${mutant.shows}\n    breaks "${broken.promise}" after ${broken.path.length} moves`)
    else survivors.push(`SURVIVES  ${mutant.shows}`)
  }
  const others = `${MUTANTS.length} mutants, and ${EQUIVALENT.length} that change nothing`
  console.log(`${tried.length} of ${others}: ${survivors.length} survive ${seconds(0)}`, ...survivors)
  return survivors.length
}

function counts(parts: readonly Explored[]): string {
  const sum = (what: 'paths' | 'states' | 'moves') =>
    `${String(parts.reduce((all, one) => all + one[what], 0)).padStart(7)} ${what}`
  return `${sum('paths')} ${sum('states')} ${sum('moves')}${parts.every(({ isWhole }) => isWhole) ? ', whole' : ''}`
}
