/** Before all trials: builds the page and starts a browser, which they share. */

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
    /** Where the browser can be reached. */
    readonly browser: string
  }
}

export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const page = await mkdtemp(join(tmpdir(), 'meanwhile-chat-page-'))
  await build({ root: join(import.meta.dirname, '..'), logLevel: 'warn', build: { outDir: page, emptyOutDir: true } })
  const browser = await launchBrowser()
  project.provide('page', page)
  project.provide('browser', browser.wsEndpoint())
  return async () => {
    await browser.close()
    await rm(page, { recursive: true })
  }
}
