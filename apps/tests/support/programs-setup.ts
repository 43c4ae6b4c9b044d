/** Before all tests: builds the programs that they start. */

import { globSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { TestProject } from 'vitest/node'
import { buildPrograms, folderOfPrograms } from './build-programs.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The sources of the programs, as patterns. A configuration provides them. */
    readonly sources: readonly string[]
    /** The built programs, by the paths of their sources. */
    readonly programs: Readonly<Record<string, string>>
  }
}

export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const folder = folderOfPrograms()
  const sources = globSync(project.getProvidedContext().sources).map((file) => resolve(file))
  const remove = () => rm(folder, { recursive: true })
  try {
    project.provide('programs', await buildPrograms(sources, folder))
  } catch (error) {
    await remove()
    throw error
  }
  return remove
}
