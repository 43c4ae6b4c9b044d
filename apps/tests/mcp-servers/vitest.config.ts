import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { sources, testTimeout } from '../../../vitest.config.ts'

/** The tools of MCP servers that others have written, in their own processes. */
export default defineConfig({
  ...sources,
  root: join(import.meta.dirname, '../../..'),
  test: {
    name: 'mcp-servers',
    include: ['apps/tests/mcp-servers/*.deep.test.ts'],
    environment: 'node',
    testTimeout,
  },
})
