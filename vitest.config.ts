import { existsSync, statfsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { sized } from './apps/tests/support/size.ts'

/** How many milliseconds a test may take: on a busy machine one may be slow without being wrong. */
export const testTimeout = sized({ small: 60_000, middle: 300_000, whole: 86_400_000 })

/** The same for tests that start programs or servers, which are slower still on a busy machine. */
export const patience = Math.max(testTimeout, 300_000)

/** Tests run on the sources of the packages, not on builds. Without the condition `module`, which Node does not have. */
export const sources = {
  resolve: { conditions: ['@meanwhile/source'] },
  ssr: { resolve: { conditions: ['@meanwhile/source', 'node', 'development|production'] } },
}

/** Node imports the files, and removes their types: no test mocks a module. */
export const importedByNode = { viteModuleRunner: false, nodeLoader: false }

function path(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url))
}

const PAGES = 'examples/chat/page/**/*.test.ts'

const MEMORY = '/dev/shm'

/** In bytes. */
function roomIn(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

// Files and databases of tests are in memory, if there is room: thousands of saves would wait for the disk.
if (!process.env.TMPDIR && existsSync(MEMORY) && roomIn(MEMORY) > 2 ** 31) process.env.TMPDIR = MEMORY

/** Programs that tests start load their modules faster from the second start on. */
export const env = { NODE_COMPILE_CACHE: path('node_modules/.cache/compiled') }

/**
 * The tests of some folders. They run on the sources of the packages, in processes that run many files one after another, so that each
 * process loads the packages and their clients once: no file leaves state behind.
 */
function project(name: string, include: string, but: readonly string[] = []): TestProjectInlineConfiguration {
  return {
    ...sources,
    test: {
      name,
      include: [include],
      // Separate commands run the tests that start our programs, and those that need PostgreSQL or a browser.
      exclude: [...configDefaults.exclude, '**/*.{program,durable,browser,deep}.test.ts', ...but],
      environment: 'node',
      setupFiles: [path('apps/tests/requests/check-requests.ts'), path('apps/tests/support/left-intervals.ts')],
      isolate: false,
      // Tests make much that is soon garbage. With V8's default it is collected, and copied, more often.
      execArgv: ['--max-semi-space-size=64'],
      experimental: importedByNode,
      testTimeout,
      // After a test the requests of all its models are checked.
      hookTimeout: testTimeout,
      // Vitest would wait for a second.
      expect: { poll: { timeout: 30_000 } },
      env,
    },
  }
}

export default defineConfig({
  test: {
    // Vitest would leave one processor to itself, and so use one of two. Not more: each process loads and compiles the packages and libraries for
    // itself, so that the tests take a fifth more of the processors' time in two than in one, and half as much again in three.
    maxWorkers: availableParallelism(),
    projects: [
      project('packages', '{packages,scripts}/**/*.test.ts', ['packages/eager-tools/**']),
      // Apart, because OpenAI's Agents SDK sets one timer after another as long as its process runs: also on the fake clock of any test.
      project('eager-tools', 'packages/eager-tools/**/*.test.ts'),
      // Each apart, because they set up telemetry for their whole process, as programs do.
      project('bench', 'apps/{bench,postgres-cluster}/**/*.test.ts'),
      project('tests', '{apps/tests,examples}/**/*.test.ts', [PAGES]),
      // Apart, because Node does not read JSX.
      { ...sources, test: { name: 'pages', include: [PAGES], exclude: configDefaults.exclude, environment: 'node' } },
    ],
    coverage: {
      provider: 'v8',
      include: ['packages/*/src/**/*.ts'],
      exclude: ['**/*.test.ts', '**/*.test-d.ts'],
      reporter: ['text', 'json-summary'],
    },
  },
})
