/**
 * The lists of worlds and of mutants. In both, `#` begins a heading, and a line says what it shows, then the world: `sentence | x1 x1: bold`.
 * A mutant is a deliberate fault: the sentence says what it breaks, and the line below is a patch of a file of core, or, without a world, why
 * nobody outside core can notice it.
 */

import { readFileSync } from 'node:fs'
import { type Scenario, scenarioOf } from './scenario.ts'

export interface ListedWorld {
  readonly shows: string
  readonly scenario: Scenario
}

export interface Mutant extends ListedWorld {
  /** A file of core, and the text in it that is replaced. */
  readonly file: string
  readonly replace: string
  readonly by: string
}

export const WORLDS: readonly ListedWorld[] = linesOf('worlds.txt').map(worldOf)

/** Those that break a promise in their world, and those that change nothing, with the reason. */
export const MUTANTS: readonly Mutant[] = linesOf('mutants.txt').flatMap((line, index, all) => {
  const [, file, replace = '', by = ''] = /^ {2}(\S+): `(.*)` → `(.*)`$/.exec(all[index + 1] ?? '') ?? []
  return file ? [{ ...worldOf(line), file, replace: textOf(replace), by: textOf(by) }] : []
})
export const EQUIVALENT: readonly string[] = linesOf('mutants.txt').filter((line) => !/^ | \| /.test(line))

function linesOf(file: string): readonly string[] {
  const text = readFileSync(new URL(file, import.meta.url), 'utf8')
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
}

function worldOf(line: string): ListedWorld {
  const [shows = '', world = ''] = line.split(' | ')
  return { shows, scenario: scenarioOf(world) }
}

/** `\n` in a patch is a new line. */
function textOf(patch: string): string {
  return patch.replaceAll('\\n', '\n')
}
