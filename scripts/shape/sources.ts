/** The sources of core, and what TypeScript knows of them. */

import { globSync } from 'node:fs'
import { join, sep } from 'node:path'
import ts from 'typescript'

/** Every TypeScript file in a folder and below it that is no test. */
export function sourcesIn(folder: string): readonly string[] {
  const files = globSync('**/*.ts', { cwd: folder }).filter((file) => !/\.test(-d)?\.ts$/.test(file))
  if (files.length === 0) throw new Error(`there are no sources in ${folder}`)
  return files.map((file) => join(folder, file)).sort()
}

/** Whether it is a part of `testing/`, which users have for their tests, and which no run needs. */
export const isForTesting = (file: string): boolean => file.split(sep).includes('testing')

/** The types of these files, with the settings of this repository. */
export function programOf(files: readonly string[]): ts.Program {
  const { config } = ts.readConfigFile('tsconfig.base.json', ts.sys.readFile)
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, '.')
  return ts.createProgram(files, { ...options, noEmit: true })
}
