/** Finds the built core in a folder of the user. */

import { access, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { UsageError } from '../../usage-error.ts'

export interface OlderCore {
  /** The folder of its `package.json`. */
  readonly folder: string
  readonly version: string
  /** The file that applications import. */
  readonly index: string
}

/** The package itself, a checkout, an installation, and the output of `npm pack`. */
const PLACES = ['.', 'packages/core', 'node_modules/@meanwhile/core', 'package']

const MANIFEST = z.object({
  name: z.literal('@meanwhile/core'),
  version: z.string(),
  exports: z.object({ '.': z.object({ default: z.string() }) }),
})

/** @throws {UsageError} The core is missing or not built. */
export async function findOlderCore(folder: string): Promise<OlderCore> {
  for (const place of PLACES) {
    const here = resolve(folder, place)
    const text = await readFile(join(here, 'package.json'), 'utf8').catch(() => undefined)
    const manifest = text === undefined ? undefined : MANIFEST.safeParse(parsed(text)).data
    if (!manifest) continue
    const index = join(here, manifest.exports['.'].default)
    const isBuilt = await access(index).then(
      () => true,
      () => false,
    )
    if (!isBuilt) throw new UsageError(`the core in ${here} is not built: ${index} is missing (npm run build makes it)`)
    return { folder: here, version: manifest.version, index }
  }
  throw new UsageError(
    `${folder} has no @meanwhile/core: name a checkout of this repository, its packages/core, or a folder with the package installed`,
  )
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
