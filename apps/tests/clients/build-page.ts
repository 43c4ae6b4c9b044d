/** Builds the page of a client, in memory. */

import { join } from 'node:path'
import { build, defaultClientConditions, type Rolldown } from 'vite'

/** Returns the files by their paths: an HTML file, and its scripts. */
export async function buildPage(client: string): Promise<ReadonlyMap<string, string | Uint8Array>> {
  const pages = new Map<string, string | Uint8Array>()
  pages.set(
    client,
    `<!doctype html><meta charset="utf-8"><title>${client}</title><body><script type="module" src="/${client}.js"></script>`,
  )
  const built = await build({
    root: join(import.meta.dirname, 'pages'),
    configFile: false,
    // Rolldown warns about each `use client`.
    logLevel: 'error',
    resolve: { conditions: ['@meanwhile/source', ...defaultClientConditions], dedupe: ['react', 'react-dom'] },
    define: { __VUE_OPTIONS_API__: 'true', __VUE_PROD_DEVTOOLS__: 'false' },
    build: {
      write: false,
      target: 'es2022',
      rollupOptions: {
        input: join(import.meta.dirname, 'pages', client),
        output: { entryFileNames: '[name].js', chunkFileNames: `${client}-[name]-[hash].js` },
      },
    },
  })
  for (const { output } of [built].flat() as Rolldown.RolldownOutput[])
    for (const file of output)
      if (file.type === 'chunk') pages.set(file.isEntry ? `${client}.js` : file.fileName, file.code)
  return pages
}
