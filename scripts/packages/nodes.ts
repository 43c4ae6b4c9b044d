/** The Node versions that packages are tested on: the oldest that each supports, and the newest. */

import { join } from 'node:path'
import semver from 'semver'
import { project } from './project.ts'
import { output } from './step.ts'
import type { Manifest } from './workspace.ts'

const NEWEST = '26.10.0'

export interface Node {
  readonly version: string
  readonly path: string
}

/** Installs them into a folder: the npm package `node` has the program for this machine. */
export async function installNodes(folder: string, manifests: readonly Manifest[]): Promise<readonly Node[]> {
  const oldest = manifests.map(({ engines }) => String(semver.minVersion(engines.node)))
  const versions = [...new Set([...oldest, NEWEST])].sort(semver.compare)
  await project(
    folder,
    versions.map((version) => `node-${version}@npm:node@${version}`),
  )
  const nodes = versions.map((version) => ({ version, path: join(folder, `node_modules/node-${version}/bin/node`) }))
  for (const { path, version } of nodes) {
    const said = (await output(path, ['--version'])).trim()
    if (said !== `v${version}`) throw new Error(`${path} is ${said}, not v${version}`)
  }
  return nodes
}

export const nodesFor = (nodes: readonly Node[], { engines }: Manifest): readonly Node[] =>
  nodes.filter(({ version }) => semver.satisfies(version, engines.node))
