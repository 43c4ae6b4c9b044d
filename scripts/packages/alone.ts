/** Tests a package by itself in an empty project, with only its peers: imported, type-checked, bundled. */

import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { checkBundles } from './bundles.ts'
import type { Node } from './nodes.ts'
import { partOf } from './part.ts'
import { project } from './project.ts'
import { command, step } from './step.ts'
import { type Compiler, checkTypes } from './types.ts'
import type { Packed } from './workspace.ts'

/** The shared tools of all package checks. */
export interface Bench {
  readonly folder: string
  /** The project in which all packages are installed. */
  readonly together: string
  readonly packages: readonly Packed[]
  readonly nodes: readonly Node[]
  /** The TypeScript of this repository, with which each package is checked by itself. */
  readonly compiler: Compiler
  /** The oldest supported one, for all packages together: it is slow. */
  readonly oldest: Compiler
}

/** What an entry for another library needs, in addition to the package's other entries. */
interface Needs {
  /** The imported library, such as `langchain`. */
  readonly library: string
  readonly peers: readonly string[]
}

const NEEDS: Readonly<Record<string, Needs>> = {
  '@meanwhile/devtools/openai-agents': { library: '@opentelemetry/api', peers: ['@opentelemetry/api'] },
  '@meanwhile/devtools/processor': { library: '@opentelemetry/api', peers: ['@opentelemetry/api'] },
  '@meanwhile/durable/dbos': { library: '@dbos-inc/dbos-sdk', peers: ['@dbos-inc/dbos-sdk'] },
  '@meanwhile/durable/pg-boss': { library: 'pg-boss', peers: ['pg-boss'] },
  '@meanwhile/eager-tools/ai-sdk': { library: 'ai', peers: ['ai'] },
  '@meanwhile/eager-tools/langchain': { library: 'langchain', peers: ['@langchain/core', 'langchain'] },
  '@meanwhile/eager-tools/openai-agents': {
    library: '@openai/agents',
    peers: ['@openai/agents', '@openai/agents-core'],
  },
  '@meanwhile/ui/ag-ui': { library: '@ag-ui/core', peers: ['@ag-ui/core', '@meanwhile/threads'] },
  '@meanwhile/ui/ai-sdk': { library: 'ai', peers: ['ai', '@meanwhile/threads'] },
  '@meanwhile/ui/thread-transport': { library: 'ai', peers: ['ai'] },
}

/**
 * What npm installs by itself: of the packages that need another one, that with the most dependencies. The projects of the others are parts
 * of the one with all packages, because npm takes much longer than the checks.
 */
const INSTALLED = '@meanwhile/harness'

export async function checkAlone(packed: Packed, bench: Bench): Promise<void> {
  const { manifest, entries } = packed
  const apart = entries.filter((entry) => NEEDS[entry])
  const theirs = new Set(apart.flatMap((entry) => NEEDS[entry]?.peers ?? []))
  const others = Object.keys(manifest.peerDependencies).filter((peer) => !theirs.has(peer))
  const rest = entries.filter((entry) => !apart.includes(entry))
  if (rest.length > 0) await checkEntries(packed, rest, others, bench)
  for (const entry of apart) {
    await checkEntries(packed, [entry], [...others, ...(NEEDS[entry]?.peers ?? [])], bench)
  }
}

/** Checks these entries, with only these peers installed. */
async function checkEntries(
  { manifest }: Packed,
  entries: readonly string[],
  peers: readonly string[],
  bench: Bench,
): Promise<void> {
  const { name, dependencies = {} } = manifest
  const [first = name] = entries
  const folder = join(bench.folder, `alone-${first.replace('@meanwhile/', '').replaceAll('/', '-')}`)
  const made = await step(`${entries.join(', ')}: has what it needs`, () =>
    name === INSTALLED
      ? project(folder, [...tarballs([name, ...Object.keys(dependencies), ...peers], bench), '@types/node'])
      : partOf(bench.together, [name, ...peers, '@types/node'], folder),
  )
  if (!made) return

  for (const node of bench.nodes) await importAll(entries, node, folder)
  const { compiler } = bench
  await step(`${first}: types with TypeScript ${compiler.version}`, () => checkTypes(entries, compiler, folder))
  await checkBundles(manifest, entries, folder)
}

const tarballs = (names: readonly string[], { packages }: Bench): readonly string[] =>
  packages.filter(({ manifest }) => names.includes(manifest.name)).map(({ tarball }) => tarball)

/** Imports export something, and have no side effects. Side effects of another library's import do not count. */
async function importAll(entries: readonly string[], { path, version }: Node, folder: string): Promise<void> {
  await copyFile(join(import.meta.dirname, 'effects-app.mjs'), join(folder, 'effects.mjs'))
  const [library = ''] = entries.flatMap((entry) => NEEDS[entry]?.library ?? [])
  const what = `${entries.join(', ')}: import on Node ${version}, which changes nothing`
  await command(what, path, ['effects.mjs', library, ...entries], folder)
}
