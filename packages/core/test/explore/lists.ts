/**
 * The lists of worlds and of mutants. In both, a line says what it shows, then the world: `sentence | x1 x1: bold`.
 * A mutant is a deliberate fault: the sentence says what it breaks, and the line below is a patch of a file of core, or, without a world, why
 * nobody outside core can notice it.
 */

import { readFileSync } from 'node:fs'
import { type Scenario, scenarioOf } from './scenario.ts'

export interface Mutant {
  readonly shows: string
  readonly scenario: Scenario
  /** A file of core, and the text in it that is replaced. */
  readonly file: string
  readonly replace: string
  readonly by: string
}

type ListedWorld = Pick<Mutant, 'shows' | 'scenario'>

export const WORLDS: readonly ListedWorld[] = matchesIn('worlds.txt', /^(.*) \| (.*)$/gm).map(worldOf)

/** Those that break a promise in their world. */
export const MUTANTS: readonly Mutant[] = matchesIn('mutants.txt', /^(.*) \| (.*)\n {2}(\S+): `(.*)` → `(.*)`$/gm).map(
  ([shows = '', world = '', file = '', ...patch]) => {
    // `\n` in a patch is a new line.
    const [replace = '', by = ''] = patch.map((text) => text.replaceAll('\\n', '\n'))
    return { ...worldOf([shows, world]), file, replace, by }
  },
)

/** Those that change nothing, with the reason. */
export const EQUIVALENT = matchesIn('mutants.txt', /^(.*)\n {2}[A-Z].*$/gm)

function worldOf([shows = '', world = '']: readonly string[]): ListedWorld {
  return { shows, scenario: scenarioOf(world) }
}

/** What the groups of a pattern match, each time. */
function matchesIn(file: string, pattern: RegExp): string[][] {
  const text = readFileSync(new URL(file, import.meta.url), 'utf8')
  return [...text.matchAll(pattern)].map(([, ...groups]) => groups)
}
