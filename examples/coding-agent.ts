// An agent that repairs a small project: it reads, plans, edits, and runs the tests, which it may do only if allowed.
// With OPENAI_API_KEY set it asks the real model, and you in the terminal; without, a mocked endpoint on the same wire.

import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { createAgent, textOf, tool } from '@meanwhile/core'
import { call, respond, say } from '@meanwhile/core/testing'
import { eagerTools } from '@meanwhile/eager-tools'
import { mockModels } from '@meanwhile/harness'
import { type Approval, type ApprovalQuestion, approve, filesystem, planTasks, summarize } from '@meanwhile/middleware'
import { directoryBackend } from '@meanwhile/middleware/directory'
import { openai } from '@meanwhile/models/openai'
import OpenAI from 'openai'
import { z } from 'zod'

const root = await mkdtemp(join(tmpdir(), 'meanwhile-'))
await writeFile(join(root, 'package.json'), '{ "type": "module" }\n')
await writeFile(join(root, 'mean.js'), 'export const mean = (list) => list.reduce((a, b) => a + b) / 2\n')
await writeFile(
  join(root, 'mean.test.js'),
  `import { test } from 'node:test'
import { equal } from 'node:assert/strict'
import { mean } from './mean.js'
test('the mean of three', () => equal(mean([1, 2, 6]), 3))
`,
)

const runTests = tool({
  name: 'run_tests',
  description: 'Runs the tests of the project and gives what they print.',
  input: z.object({}),
  execute: (_, { signal }) =>
    new Promise<string>((resolve) => {
      const options = { cwd: root, signal, timeout: 30_000, env: { PATH: process.env.PATH } }
      const report = (error: Error | null, out: string) =>
        resolve(`${error ? 'FAILED' : 'PASSED'}\n${out.slice(-2_000)}`)
      execFile(process.execPath, ['--test', '--test-reporter=tap'], options, report)
    }),
})

const isReal = process.env.OPENAI_API_KEY !== undefined
async function ask({ tool }: ApprovalQuestion, { signal }: { readonly signal: AbortSignal }): Promise<Approval> {
  if (!isReal) return { decision: 'allow' }
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  const answer = await terminal
    .question(`May it call ${tool} in ${root}? (y/n) `, { signal })
    .finally(() => terminal.close())
  return answer === 'y' ? { decision: 'allow' } : { decision: 'deny', reason: answer }
}

const read = (path: string) => call('read_file', { path })
const mock = mockModels({
  script: [
    respond(
      call('task_create', { subject: 'Find the fault' }),
      call('task_create', { subject: 'Repair it', addBlockedBy: [1] }),
    ),
    respond(say('I look at the code and its test.'), read('mean.js'), read('mean.test.js'), call('run_tests')),
    respond(
      call('task_update', { id: 1, status: 'completed' }),
      call('edit_file', { path: 'mean.js', oldText: '/ 2', newText: '/ list.length' }),
    ),
    // The history is long by now: this is the summary it is folded into.
    respond(say('mean.js divided by 2; it now divides by list.length. Left: run the tests, complete task 2.')),
    respond(call('run_tests')),
    respond(call('task_update', { id: 2, status: 'completed' }), call('task_list')),
    respond(say('mean() divided by 2 whatever the length of the list. It is repaired, and the tests pass.')),
  ],
})
const client = isReal ? new OpenAI() : new OpenAI({ apiKey: 'none', fetch: mock.fetch })

const agent = createAgent({
  model: openai({ client, model: 'gpt-5.1' }),
  instructions: 'You repair a JavaScript project. Plan first. Be done when its tests pass.',
  tools: [runTests],
  middleware: [
    summarize({ at: { tokens: 100_000, messages: 10 }, keep: { steps: 1 } }),
    planTasks(),
    filesystem({ backend: directoryBackend(root) }),
    approve({ tools: ['run_tests'], ask, remember: 'run' }),
    eagerTools(),
  ],
})

try {
  const run = agent.stream('The tests fail. Repair the project.')
  for await (const event of run) {
    if (event.type === 'tool-start') console.log(`→ ${event.call.name} ${JSON.stringify(event.call.input)}`)
    if (event.type === 'tool-end') console.log(`← ${textOf(event.message).split('\n')[0]}`)
  }
  const { text, steps } = await run.result
  console.log(`${text} (${steps} steps)`)
} finally {
  await rm(root, { recursive: true })
}
