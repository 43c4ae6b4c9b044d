/** Tries one row, with the packages of its folder; they must be installed. */

import { fileURLToPath } from 'node:url'
import { load as fromLibraries } from '../../proved/libraries/load.ts'
import { load as fromLibreChat } from '../../proved/librechat/load.ts'
import type { Load } from '../peers/driver.ts'
import { versionsOf } from '../peers/install.ts'
import type { Trial, Tried } from './row.ts'

/** A package is imported by a file of the folder in which it is installed. */
const LOADS: Readonly<Record<Trial['folder'], Load>> = { libraries: fromLibraries, librechat: fromLibreChat }

export async function tryRow({ folder, packages, theirs, ours }: Trial): Promise<Tried> {
  const versions = await versionsOf(packages, fileURLToPath(new URL(`../../proved/${folder}`, import.meta.url)))
  return { versions, outcome: { theirs: await theirs(LOADS[folder]), ours: await ours() } }
}
