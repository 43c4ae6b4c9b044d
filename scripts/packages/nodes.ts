/** The Node versions that packages are tested on: the oldest that they support, and the one of this repository. */

import { join } from 'node:path'
import { project } from './project.ts'
import { output } from './step.ts'
import type { Manifest } from './workspace.ts'

export interface Node {
  readonly version: string
  readonly path: string
}

/** Installs the oldest supported version into a folder: the npm package `node` has the program for this machine. */
export async function installNodes(folder: string, manifests: readonly Manifest[]): Promise<readonly Node[]> {
  const ranges = [...new Set(manifests.map(({ engines }) => engines.node))]
  const [range] = ranges
  if (!range || ranges.length > 1) throw new Error(`the packages support different Nodes: ${ranges.join(', ')}`)
  const [, minor] = /^>=(\d+\.\d+)$/.exec(range) ?? []
  if (!minor) throw new Error(`the packages support Node ${range}, which is not of the form >=22.15`)
  const oldest = `${minor}.0`
  await project(folder, [`node@${oldest}`])
  const nodes = [
    { version: oldest, path: join(folder, 'node_modules/node/bin/node') },
    { version: process.versions.node, path: process.execPath },
  ]
  for (const { path, version } of nodes) {
    const said = (await output(path, ['--version'])).trim()
    if (said !== `v${version}`) throw new Error(`${path} is ${said}, not v${version}`)
  }
  return nodes
}
