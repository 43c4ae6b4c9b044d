/** A page for each example: its source. */

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineRoutes } from 'vitepress'

const root = join(import.meta.dirname, '../..')
const files = [...globSync('examples/**/*.ts', { cwd: root, exclude: ['**/node_modules/**'] }), 'compose.yaml'].sort()

export default defineRoutes({
  watch: ['../../examples/**/*.ts'],
  paths: () =>
    files.map((file) => ({
      params: { example: file.replace(/^examples\//, '').replace(/\.\w+$/, ''), file },
      content: page(file, readFileSync(join(root, file), 'utf8')),
    })),
})

/** What a file says of itself on top stands above its code. */
function page(file: string, source: string): string {
  const [top = ''] = source.match(/^(\/\/ .*\n)+/) ?? []
  const about = top.replaceAll(/^\/\/ /gm, '')
  return `${about}\n\`\`\`${file.endsWith('.ts') ? 'ts' : 'yaml'}\n${source.slice(top.length).trimStart()}\`\`\`\n`
}
