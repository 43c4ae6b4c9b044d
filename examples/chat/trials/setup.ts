/** Before all trials: builds the page and the servers, and starts a browser. All trials share them. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'vite'
import type { TestProject } from 'vitest/node'
import { launchBrowser } from './browser.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of the page. */
    readonly page: string
    /** The folder of the servers. */
    readonly servers: string
    /** Where the browser can be reached. */
    readonly browser: string
  }
}

const ROOT = join(import.meta.dirname, '..')

export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-chat-trials-'))
  const [page, servers] = [join(folder, 'page'), join(folder, 'servers')]
  await build({ root: ROOT, logLevel: 'warn', build: { outDir: page, emptyOutDir: true } })
  await buildServers(servers)
  const browser = await launchBrowser()
  project.provide('page', page)
  project.provide('servers', servers)
  project.provide('browser', browser.wsEndpoint())
  return async () => {
    await browser.close()
    await rm(folder, { recursive: true })
  }
}

/** Servers are started some fifteen times: from one file that takes a quarter of the time that it takes from all sources. */
async function buildServers(outDir: string): Promise<void> {
  const input = ['trials/serve.ts', 'cluster/api.ts', 'cluster/worker.ts'].map((file) => join(ROOT, file))
  await build({
    configFile: false,
    root: ROOT,
    logLevel: 'warn',
    ssr: {
      noExternal: true,
      external: ['pg-native'],
      resolve: { conditions: ['@meanwhile/source', 'module', 'node'] },
    },
    build: {
      ssr: true,
      outDir,
      emptyOutDir: true,
      rolldownOptions: { input, output: { entryFileNames: '[name].mjs', chunkFileNames: '[name].mjs' } },
    },
  })
}
