import { defineProject } from 'vitest/config'

export default defineProject({
  resolve: { conditions: ['@meanwhile/source'] },
  ssr: { resolve: { conditions: ['@meanwhile/source', 'module', 'node', 'development|production'] } },
  test: {
    name: 'harness',
    include: ['src/**/*.test.ts'],
    environment: 'node',
    // On a busy machine a test may take long, which is not a failure.
    testTimeout: 20_000,
  },
})
