/** The journal that the servers of `shop-server.ts` write. */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** What the handlers of all servers with this folder did, and in how many processes. */
export function didIn(folder: string): { readonly what: readonly string[]; readonly processes: number } {
  const path = join(folder, 'journal')
  const lines = existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : []
  const all = lines.map((line) => JSON.parse(line) as { readonly what: string; readonly pid: number })
  return { what: all.map(({ what }) => what), processes: new Set(all.map(({ pid }) => pid)).size }
}
