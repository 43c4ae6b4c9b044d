import { configDefaults, defineConfig } from 'vitest/config'
import { env, importedByNode, patience, sources } from './vitest.config.ts'

/** What is tried on a real PostgreSQL server: apart from the other tests, as not every machine has one. */
export default defineConfig({
  ...sources,
  test: {
    name: 'durable',
    include: ['{packages,apps}/*/src/**/*.durable.test.ts', 'apps/tests/together/*.durable.test.ts'],
    exclude: configDefaults.exclude,
    provide: {
      sources: [
        'apps/tests/together/shop-worker-process.ts',
        'packages/stores/test/set-up-process.ts',
        'packages/durable/test/worker-process.ts',
        'packages/threads/test/{frozen,turns,worker}-process.ts',
      ],
    },
    globalSetup: ['apps/postgres-cluster/src/global-setup.ts', 'apps/tests/support/programs-setup.ts'],
    environment: 'node',
    experimental: importedByNode,
    env,
    // The tests mostly wait: for heartbeats, and for servers that start again.
    maxWorkers: 4,
    // Each process runs many files, and so loads the packages and their clients once: no file leaves state behind.
    isolate: false,
    // A commit waits for the disk, and a server that has crashed takes seconds to start.
    testTimeout: patience,
    expect: { poll: { timeout: 60_000 } },
    hookTimeout: patience,
  },
})
