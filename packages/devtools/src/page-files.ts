/** The files of the page, which the build writes into `dist/page`. */

import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

export interface PageFile {
  readonly type: string
  readonly bytes: Uint8Array
}

// The same folder for this source and for the file that it becomes part of.
const FOLDER = fileURLToPath(new URL('../dist/page/', import.meta.url))

const FILES = {
  'index.html': 'text/html; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'page.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
} as const

/** By path. Rejects if the page was not built. */
export async function pageFiles(folder: string = FOLDER): Promise<ReadonlyMap<string, PageFile>> {
  const files = await Promise.all(
    Object.entries(FILES).map(async ([name, type]) => {
      const bytes = await readFile(`${folder}/${name}`)
      return [`/${name}`, { type, bytes }] as const
    }),
  )
  return new Map(files)
}
