/** Core as its user gets it: JavaScript, in one file or file by file. */

import { fileURLToPath } from 'node:url'
import { build, type Rollup } from 'vite'

const CORE = fileURLToPath(new URL('../../../../packages/core/src/index.ts', import.meta.url))

export interface BuildOptions {
  readonly minify?: boolean
  readonly preserveModules?: boolean
}

/** The modules of core's main entry; `@opentelemetry/api` is left to whoever imports it. */
export async function builtCore({
  minify = false,
  preserveModules = false,
}: BuildOptions = {}): Promise<readonly Rollup.OutputChunk[]> {
  const outputs = await build({
    configFile: false,
    logLevel: 'error',
    build: {
      write: false,
      minify,
      target: 'es2022',
      modulePreload: false,
      rollupOptions: {
        input: CORE,
        preserveEntrySignatures: 'strict',
        external: [/^@opentelemetry\//, /^node:/],
        output: { format: 'es', preserveModules, entryFileNames: '[name].js' },
      },
    },
  })
  const [output] = Array.isArray(outputs) ? outputs : [outputs]
  return output && 'output' in output ? output.output.filter((one) => one.type === 'chunk') : []
}
