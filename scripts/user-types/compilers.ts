/** The TypeScript compilers of users. */

import { createRequire } from 'node:module'
import { join } from 'node:path'

const require = createRequire(import.meta.url)

const bin = (manifest: string) => join(manifest, '../bin/tsc')

/** The path of each compiler, by version: the oldest supported one, and those of this repository. */
export const COMPILERS = {
  '5.9.3': join(import.meta.dirname, '../packages/node_modules/typescript/bin/tsc'),
  // The package that is installed as `typescript` contains only a name for this one.
  '6.0.3': bin(createRequire(require.resolve('typescript/package.json')).resolve('@typescript/old/package.json')),
  '7.0.2': bin(require.resolve('@typescript/native/package.json')),
} as const

export type Version = keyof typeof COMPILERS
