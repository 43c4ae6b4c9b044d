// Checks the files that a project names and the declarations of our installed packages, and nothing else that they import, such as our sources
// or the declarations of libraries: node scripts/user-types/check-files.ts COMPILER TSCONFIG
// It prints what `tsc` would, in half the time or less: the rest takes most of it.
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import type TypeScript from 'typescript'

const [, , compiler = '', file = ''] = process.argv
const ts = createRequire(import.meta.url)(compiler) as typeof TypeScript

const { config, error } = ts.readConfigFile(file, ts.sys.readFile)
const { fileNames, options, errors } = ts.parseJsonConfigFileContent(config, ts.sys, dirname(file))
const program = ts.createProgram(fileNames, options)
const names = new Set(fileNames.map((name) => ts.sys.resolvePath(name)))
const isChecked = (file: TypeScript.SourceFile): boolean =>
  names.has(ts.sys.resolvePath(file.fileName)) || file.fileName.includes('/node_modules/@meanwhile/')
const found = [
  ...(error ? [error] : []),
  ...errors,
  ...program.getOptionsDiagnostics(),
  ...program.getGlobalDiagnostics(),
  ...program
    .getSourceFiles()
    .filter(isChecked)
    .flatMap((source) => [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)]),
]
const host = {
  getCurrentDirectory: () => ts.sys.getCurrentDirectory(),
  getCanonicalFileName: (name: string) => name,
  getNewLine: () => '\n',
}
process.stdout.write(ts.formatDiagnostics(found, host))
process.exitCode = found.length > 0 ? 2 : 0
