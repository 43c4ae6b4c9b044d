/** The sources of core, and their types. */

import { globSync } from 'node:fs'
import { join, sep } from 'node:path'
import ts from 'typescript'

/** Every TypeScript file in a folder and its subfolders, without tests. */
export function sourcesIn(folder: string): readonly string[] {
  const files = globSync('**/*.ts', { cwd: folder }).filter((file) => !/\.test(-d)?\.ts$/.test(file))
  if (files.length === 0) throw new Error(`${folder} has no sources`)
  return files.map((file) => join(folder, file)).sort()
}

/** Whether the file belongs to `testing/`, which is for users' tests and not part of a run. */
export const isForTesting = (file: string): boolean => file.split(sep).includes('testing')

/** A TypeScript program of these files, with the settings of this repository. */
export function programOf(files: readonly string[]): ts.Program {
  const { config } = ts.readConfigFile('tsconfig.base.json', ts.sys.readFile)
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, '.')
  return ts.createProgram(files, { ...options, noEmit: true })
}
