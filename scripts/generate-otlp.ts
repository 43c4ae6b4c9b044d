/**
 * Generates the code of OTLP's protobuf messages: `npm run otlp:generate`. The generator is installed when this runs for
 * the first time.
 */

import { execFileSync } from 'node:child_process'
import { join, relative, resolve } from 'node:path'
import { installTools } from './install-tools.ts'

const PROTO = join(import.meta.dirname, '../packages/harness/proto')
export const GENERATED: string = join(import.meta.dirname, '../packages/harness/src/otlp-gen')

/** Writes the code into a folder. */
export function generateOtlp(into: string): void {
  installTools(PROTO)
  const plugins = [
    { local: 'protoc-gen-es', out: relative(PROTO, into), opt: ['target=js+dts', 'import_extension=js'] },
  ]
  const template = JSON.stringify({ version: 'v2', inputs: [{ directory: '.' }], plugins })
  const bin = join(PROTO, 'node_modules/.bin')
  execFileSync(join(bin, 'buf'), ['generate', '--template', template], {
    cwd: PROTO,
    env: { ...process.env, PATH: `${bin}:${process.env.PATH}`, BUF_CACHE_DIR: join(PROTO, 'node_modules/.cache') },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
}

if (resolve(process.argv[1] ?? '') === import.meta.filename) generateOtlp(GENERATED)
