// Checks the files that a project names, and not the sources that they import: node scripts/user-types/check-files.ts COMPILER TSCONFIG
// It prints what `tsc` would, in half the time. A project with the sources takes most of its time for these.
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import type TypeScript from 'typescript'

const [, , compiler = '', file = ''] = process.argv
const ts = createRequire(import.meta.url)(compiler) as typeof TypeScript

const { config, error } = ts.readConfigFile(file, ts.sys.readFile)
const { fileNames, options, errors } = ts.parseJsonConfigFileContent(config, ts.sys, dirname(file))
const program = ts.createProgram(fileNames, options)
const found = [
  ...(error ? [error] : []),
  ...errors,
  ...program.getOptionsDiagnostics(),
  ...program.getGlobalDiagnostics(),
  ...fileNames
    .map((name) => program.getSourceFile(name))
    .flatMap((source) => [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)]),
]
const host = {
  getCurrentDirectory: () => ts.sys.getCurrentDirectory(),
  getCanonicalFileName: (name: string) => name,
  getNewLine: () => '\n',
}
process.stdout.write(ts.formatDiagnostics(found, host))
process.exitCode = found.length > 0 ? 2 : 0
