import { defineConfig } from 'vitest/config'

/** The tests in a real browser: separate from the others, because not every machine has one. */
export default defineConfig({
  resolve: { conditions: ['@meanwhile/source'] },
  ssr: { resolve: { conditions: ['@meanwhile/source', 'module', 'node', 'development|production'] } },
  root: import.meta.dirname,
  test: {
    name: 'browser',
    include: ['src/**/*.browser.test.ts'],
    environment: 'node',
    // Both files at once: one waits for a benchmark, the other for a page.
    maxWorkers: 2,
    // A page may take its time on a busy machine.
    testTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
    // A benchmark runs, and has to wait for its tools.
    hookTimeout: 900_000,
  },
})
