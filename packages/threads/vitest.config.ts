import { configDefaults, defineProject } from 'vitest/config'

export default defineProject({
  resolve: { conditions: ['@meanwhile/source'] },
  ssr: { resolve: { conditions: ['@meanwhile/source', 'module', 'node', 'development|production'] } },
  test: {
    name: 'threads',
    include: ['src/**/*.test.ts'],
    exclude: [...configDefaults.exclude, 'src/**/*.durable.test.ts'],
    environment: 'node',
    // A file leaves nothing behind, so the next one need not load every module again.
    isolate: false,
    // On a busy machine a test may take long.
    testTimeout: 20_000,
  },
})
