import { configDefaults, defineProject } from 'vitest/config'

export default defineProject({
  test: {
    name: 'postgres-cluster',
    include: ['src/**/*.test.ts'],
    exclude: [...configDefaults.exclude, 'src/**/*.durable.test.ts'],
    environment: 'node',
  },
})
