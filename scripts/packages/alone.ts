/** Tests a package by itself in an empty project, with only its peers: imported, type-checked, bundled. */

import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { checkBundles } from './bundles.ts'
import { type Node, nodesFor } from './nodes.ts'
import { project } from './project.ts'
import { command, step } from './step.ts'
import { checkTypes } from './types.ts'
import type { Packed } from './workspace.ts'

/** The shared tools of all package checks. */
export interface Bench {
  readonly folder: string
  readonly packages: readonly Packed[]
  readonly nodes: readonly Node[]
  /** The TypeScript compilers, by version. */
  readonly compilers: Readonly<Record<string, string>>
}

/** What an entry for another library needs, in addition to the package's other entries. */
interface Needs {
  /** The imported library, such as `langchain`. */
  readonly library: string
  readonly peers: readonly string[]
  readonly node: string
}

const NEEDS: Readonly<Record<string, Needs>> = {
  '@meanwhile/durable/dbos': { library: '@dbos-inc/dbos-sdk', peers: ['@dbos-inc/dbos-sdk'], node: '>=20.19' },
  '@meanwhile/durable/pg-boss': { library: 'pg-boss', peers: ['pg-boss'], node: '>=22.12' },
  '@meanwhile/eager-tools/ai-sdk': { library: 'ai', peers: ['ai'], node: '>=22' },
  '@meanwhile/eager-tools/langchain': {
    library: 'langchain',
    peers: ['@langchain/core', 'langchain'],
    node: '>=22',
  },
  '@meanwhile/eager-tools/openai-agents': {
    library: '@openai/agents',
    peers: ['@openai/agents', '@openai/agents-core'],
    node: '>=22',
  },
  '@meanwhile/ui/ag-ui': { library: '@ag-ui/core', peers: ['@ag-ui/core', '@meanwhile/threads'], node: '>=20.19' },
  '@meanwhile/ui/ai-sdk': { library: 'ai', peers: ['ai', '@meanwhile/threads'], node: '>=22' },
}

export async function checkAlone(packed: Packed, bench: Bench): Promise<void> {
  const { manifest, entries } = packed
  const apart = entries.filter((entry) => NEEDS[entry])
  const theirs = new Set(apart.flatMap((entry) => NEEDS[entry]?.peers ?? []))
  const others = Object.keys(manifest.peerDependencies).filter((peer) => !theirs.has(peer))
  const rest = entries.filter((entry) => !apart.includes(entry))
  if (rest.length > 0) await checkEntries(packed, rest, others, nodesFor(bench.nodes, manifest), bench)
  for (const entry of apart) {
    const { peers, node } = NEEDS[entry] ?? { peers: [], node: '*' }
    const nodes = nodesFor(bench.nodes, { ...manifest, engines: { node } })
    await checkEntries(packed, [entry], [...others, ...peers], nodes, bench)
  }
}

/** Checks these entries, with only these peers installed. */
async function checkEntries(
  { manifest, tarball }: Packed,
  entries: readonly string[],
  peers: readonly string[],
  nodes: readonly Node[],
  bench: Bench,
): Promise<void> {
  const { name, peerDependencies } = manifest
  const ours = bench.packages.filter((other) => peers.includes(other.manifest.name)).map((other) => other.tarball)
  const theirs = peers
    .filter((peer) => !peer.startsWith('@meanwhile/'))
    .map((peer) => `${peer}@${peerDependencies[peer]}`)
  const [first = name] = entries
  const folder = join(bench.folder, `alone-${first.replace('@meanwhile/', '').replaceAll('/', '-')}`)
  const dependencies = [tarball, ...ours, ...theirs, '@types/node']
  if (!(await step(`${entries.join(', ')}: install by itself`, () => project(folder, dependencies)))) return

  for (const node of nodes) await importAll(entries, node, folder)
  await checkEffects(entries, nodes.at(-1), folder)
  for (const [version, tsc] of Object.entries(bench.compilers)) {
    await step(`${first}: types with TypeScript ${version}`, () => checkTypes(name, entries, tsc, folder))
  }
  await checkBundles(manifest, entries, folder)
}

async function importAll(entries: readonly string[], { path, version }: Node, folder: string): Promise<void> {
  for (const entry of entries) {
    const check = `if (Object.keys(await import('${entry}')).length === 0) throw new Error('exports nothing')`
    await command(`${entry}: import on Node ${version}`, path, ['--input-type=module', '--eval', check], folder)
  }
}

/** An import must have no side effects. Side effects of another library's import do not count. */
async function checkEffects(entries: readonly string[], node: Node | undefined, folder: string): Promise<void> {
  await copyFile(join(import.meta.dirname, 'effects-app.mjs'), join(folder, 'effects.mjs'))
  for (const entry of entries) {
    const library = NEEDS[entry]?.library
    await command(
      `${entry}: its import changes nothing`,
      node?.path ?? process.execPath,
      ['effects.mjs', entry, ...(library ? [library] : [])],
      folder,
    )
  }
}
