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

/** Packs each package into a folder, and checks each tarball for known mistakes. */
export async function packAll(into: string): Promise<readonly Packed[]> {
  const packed = await Promise.all(readdirSync('packages').map((name) => pack(join('packages', name), into)))
  return packed.filter((one) => one !== undefined)
}

async function pack(folder: string, into: string): Promise<Packed | undefined> {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
  const { name } = manifest
  const printed = await command(`${name}: pack`, 'npm', ['pack', '--json', '--pack-destination', into, `./${folder}`])
  if (printed === undefined) return undefined
  const [{ filename }] = JSON.parse(printed) as [{ filename: string }]
  const tarball = join(into, filename)
  await command(`${name}: publint`, tool('publint'), ['run', tarball, '--strict'])
  const paths = Object.keys(manifest.exports)
  const sheets = paths.filter((path) => path.endsWith('.css'))
  const untyped = sheets.length > 0 ? ['--exclude-entrypoints', ...sheets] : []
  await command(`${name}: are the types wrong?`, tool('attw'), [tarball, '--profile', 'esm-only', ...untyped])
  const doors = paths.filter((path) => path !== './package.json' && !sheets.includes(path))
  return { manifest, tarball, entries: doors.map((path) => name + path.slice(1)) }
}

const tool = (name: string): string => join(import.meta.dirname, 'node_modules/.bin', name)
