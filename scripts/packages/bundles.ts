/** Checks the bundle of an entry: it is empty if nothing is used, within its budget, and works in a browser if the entry claims so. */

import { readFileSync, writeFileSync } from 'node:fs'
import { bundled, type Chunk, kilobytes } from './bundle.ts'
import { failures, step } from './step.ts'
import type { Manifest } from './workspace.ts'

/** The size of an entry, minified and gzipped, with its dependencies and without its peers, in kB of 1,000 bytes. */
export interface Size {
  readonly whole: number
  /** One of its exports, and the size of that export by itself. */
  readonly one: string
  readonly oneAlone: number
  /** The environment that it needs. */
  readonly runs: 'anywhere' | 'Node'
}

const SIZES_FILE = 'scripts/packages/sizes.json'

/** The recorded size of each entry, which is its budget. */
export const budget = (): Readonly<Record<string, Size>> => JSON.parse(readFileSync(SIZES_FILE, 'utf8'))

const measured: Record<string, Size> = {}

/** Makes the measured sizes the budget. Entries that were not measured keep theirs. */
export function keepAsBudget(): void {
  writeFileSync(SIZES_FILE, `${JSON.stringify({ ...budget(), ...measured }, null, 2)}\n`)
}

/** How far an entry may outgrow its budget before somebody has to confirm it: 5 %, and 0.2 kB. */
const isOver = (size: number, allowed: number): boolean => size > allowed * 1.05 + 0.2

export async function checkBundles(
  { name, peerDependencies }: Manifest,
  entries: readonly string[],
  folder: string,
): Promise<void> {
  const isPeer = (id: string): boolean =>
    Object.keys(peerDependencies).some((peer) => id === peer || id.startsWith(`${peer}/`))
  for (const entry of entries) {
    const allowed = budget()[entry]
    if (!allowed) {
      failures.push(`${entry}: no budget in ${SIZES_FILE}`)
      continue
    }
    const anywhere = allowed.runs === 'anywhere'
    // Code that only runs on Node is bundled without its dependencies, which are also for Node.
    const isExternal = anywhere ? isPeer : (id: string) => !id.startsWith(name)
    const bundle = (source: string, external = isExternal): Promise<Chunk> => bundled(source, folder, external)

    await step(`${entry}: the bundle is empty if nothing is used`, async () => {
      const { code } = await bundle(`import '${entry}'`)
      if (code.trim() !== '') throw new Error(`this remains:\n${code.slice(0, 1_000)}`)
    })
    if (anywhere) {
      await step(`${entry}: bundles for a browser`, async () => {
        const { imports } = await bundle(`export * from '${entry}'`, (id) => id.startsWith('node:'))
        if (imports.length > 0) throw new Error(`needs ${imports.join(', ')}`)
      })
    }
    await step(`${entry}: is within its budget`, async () => {
      const whole = kilobytes(await bundle(`export * from '${entry}'`))
      const oneAlone = kilobytes(await bundle(`export { ${allowed.one} } from '${entry}'`))
      measured[entry] = { ...allowed, whole, oneAlone }
      if (isOver(whole, allowed.whole)) throw new Error(`${whole} kB; its budget is ${allowed.whole} kB`)
      if (isOver(oneAlone, allowed.oneAlone)) {
        throw new Error(`${allowed.one} by itself takes ${oneAlone} kB; its budget is ${allowed.oneAlone} kB`)
      }
    })
  }
}
