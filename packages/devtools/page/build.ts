/** Builds the page: one script, one style sheet. */

import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { rolldown } from 'rolldown'

const HERE = import.meta.dirname

export const PAGE: string = join(HERE, '../dist/page')

export async function buildPage(into: string = PAGE): Promise<void> {
  await mkdir(into, { recursive: true })
  const bundle = await rolldown({
    input: join(HERE, 'main.tsx'),
    resolve: { conditionNames: ['@meanwhile/source', 'import', 'default'] },
    transform: { target: 'es2022' },
    platform: 'browser',
  })
  try {
    await bundle.write({ file: join(into, 'page.js'), format: 'esm', minify: true })
  } finally {
    await bundle.close()
  }
  const sheets = await Promise.all(['../src/family.css', 'page.css'].map((name) => readFile(join(HERE, name), 'utf8')))
  await writeFile(
    join(into, 'page.css'),
    sheets
      .join('\n')
      .replace(/\/\*.*?\*\//gs, '')
      .replace(/\s*\n\s*/g, '\n')
      .trim(),
  )
  for (const name of ['index.html', 'icon.svg']) await copyFile(join(HERE, name), join(into, name))
}

if (resolve(process.argv[1] ?? '') === import.meta.filename) await buildPage()
