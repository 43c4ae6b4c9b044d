/** The sources of core, and their types. */

import { globSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

/** Every TypeScript file in a folder and its subfolders, without tests. */
export function sourcesIn(folder: string): readonly string[] {
  const files = globSync('**/*.ts', { cwd: folder }).filter((file) => !/\.test(-d)?\.ts$/.test(file))
  if (files.length === 0) throw new Error(`${folder} has no sources`)
  return files.map((file) => join(folder, file)).sort()
}

/** The declarations of the language and of Node, which are the same in all programs. */
const declarations = new Map<string, ts.SourceFile | undefined>()

/** A TypeScript program of these files, with the settings of this repository. */
export function programOf(files: readonly string[]): ts.Program {
  const { config } = ts.readConfigFile('tsconfig.base.json', ts.sys.readFile)
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, '.')
  const host = ts.createCompilerHost(options)
  const getSourceFile: typeof host.getSourceFile = (file, ...rest) => {
    if (!file.endsWith('.d.ts')) return host.getSourceFile(file, ...rest)
    if (!declarations.has(file)) declarations.set(file, host.getSourceFile(file, ...rest))
    return declarations.get(file)
  }
  return ts.createProgram(files, { ...options, noEmit: true }, { ...host, getSourceFile })
}
