/** `npm run explore`: explores the listed worlds, and checks that each mutant of the machine breaks its rule. */

import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { type Explored, explore, RuleBroken } from './explorer.ts'
import { MUTANTS } from './mutants.ts'
import { brokenBy, withMutants } from './mutate.ts'
import type { Scenario } from './world.ts'
import { allWorlds, WORLDS } from './worlds.ts'

const HELP = `npm run explore [-- OPTIONS]

Tries every order of events in small worlds (examples of runs), and checks the rules of the machine in each state.

  --all [--part N/M]  every combination of the worlds' parts, which takes hours; or the N-th of M parts of these
  --world TEXT        only the listed worlds whose description contains TEXT
  --no-mutants        does not check that each mutant of the machine breaks its rule
  --write             stores which cells (state of a call × event) the listed worlds reach
  --help              shows this text`

const CELLS = new URL('cells.json', import.meta.url)

const { values } = parseArgs({
  options: {
    all: { type: 'boolean', default: false },
    part: { type: 'string', default: '1/1' },
    world: { type: 'string' },
    'no-mutants': { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

if (values.help) console.log(HELP)
else process.exitCode = (await main()) ? 0 : 1

async function main(): Promise<boolean> {
  if (values.all) return everyWorld()
  const { world: text } = values
  const listed = text === undefined ? WORLDS : WORLDS.filter(({ shows }) => shows.includes(text))
  if (listed.length === 0) throw new Error(`no listed world has a description that contains "${text}"`)
  const runs = listed.map(({ shows, scenario }) => timed(shows, scenario))
  const holds = sum(runs)
  const reached = new Set(runs.flatMap(({ explored }) => [...(explored?.cells ?? [])]))
  const hasCells = text !== undefined || checkCells(reached)
  const isSeen = values['no-mutants'] || (await tryMutants())
  return holds && hasCells && isSeen
}

interface Timed {
  readonly explored: Explored | undefined
  readonly ms: number
}

function timed(name: string, scenario: Scenario): Timed {
  const begun = performance.now()
  try {
    const explored = explore(scenario)
    const ms = performance.now() - begun
    console.log(`${String(explored.states).padStart(9)} states ${(ms / 1000).toFixed(1).padStart(6)} s  ${name}`)
    return { explored, ms }
  } catch (error) {
    if (!(error instanceof RuleBroken)) throw error
    console.log(`BROKEN  ${name}\n${error.message}`)
    return { explored: undefined, ms: performance.now() - begun }
  }
}

/** Returns whether all rules hold. */
function sum(runs: readonly Timed[]): boolean {
  const ends: Record<string, number> = {}
  for (const { explored } of runs) {
    for (const [kind, count] of Object.entries(explored?.ends ?? {})) ends[kind] = (ends[kind] ?? 0) + count
  }
  const states = runs.reduce((all, { explored }) => all + (explored?.states ?? 0), 0)
  const broken = runs.filter(({ explored }) => !explored).length
  const seconds = runs.reduce((all, { ms }) => all + ms, 0) / 1000
  console.log(
    `${runs.length} worlds, ${states} distinct states, ${broken} broken, ${seconds.toFixed(0)} s; ends: ${JSON.stringify(ends)}`,
  )
  return broken === 0
}

/** The listed worlds must reach every cell that they have reached once. */
function checkCells(reached: ReadonlySet<string>): boolean {
  const cells = [...reached].sort()
  if (values.write) writeFileSync(CELLS, `${JSON.stringify(cells, undefined, 2)}\n`)
  const known = JSON.parse(readFileSync(CELLS, 'utf8')) as string[]
  const missing = known.filter((cell) => !reached.has(cell))
  console.log(
    `${reached.size} cells of state × what happens, ${missing.length} of ${known.length} not reached any more`,
  )
  for (const cell of missing) console.log(`NOT REACHED  ${cell}`)
  return missing.length === 0
}

async function tryMutants(): Promise<boolean> {
  const survivors = await withMutants(async (load) => {
    const those: string[] = []
    for (const mutant of MUTANTS) {
      const rule = brokenBy(await load(mutant), mutant.scenario)
      const isSeen = rule === mutant.breaks
      if (!isSeen) those.push(`${mutant.name}: breaks ${rule ?? 'nothing'}, and not "${mutant.breaks}"`)
    }
    return those
  })
  console.log(`${MUTANTS.length} mutants, ${MUTANTS.length - survivors.length} break the rule that they must`)
  for (const one of survivors) console.log(`SURVIVES  ${one}`)
  return survivors.length === 0
}

function everyWorld(): boolean {
  const [part = 1, parts = 1] = values.part.split('/').map(Number)
  const scenarios = [...allWorlds()].filter((_, index) => index % parts === part - 1)
  if (scenarios.length === 0) throw new Error(`there is no part ${values.part}`)
  return sum(scenarios.map((scenario) => timed(JSON.stringify(scenario), scenario)))
}
