import { configDefaults, defineProject } from 'vitest/config'

export default defineProject({
  resolve: { conditions: ['@meanwhile/source'] },
  ssr: { resolve: { conditions: ['@meanwhile/source', 'module', 'node', 'development|production'] } },
  test: {
    name: 'core',
    include: ['src/**/*.test.ts'],
    exclude: [...configDefaults.exclude, 'src/**/*.durable.test.ts'],
    environment: 'node',
    // No test file changes shared modules, so the next file need not load everything again.
    isolate: false,
    // On a busy machine a test may take long without being wrong.
    testTimeout: 20_000,
  },
})
