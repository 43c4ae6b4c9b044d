/** Loads core with a fault: text of one file is replaced while the file is loaded, and nothing is written. */

import { readFileSync } from 'node:fs'
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import { type LoadedCore, loadCore } from './inside.ts'
import type { Mutant } from './lists.ts'

const SOURCE = new URL('../../src/', import.meta.url).href
const mutants: Mutant[] = []

registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context)
    const query = /\?mutant=\d+$/.exec(context.parentURL ?? '')?.[0]
    const isOwn = query !== undefined && found.url.startsWith(SOURCE) && !found.url.includes('?')
    return isOwn ? { ...found, url: found.url + query } : found
  },
  load(url, context, next) {
    const [, file = '', number] = /^(.*)\?mutant=(\d+)$/.exec(url) ?? []
    const mutant = mutants[Number(number)]
    if (!mutant) return next(url, context)
    const source =
      file === SOURCE + mutant.file ? stripTypeScriptTypes(replaced(mutant, textOf(file))) : strippedOf(file)
    return { format: 'module', source, shortCircuit: true }
  },
})

const stripped = new Map<string, string>()

function strippedOf(file: string): string {
  const known = stripped.get(file) ?? stripTypeScriptTypes(textOf(file))
  stripped.set(file, known)
  return known
}

const textOf = (file: string): string => readFileSync(new URL(file), 'utf8')

export async function loadMutant(mutant: Mutant): Promise<LoadedCore> {
  return await loadCore(`?mutant=${mutants.push(mutant) - 1}`)
}

/** @throws {Error} The text that is replaced is not in the file exactly once. */
export function checkPatch(mutant: Mutant): void {
  replaced(mutant, textOf(SOURCE + mutant.file))
}

function replaced({ shows, file, replace, by }: Mutant, text: string): string {
  if (text.split(replace).length !== 2) throw new Error(`${shows}: "${replace}" is not in ${file} exactly once`)
  return text.replace(replace, () => by)
}
