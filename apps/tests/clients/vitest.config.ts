import { defineConfig } from 'vitest/config'
import { sources, testTimeout } from '../../../vitest.config.ts'

/** What the clients that people use do with a chat, in a real browser. */
export default defineConfig({
  root: import.meta.dirname,
  resolve: { ...sources.resolve },
  ssr: sources.ssr,
  test: {
    name: 'clients',
    include: ['*.browser.test.ts'],
    environment: 'node',
    testTimeout,
    hookTimeout: 2 * testTimeout,
  },
})
