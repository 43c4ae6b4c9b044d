import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { sources, testTimeout } from '../../../vitest.config.ts'

const root = join(import.meta.dirname, '../../..')

/** The lists of libraries in this folder. Each takes the place of the list with the same name in a package. */
const lists = globSync('*.ts', { cwd: import.meta.dirname, exclude: ['*.config.ts'] }).map((file) => basename(file))

/** Every test that imports such a list. */
const include = globSync('packages/*/src/**/*.test.ts', { cwd: root }).filter((file) =>
  lists.some((list) => readFileSync(join(root, file), 'utf8').includes(`/test/${list}'`)),
)

/** The tests of adapters, with other versions of the libraries than those that are installed in the root. */
export default defineConfig({
  root,
  resolve: {
    ...sources.resolve,
    alias: [{ find: new RegExp(`^(?:\\.\\./)+test/(${lists.join('|')})$`), replacement: `${import.meta.dirname}/$1` }],
  },
  ssr: sources.ssr,
  test: {
    name: 'versions',
    include,
    environment: 'node',
    isolate: false,
    testTimeout,
  },
})
