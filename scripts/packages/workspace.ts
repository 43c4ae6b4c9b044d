/** Reads the manifests of this repository's packages, and packs them into tarballs. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { command } from './step.ts'

export interface Manifest {
  readonly name: string
  readonly engines: { readonly node: string }
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

export interface Packed {
  readonly manifest: Manifest
  /** The import specifiers, such as `@meanwhile/core/calls`. */
  readonly entries: readonly string[]
  readonly tarball: string
}

/** Packs the packages into a folder. */
export async function packAll(into: string): Promise<readonly Packed[]> {
  const folders = readdirSync('packages').map((name) => `./packages/${name}`)
  const printed = await command('pack all', 'npm', ['pack', '--json', '--pack-destination', into, ...folders])
  if (printed === undefined) return []
  const packed = JSON.parse(printed) as readonly { readonly name: string; readonly filename: string }[]
  const manifests = folders.map((folder) => JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')) as Manifest)
  return packed.map(({ name, filename }) => {
    const manifest = manifests.find((one) => one.name === name)
    if (!manifest) throw new Error(`npm has packed ${name}, which no manifest in packages/ names`)
    const doors = Object.keys(manifest.exports).filter((path) => path !== './package.json' && !path.endsWith('.css'))
    return { manifest, tarball: join(into, filename), entries: doors.map((path) => name + path.slice(1)) }
  })
}
