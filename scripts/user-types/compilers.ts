/** The TypeScript compilers of users. */

import { createRequire } from 'node:module'
import { join } from 'node:path'

const require = createRequire(import.meta.url)

/** The path of each compiler, by version: the oldest supported one, and those of this repository. TypeScript 7 is a program, the others are modules. */
export const COMPILERS = {
  '5.9.3': join(import.meta.dirname, '../packages/node_modules/typescript'),
  // The package that is installed as `typescript` contains only a name for this one.
  '6.0.3': createRequire(require.resolve('typescript/package.json')).resolve('@typescript/old'),
  '7.0.2': join(require.resolve('@typescript/native/package.json'), '../bin/tsc'),
} as const

export type Version = keyof typeof COMPILERS
