/** Tries one row, with the packages of its folder; they must be installed. */

import { fileURLToPath } from 'node:url'
import { versionsOf } from '../peers/install.ts'
import type { Trial, Tried } from './row.ts'

/** The folder of a trial. */
export function folderOf({ folder }: Trial): URL {
  return new URL(`../../proved/${folder}/`, import.meta.url)
}

export async function tryRow(trial: Trial): Promise<Tried> {
  const folder = folderOf(trial)
  const { load } = (await import(new URL('load.ts', folder).href)) as typeof import('../../proved/libraries/load.ts')
  const versions = await versionsOf(trial.packages, fileURLToPath(folder))
  return { versions, outcome: { theirs: await trial.theirs(load), ours: await trial.ours() } }
}
