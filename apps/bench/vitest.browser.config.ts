import { defineConfig } from 'vitest/config'

/** What is looked at in a real browser: apart from the other tests, as not every machine has one. */
export default defineConfig({
  root: import.meta.dirname,
  test: {
    name: 'browser',
    include: ['src/**/*.browser.test.ts'],
    environment: 'node',
    testTimeout: 60_000,
    // A bench is run, and has to wait while its tools do.
    hookTimeout: 240_000,
  },
})
