/**
 * Makes a project from a part of another one: some of its packages and all that these need, as npm would install them by themselves. Only the
 * versions may be older than npm would take, where the whole project needs an older one.
 */

import { linkSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** What npm notes about an installed package. */
interface Installed {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

/** By its place, such as `node_modules/msw/node_modules/cookie`. */
type Places = Readonly<Record<string, Installed>>

/** The files are hard links: a link to a folder would lead Node back into the whole project, where it finds every package. */
export function partOf(whole: string, names: readonly string[], folder: string): string {
  const lock = JSON.parse(readFileSync(join(whole, 'node_modules/.package-lock.json'), 'utf8')) as { packages: Places }
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n')
  for (const place of placesOf(names, lock.packages)) link(join(whole, place), join(folder, place))
  return folder
}

function placesOf(names: readonly string[], places: Places): ReadonlySet<string> {
  const found = new Set<string>()
  const add = (name: string, from: string): void => {
    const place = placeOf(name, from, places)
    // An optional dependency, such as the program for another machine.
    if (place === undefined || found.has(place)) return
    found.add(place)
    for (const needed of neededBy(places[place] ?? {})) add(needed, place)
  }
  for (const name of names) {
    if (!places[`node_modules/${name}`]) throw new Error(`${name} is not installed`)
    add(name, '')
  }
  return found
}

/** The place in which Node finds the package: the next `node_modules` upwards that has it. */
function placeOf(name: string, from: string, places: Places): string | undefined {
  const place = join(from, 'node_modules', name)
  if (places[place]) return place
  return from === '' ? undefined : placeOf(name, from.slice(0, Math.max(0, from.lastIndexOf('/node_modules/'))), places)
}

function neededBy({ dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta }: Installed) {
  const peers = Object.keys(peerDependencies ?? {}).filter((peer) => !peerDependenciesMeta?.[peer]?.optional)
  return [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers]
}

/** Without the packages inside it, each of which has its own place. */
function link(from: string, to: string): void {
  mkdirSync(to, { recursive: true })
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    if (entry.name === 'node_modules') continue
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) link(source, target)
    else linkSync(source, target)
  }
}
