/** Explores worlds with a machine in which one piece of text is replaced: a copy in a separate folder, which is deleted at the end. */

import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'

import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type * as Explorer from './explorer.ts'
import type { Mutant } from './mutants.ts'
import type { Scenario } from './world.ts'

type Loaded = typeof Explorer

const HERE = fileURLToPath(new URL('.', import.meta.url))
const MACHINE = fileURLToPath(new URL('../../src/machine', import.meta.url))

/** Calls `use` with a function that loads the explorer of a mutant. */
export async function withMutants<Result>(
  use: (load: (mutant: Mutant) => Promise<Loaded>) => Promise<Result>,
): Promise<Result> {
  // Next to this folder, so that the imports of the copies lead to the same files.
  const folders: string[] = []
  const load = async ({ file, replace, by, name }: Mutant): Promise<Loaded> => {
    const folder = mkdtempSync(join(HERE, '..', '.mutant-'))
    folders.push(folder)
    cpSync(HERE, folder, { recursive: true })
    cpSync(MACHINE, join(folder, 'machine'), { recursive: true })
    for (const own of globSync(join(folder, '*.ts'))) rewrite(own, '../../src/machine/', './machine/')
    for (const model of globSync(join(folder, 'model/*.ts'))) rewrite(model, '../../../src/machine/', '../machine/')
    for (const machine of globSync(join(folder, 'machine/*.ts'))) rewrite(machine, "from '../", "from '../../../src/")
    const path = join(folder, file)
    const text = readFileSync(path, 'utf8')
    if (text.split(replace).length !== 2) throw new Error(`${name}: "${replace}" is not in ${file} exactly once`)
    writeFileSync(
      path,
      text.replace(replace, () => by),
    )
    return (await import(pathToFileURL(join(folder, 'explorer.ts')).href)) as Loaded
  }
  try {
    return await use(load)
  } finally {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  }
}

function rewrite(path: string, from: string, to: string): void {
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll(from, to))
}

/** The first rule that is broken in this world, if there is one. */
export function brokenBy({ explore, RuleBroken }: Loaded, scenario: Scenario): string | undefined {
  try {
    explore(scenario)
    return undefined
  } catch (error) {
    if (error instanceof RuleBroken) return error.rule
    throw error
  }
}
