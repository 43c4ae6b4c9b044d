import { configDefaults, defineConfig } from 'vitest/config'
import { env, sources, testTimeout } from './vitest.config.ts'

/** What is tried on a real PostgreSQL server: apart from the other tests, as not every machine has one. */
export default defineConfig({
  ...sources,
  test: {
    name: 'durable',
    include: ['{packages,apps}/*/src/**/*.durable.test.ts'],
    exclude: configDefaults.exclude,
    globalSetup: 'apps/postgres-cluster/src/global-setup.ts',
    environment: 'node',
    env,
    // The tests mostly wait: for heartbeats, and for servers that start again.
    maxWorkers: 4,
    // A commit waits for the disk, and a server that has crashed takes seconds to start.
    testTimeout,
    hookTimeout: testTimeout,
  },
})
