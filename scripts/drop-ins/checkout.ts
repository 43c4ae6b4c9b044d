/** Finds and validates a checkout of a library before its tests run. */

import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { LIBRARIES, type TestedLibrary } from './libraries.ts'

export interface Checkout {
  readonly library: TestedLibrary
  readonly version: string
  /** The version that our drop-in is tested with. */
  readonly pinned: string
  /** The folder of the package; absolute. */
  readonly folder: string
  /** The Vitest program of the checkout. */
  readonly vitest: string
  /** The test files that exist and those that are missing, relative to the package's folder. */
  readonly files: readonly string[]
  readonly missing: readonly string[]
  /** The source of our drop-in, and its imports from our packages: specifier → file. */
  readonly dropIn: string
  readonly ours: Readonly<Record<string, string>>
}

/** The path is not a checkout whose tests can run. */
export class CheckoutError extends Error {
  override readonly name = 'CheckoutError'
}

/** @throws {CheckoutError} */
export function checkoutAt(path: string, root: string = ROOT): Checkout {
  if (!existsSync(path)) throw new CheckoutError(`${path} does not exist`)
  const library = libraryIn(path)
  if (!library) {
    const known = LIBRARIES.map(({ repository }) => repository).join(', ')
    throw new CheckoutError(`${path} is not a checkout of ${known}`)
  }
  const folder = resolve(path, library.folder)
  const vitest = programIn(folder)
  if (vitest === undefined) {
    throw new CheckoutError(`${path} has no vitest: install its dependencies first, for example with pnpm install`)
  }
  const files = library.files.filter((file) => existsSync(join(folder, file)))
  if (files.length === 0) throw new CheckoutError(`${folder} has none of the expected test files`)
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

/** Searched for as Node does. */
function programIn(folder: string): string | undefined {
  const program = join(folder, 'node_modules', 'vitest', 'vitest.mjs')
  if (existsSync(program)) return program
  const above = dirname(folder)
  return above === folder ? undefined : programIn(above)
}

/** The source files of our packages' exports. */
function sourcesOf(root: string): Readonly<Record<string, string>> {
  const entries = ['core', 'assemble', 'eager-tools'].flatMap((name) => {
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
