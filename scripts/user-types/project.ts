/** Projects as users have them, which import the sources of this repository. */

import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { COMPILERS, type Version } from './compilers.ts'
import { run } from './run.ts'

/** What differs between the projects of users. */
export interface Settings {
  readonly version: Version
  /** `exact`: with `exactOptionalPropertyTypes` and `noUncheckedIndexedAccess`, too. */
  readonly strict: 'strict' | 'exact'
  readonly resolution: 'nodenext' | 'bundler'
  /** Whose types the project has, in addition to those of the language. */
  readonly types: 'node' | 'dom' | 'both'
}

/** Inside `node_modules`, where imports find the packages, and which git and other checks ignore. */
const FOLDER = resolve('node_modules/.user-types')

/** Compiles these files in a project with these settings, and returns what the compiler says of them. It may also say something of other files. */
export async function compiled(settings: Settings, files: readonly string[]): Promise<string> {
  const { version, strict, resolution, types } = settings
  const isNode = types !== 'dom'
  const compilerOptions = {
    strict: true,
    ...(strict === 'exact' && { exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true }),
    module: resolution === 'bundler' ? 'esnext' : 'nodenext',
    moduleResolution: resolution,
    target: 'es2023',
    lib: ['es2023', 'es2024.string', ...(types === 'node' ? [] : ['dom', 'dom.iterable', 'dom.asynciterable'])],
    types: isNode ? ['node'] : [],
    skipLibCheck: true,
    noEmit: true,
    customConditions: ['@meanwhile/source'],
    allowImportingTsExtensions: true,
  }
  await mkdir(FOLDER, { recursive: true })
  const config = join(FOLDER, `tsconfig.${version}.${strict}.${resolution}.${types}.json`)
  await writeFile(config, JSON.stringify({ compilerOptions, files }))
  // Each of TypeScript 7's checkers finds out the types of the libraries for itself.
  if (version === '7.0.2')
    return run(process.execPath, [COMPILERS[version], '-p', config, '--pretty', 'false', '--checkers', '1'])
  return run(process.execPath, [join(import.meta.dirname, 'check-files.ts'), COMPILERS[version], config])
}

/** Writes a file of a user, and returns its path. */
export async function written(name: string, text: string): Promise<string> {
  await mkdir(FOLDER, { recursive: true })
  const file = join(FOLDER, name)
  await writeFile(file, text)
  return file
}
