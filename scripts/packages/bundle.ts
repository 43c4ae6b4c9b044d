/** Bundles and minifies a program of one line for browsers. */

import { writeFile } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { type RolldownOutput, rolldown } from 'rolldown'

export type Chunk = RolldownOutput['output'][0]

/** Gzipped, in kB of 1,000 bytes, to a tenth. */
export const kilobytes = ({ code }: Chunk): number => Math.round(gzipSync(code, { level: 9 }).length / 100) / 10

/** Writes the program into the folder from which its imports are resolved. External modules stay imports. */
export async function bundled(source: string, folder: string, external: (id: string) => boolean): Promise<Chunk> {
  const input = join(folder, 'program.js')
  await writeFile(input, source)
  const build = await rolldown({
    input,
    platform: 'browser',
    logLevel: 'silent',
    external: (id) => !id.startsWith('.') && !isAbsolute(id) && external(id),
    treeshake: { moduleSideEffects: (_, isExternal) => (isExternal ? false : undefined) },
  })
  try {
    return (await build.generate({ minify: true })).output[0]
  } finally {
    await build.close()
  }
}
