import { availableParallelism } from 'node:os'
import { configDefaults, defineConfig } from 'vitest/config'
import { env, importedByNode, patience, sources } from './vitest.config.ts'

/** The tests that start programs, and those that kill them: apart from the others, because they mostly wait. */
export default defineConfig({
  ...sources,
  test: {
    name: 'programs',
    include: ['{apps,packages,scripts}/**/*.program.test.ts'],
    exclude: configDefaults.exclude,
    provide: {
      sources: [
        'apps/bench/src/index.ts',
        'apps/tests/together/{late-sdk,shop-process}.ts',
        'examples/{terminal-agent,tracing}.ts',
        'packages/core/test/killed-process.ts',
        'packages/stores/test/save-process.ts',
        'packages/devtools/{src/devtools,test/node-sdk}-process.ts',
        'packages/threads/test/thread-process.ts',
      ],
    },
    globalSetup: 'apps/tests/support/programs-setup.ts',
    environment: 'node',
    experimental: importedByNode,
    env,
    maxWorkers: availableParallelism() + 2,
    // Each process runs many files, and so loads the packages once: no file leaves state behind.
    isolate: false,
    testTimeout: patience,
    hookTimeout: patience,
    expect: { poll: { timeout: 60_000 } },
  },
})
