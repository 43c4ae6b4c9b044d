import { availableParallelism } from 'node:os'
import { configDefaults, defineConfig } from 'vitest/config'
import { env, sources } from './vitest.config.ts'

/** The tests that start the bench, an example or a script as its user does: apart from the others, because they take minutes. */
export default defineConfig({
  ...sources,
  test: {
    name: 'programs',
    include: ['{apps,scripts}/**/*.program.test.ts'],
    exclude: configDefaults.exclude,
    environment: 'node',
    env,
    // They mostly wait.
    maxWorkers: availableParallelism() + 1,
    testTimeout: 60_000,
  },
})
