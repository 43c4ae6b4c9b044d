import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { sources, testTimeout } from '../../../vitest.config.ts'

/** The devtools with a program of LangChain that OpenInference observes. */
export default defineConfig({
  ...sources,
  root: join(import.meta.dirname, '../../..'),
  test: {
    name: 'openinference',
    include: ['apps/tests/openinference/*.deep.test.ts'],
    environment: 'node',
    testTimeout,
  },
})
