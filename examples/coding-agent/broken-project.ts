/** Creates a small project with a failing test in a temporary directory, and a tool that runs its tests. */

import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Tool, tool } from '@meanwhile/core'
import { z } from 'zod'

const FILES = {
  'package.json': '{ "type": "module" }\n',
  'mean.js': 'export const mean = (list) => list.reduce((a, b) => a + b) / 2\n',
  'mean.test.js': `import { test } from 'node:test'
import { equal } from 'node:assert/strict'
import { mean } from './mean.js'
test('the mean of three', () => equal(mean([1, 2, 6]), 3))
`,
}

export interface BrokenProject {
  readonly root: string
  readonly runTests: Tool
  remove(): Promise<void>
}

export async function brokenProject(): Promise<BrokenProject> {
  const root = await mkdtemp(join(tmpdir(), 'meanwhile-'))
  for (const [name, content] of Object.entries(FILES)) await writeFile(join(root, name), content)
  return { root, runTests: testRunner(root), remove: () => rm(root, { recursive: true }) }
}

function testRunner(root: string): Tool {
  return tool({
    name: 'run_tests',
    description: 'Runs the tests of the project and returns their output.',
    input: z.object({}),
    execute: (_, { signal }) =>
      new Promise<string>((resolve) => {
        const options = { cwd: root, signal, timeout: 30_000, env: { PATH: process.env.PATH } }
        execFile(process.execPath, ['--test', '--test-reporter=tap'], options, (error, out) =>
          resolve(`${error ? 'FAILED' : 'PASSED'}\n${out.slice(-2_000)}`),
        )
      }),
  })
}
