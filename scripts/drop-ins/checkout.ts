/** A checkout of a library, looked at before anything is run. */

import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { LIBRARIES, type TestedLibrary } from './libraries.ts'

export interface Checkout {
  readonly library: TestedLibrary
  readonly version: string
  /** What our drop-in is tested with. */
  readonly pinned: string
  /** Of the package; absolute. */
  readonly folder: string
  /** Vitest's program, as the checkout has it. */
  readonly vitest: string
  /** The test files that are there, and those that are not; from the package's folder. */
  readonly files: readonly string[]
  readonly missing: readonly string[]
  /** The source of our drop-in, and what it imports of our packages: specifier → file. */
  readonly dropIn: string
  readonly ours: Readonly<Record<string, string>>
}

/** The path leads to no checkout whose tests can be run. */
export class CheckoutError extends Error {
  override readonly name = 'CheckoutError'
}

/** @throws {CheckoutError} */
export function checkoutAt(path: string, root: string = ROOT): Checkout {
  if (!existsSync(path)) throw new CheckoutError(`there is no ${path}`)
  const library = libraryIn(path)
  if (!library) {
    const known = LIBRARIES.map(({ repository }) => repository).join(', ')
    throw new CheckoutError(`${path} is no checkout of ${known}`)
  }
  const folder = resolve(path, library.folder)
  const vitest = programIn(folder)
  if (vitest === undefined) {
    throw new CheckoutError(`there is no vitest in ${path}: install its dependencies first, such as with pnpm install`)
  }
  const files = library.files.filter((file) => existsSync(join(folder, file)))
  if (files.length === 0) throw new CheckoutError(`${folder} has none of the test files that are run`)
  const ours = sourcesOf(root)
  const dropIn = ours[`@meanwhile/eager-tools/${library.name}`]
  if (dropIn === undefined) throw new CheckoutError(`@meanwhile/eager-tools has no ${library.name}`)
  const missing = library.files.filter((file) => !files.includes(file))
  const version = manifestIn(folder)?.version ?? 'unknown'
  return { library, version, pinned: pinnedVersion(library, root), folder, vitest, files, missing, dropIn, ours }
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

interface Manifest {
  readonly name?: string
  readonly version?: string
  readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

function manifestIn(folder: string): Manifest | undefined {
  const file = join(folder, 'package.json')
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Manifest) : undefined
}

function libraryIn(path: string): TestedLibrary | undefined {
  return LIBRARIES.find(({ folder, packageName }) => manifestIn(join(path, folder))?.name === packageName)
}

/** Looked for as Node does. */
function programIn(folder: string): string | undefined {
  const program = join(folder, 'node_modules', 'vitest', 'vitest.mjs')
  if (existsSync(program)) return program
  const above = dirname(folder)
  return above === folder ? undefined : programIn(above)
}

/** The sources behind the exports of our packages. */
function sourcesOf(root: string): Readonly<Record<string, string>> {
  const entries = ['core', 'eager-tools'].flatMap((name) => {
    const folder = join(root, 'packages', name)
    const { name: specifier = '', exports = {} } = manifestIn(folder) ?? {}
    return Object.entries(exports).flatMap(([path, entry]) => {
      const source = typeof entry === 'object' ? entry['@meanwhile/source'] : undefined
      return source === undefined ? [] : [[specifier + path.slice(1), join(folder, source)] as const]
    })
  })
  return Object.fromEntries(entries)
}

function pinnedVersion({ packageName }: TestedLibrary, root: string): string {
  const pinned = manifestIn(join(root, 'packages', 'eager-tools'))?.devDependencies ?? {}
  return pinned[packageName] ?? pinned[packageName.replace(/-core$/, '')] ?? 'unknown'
}
