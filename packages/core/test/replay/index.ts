/** `npm run explore`: explores the worlds, or replays one path, or checks that each mutant breaks a promise. */

import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { type Explored, explore, PromiseBroken } from './explorer.ts'
import { loadCore } from './inside.ts'
import { EQUIVALENT, MUTANTS } from './mutants.ts'
import { loadMutant } from './mutate.ts'
import { shown } from './show.ts'
import { WORLDS } from './worlds.ts'

const HELP = `npm run explore [-- OPTIONS]

Runs core in small worlds, in many orders of everything that can happen there, and checks what it promises after each move.

  --paths N      how many paths in all worlds together (default 5000; at least 50 in each)
  --all          all paths, which takes hours
  --uncut        a path does not end where another one has been; together with --all only for the smallest worlds
  --seed N       the order of the paths (default: half of them with seed 1, half with a random one)
  --world TEXT   only the worlds whose description contains TEXT
  --path MOVES   shows one path of that world, move by move
  --mutants      checks that each deliberate fault breaks a promise
  --help         shows this text`

const FIXED = 1
const AT_LEAST = 50

const { values } = parseArgs({
  options: {
    paths: { type: 'string', default: '5000' },
    all: { type: 'boolean', default: false },
    uncut: { type: 'boolean', default: false },
    seed: { type: 'string' },
    world: { type: 'string', default: '' },
    path: { type: 'string' },
    mutants: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

if (values.help) console.log(HELP)
else process.exitCode = (await main()) ? 0 : 1

async function main(): Promise<boolean> {
  if (values.mutants) return await tryMutants()
  const worlds = WORLDS.filter(({ shows }) => shows.includes(values.world))
  const [first] = worlds
  if (!first) throw new Error(`no world has a description that contains "${values.world}"`)
  const on = await loadCore()
  if (values.path !== undefined) {
    console.log(await shown(first.scenario, on, values.path.split(' | ')))
    return true
  }
  const each = values.all
    ? Number.POSITIVE_INFINITY
    : Math.max(AT_LEAST, Math.ceil(Number(values.paths) / worlds.length))
  const seeds = values.seed === undefined && !values.all ? [FIXED, randomInt(2 ** 31)] : [Number(values.seed ?? FIXED)]
  console.log(`seeds ${seeds.join(' and ')}, ${each} paths in each world`)
  const all: Explored[] = []
  let broken = 0
  for (const { shows, scenario } of worlds) {
    const begun = performance.now()
    try {
      const parts: Explored[] = []
      for (const seed of seeds) {
        const most = Math.ceil(each / seeds.length)
        parts.push(await explore({ scenario, on, seed, most, uncut: values.uncut }))
      }
      all.push(...parts)
      console.log(`${counts(parts)} ${seconds(begun)}  ${shows}`)
    } catch (error) {
      if (!(error instanceof PromiseBroken)) throw error
      broken++
      console.log(
        `BROKEN  ${error.message.slice(0, 2_000)}\n  in the world: ${shows}\n  ${commandOf(shows, error.path)}`,
      )
    }
  }
  console.log(
    `${worlds.length} worlds, ${counts(all)} ${seconds(0)}; ends: ${JSON.stringify(endsOf(all))}; ${broken} broken`,
  )
  return broken === 0
}

/** One command that replays the path. */
function commandOf(shows: string, path: readonly string[]): string {
  return `npm run explore -- --world ${quoted(shows)} --path ${quoted(path.join(' | '))}`
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

function counts(parts: readonly Explored[]): string {
  const sum = (of: (one: Explored) => number) => String(parts.reduce((all, one) => all + of(one), 0))
  const what = `${sum(({ paths }) => paths).padStart(6)} paths ${sum(({ states }) => states).padStart(7)} states`
  return `${what} ${sum(({ moves }) => moves).padStart(7)} moves${parts.every(({ isWhole }) => isWhole) ? ', whole' : ''}`
}

function seconds(begun: number): string {
  return `${((performance.now() - begun) / 1_000).toFixed(1)} s`
}

function endsOf(parts: readonly Explored[]): Record<string, number> {
  const ends: Record<string, number> = {}
  for (const part of parts) for (const [end, times] of Object.entries(part.ends)) ends[end] = (ends[end] ?? 0) + times
  return ends
}

/** Each mutant must break a promise in its world. */
async function tryMutants(): Promise<boolean> {
  const survivors: string[] = []
  for (const mutant of MUTANTS) {
    const on = await loadMutant(mutant)
    try {
      await explore({ scenario: mutant.scenario, on, seed: FIXED, most: 2_000 })
      survivors.push(mutant.sentence)
    } catch (error) {
      if (!(error instanceof PromiseBroken)) throw error
      console.log(`${mutant.sentence}\n    breaks "${error.promise}" after ${error.path.length} moves`)
    }
  }
  for (const [sentence, why] of Object.entries(EQUIVALENT)) console.log(`${sentence}\n    changes nothing. ${why}`)
  console.log(`${MUTANTS.length} mutants, ${survivors.length} survive ${seconds(0)}`)
  for (const one of survivors) console.log(`SURVIVES  ${one}`)
  return survivors.length === 0
}
