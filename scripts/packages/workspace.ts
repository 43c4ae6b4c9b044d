/** Reads the manifests of this repository's packages, and packs them into tarballs. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { command } from './step.ts'

export interface Manifest {
  readonly name: string
  readonly engines: { readonly node: string }
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  readonly peerDependencies: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

export interface Packed {
  readonly manifest: Manifest
  /** The import specifiers, such as `@meanwhile/core/testing`. */
  readonly entries: readonly string[]
  readonly tarball: string
}

/** Packs the packages into a folder, and checks each tarball for known mistakes. */
export async function packAll(into: string): Promise<readonly Packed[]> {
  const folders = readdirSync('packages').map((name) => `./packages/${name}`)
  const printed = await command('pack all', 'npm', ['pack', '--json', '--pack-destination', into, ...folders])
  if (printed === undefined) return []
  const packed = JSON.parse(printed) as readonly { readonly name: string; readonly filename: string }[]
  const manifests = folders.map((folder) => JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')) as Manifest)
  return await Promise.all(
    packed.map(({ name, filename }) => {
      const manifest = manifests.find((one) => one.name === name)
      if (!manifest) throw new Error(`npm has packed ${name}, which no manifest in packages/ names`)
      return checkPacked(manifest, join(into, filename))
    }),
  )
}

async function checkPacked(manifest: Manifest, tarball: string): Promise<Packed> {
  const { name } = manifest
  await command(`${name}: publint`, tool('publint'), ['run', tarball, '--strict'])
  const paths = Object.keys(manifest.exports)
  const sheets = paths.filter((path) => path.endsWith('.css'))
  const untyped = sheets.length > 0 ? ['--exclude-entrypoints', ...sheets] : []
  await command(`${name}: are the types wrong?`, tool('attw'), [tarball, '--profile', 'esm-only', ...untyped])
  const doors = paths.filter((path) => path !== './package.json' && !sheets.includes(path))
  return { manifest, tarball, entries: doors.map((path) => name + path.slice(1)) }
}

const tool = (name: string): string => join(import.meta.dirname, 'node_modules/.bin', name)
