/** Builds the pages of the clients, in memory. */

import { join } from 'node:path'
import { build, defaultClientConditions, type Rolldown } from 'vite'

/** Returns the files by their paths: an HTML file for each client, and its script. */
export async function buildPages(clients: readonly string[]): Promise<ReadonlyMap<string, string | Uint8Array>> {
  const pages = new Map<string, string | Uint8Array>()
  for (const client of clients) {
    pages.set(
      client,
      `<!doctype html><meta charset="utf-8"><title>${client}</title><body><script type="module" src="/${client}.js"></script>`,
    )
    const built = await build({
      root: join(import.meta.dirname, 'pages'),
      configFile: false,
      logLevel: 'warn',
      resolve: { conditions: ['@meanwhile/source', ...defaultClientConditions] },
      define: { __VUE_OPTIONS_API__: 'true', __VUE_PROD_DEVTOOLS__: 'false' },
      build: {
        write: false,
        target: 'es2022',
        rollupOptions: { input: join(import.meta.dirname, 'pages', client), output: { entryFileNames: '[name].js' } },
      },
    })
    for (const { output } of [built].flat() as Rolldown.RolldownOutput[])
      for (const file of output)
        if (file.type === 'chunk') pages.set(file.isEntry ? `${client}.js` : file.fileName, file.code)
  }
  return pages
}
