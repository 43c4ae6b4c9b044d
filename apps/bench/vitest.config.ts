import { configDefaults, defineProject } from 'vitest/config'

export default defineProject({
  resolve: { conditions: ['@meanwhile/source'] },
  ssr: { resolve: { conditions: ['@meanwhile/source', 'module', 'node', 'development|production'] } },
  test: {
    name: 'bench',
    include: ['src/**/*.test.ts'],
    exclude: [...configDefaults.exclude, 'src/**/*.browser.test.ts', 'src/**/*.durable.test.ts'],
    environment: 'node',
    // On a busy machine a test may take longer without being wrong.
    testTimeout: 20_000,
  },
})
