/** Loads core with a fault: text of one file is replaced while the file is loaded, and nothing is written. */

import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { type LoadedCore, loadCore } from './inside.ts'
import { MUTANTS, type Mutant } from './lists.ts'

const SOURCE = new URL('../../src/', import.meta.url).href

registerHooks({
  // What a mutant imports of core is loaded once more, only for it.
  resolve(specifier, context, next) {
    const found = next(specifier, context)
    const query = /\?mutant=\d+$/.exec(context.parentURL ?? '')?.[0]
    const isOwn = query !== undefined && found.url.startsWith(SOURCE) && !found.url.includes('?')
    return isOwn ? { ...found, url: found.url + query } : found
  },
  load(url, context, next) {
    const loaded = next(url, context)
    const [, file, number] = /^(.*)\?mutant=(\d+)$/.exec(url) ?? []
    const mutant = MUTANTS[Number(number)]
    return mutant && file === SOURCE + mutant.file ? { ...loaded, source: patched(mutant) } : loaded
  },
})

export const loadMutant = (mutant: Mutant): Promise<LoadedCore> => loadCore(`?mutant=${MUTANTS.indexOf(mutant)}`)

/** @throws {Error} The text that is replaced is not in the file exactly once. */
export function patched({ shows, file, replace, by }: Mutant): string {
  const text = readFileSync(new URL(SOURCE + file), 'utf8')
  if (text.split(replace).length !== 2) throw new Error(`${shows}: "${replace}" is not in ${file} exactly once`)
  return text.replace(replace, () => by)
}
