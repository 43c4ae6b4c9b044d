import { defineProject } from 'vitest/config'

export default defineProject({
  resolve: { conditions: ['@meanwhile/source'] },
  ssr: { resolve: { conditions: ['@meanwhile/source', 'module', 'node', 'development|production'] } },
  test: {
    name: 'ui',
    include: ['src/**/*.test.ts'],
    environment: 'node',
    // A file leaves no state behind, so the next one need not load everything again.
    isolate: false,
    // On a busy machine a test may take longer without being wrong.
    testTimeout: 20_000,
  },
})
