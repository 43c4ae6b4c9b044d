import { defineProject } from 'vitest/config'

export default defineProject({
  resolve: { conditions: ['@meanwhile/source'] },
  ssr: { resolve: { conditions: ['@meanwhile/source', 'module', 'node', 'development|production'] } },
  test: {
    name: 'middleware',
    include: ['src/**/*.test.ts'],
    environment: 'node',
    // Test files leave no global state, so modules need not be loaded again for each.
    isolate: false,
    // On a busy machine a test may take long, which is not a failure.
    testTimeout: 20_000,
  },
})
