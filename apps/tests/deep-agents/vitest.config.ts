import { join } from 'node:path'
import { defineConfig, type Plugin } from 'vitest/config'
import { sources, testTimeout } from '../../../vitest.config.ts'

/** Our sources use the same copy of LangChain as deepagents: that of this folder. */
const ofThisFolder: Plugin = {
  name: 'of-this-folder',
  enforce: 'pre',
  resolveId(id) {
    if (!/^(langchain$|@langchain\/|zod$)/.test(id)) return null
    return this.resolve(id, join(import.meta.dirname, 'options.deep.test.ts'), { skipSelf: true })
  },
}

/** The drop-in for LangChain in deepagents, and with the tools of MCP servers. */
export default defineConfig({
  ...sources,
  root: join(import.meta.dirname, '../../..'),
  plugins: [ofThisFolder],
  test: {
    name: 'deep-agents',
    include: ['apps/tests/deep-agents/*.deep.test.ts'],
    environment: 'node',
    testTimeout,
  },
})
