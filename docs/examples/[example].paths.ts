/** A page for each example: its source. */

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineRoutes } from 'vitepress'

const root = join(import.meta.dirname, '../..')
const files = [
  ...globSync('examples/**/*.{ts,tsx}', { cwd: root, exclude: ['**/node_modules/**'] }),
  'compose.yaml',
].sort()

export default defineRoutes({
  watch: ['../../examples/**/*.{ts,tsx}'],
  paths: () =>
    files.map((file) => ({
      params: { example: file.replace(/^examples\//, '').replace(/\.\w+$/, ''), file },
      content: page(file, readFileSync(join(root, file), 'utf8')),
    })),
})

/** The comment at the top of a file is shown above its code. */
function page(file: string, source: string): string {
  const [top = ''] = source.match(/^(\/\/ .*\n)+/) ?? []
  const about = top.replaceAll(/^\/\/ /gm, '')
  return `${about}\n\`\`\`${file.match(/tsx?$/)?.[0] ?? 'yaml'}\n${source.slice(top.length).trimStart()}\`\`\`\n`
}
