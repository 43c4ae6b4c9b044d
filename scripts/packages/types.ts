/** The declarations, as a user's compiler reads them: strictly, and none skipped. */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { output } from './step.ts'

/** Of modules there are two readings: that of Node, and that of bundlers. */
const READINGS = {
  nodenext: { module: 'nodenext', moduleResolution: 'nodenext' },
  bundler: { module: 'esnext', moduleResolution: 'bundler' },
}

/** Declarations that only type-check with the types of a browser: msw's, which the harness's name. */
const NEEDS_DOM = ['@meanwhile/harness']

export async function checkTypes(name: string, entries: readonly string[], tsc: string, folder: string): Promise<void> {
  const imports = entries.map((entry, n) => `import * as entry${n} from '${entry}'`)
  const uses = entries.map((_, n) => `entry${n}`).join(', ')
  await writeFile(join(folder, 'consumer.ts'), `${imports.join('\n')}\nexport default [${uses}]\n`)
  const lib = NEEDS_DOM.includes(name) ? ['es2023', 'dom', 'dom.iterable'] : ['es2023']
  for (const [reading, modules] of Object.entries(READINGS)) {
    const compilerOptions = {
      ...modules,
      strict: true,
      exactOptionalPropertyTypes: true,
      target: 'es2022',
      lib,
      noEmit: true,
      types: ['node'],
    }
    const file = `tsconfig.${reading}.json`
    await writeFile(join(folder, file), JSON.stringify({ compilerOptions, files: ['consumer.ts'] }))
    await output(process.execPath, [tsc, '-p', file], folder)
  }
}
