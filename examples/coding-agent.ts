// An agent that repairs a small project: it reads, plans, edits, and runs the tests, for which it needs approval.
// With OPENAI_API_KEY set it calls the real model, and asks you in the terminal; without it, a mocked endpoint on the same wire.

import { createInterface } from 'node:readline/promises'
import { createAgent, textOf } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { mockModels } from '@meanwhile/harness'
import { type Approval, type ApprovalQuestion, approve, filesystem, planTasks, summarize } from '@meanwhile/middleware'
import { directoryBackend } from '@meanwhile/middleware/directory'
import { openai } from '@meanwhile/models/openai'
import OpenAI from 'openai'
import { brokenProject } from './coding-agent/broken-project.ts'
import { scriptedRepair } from './coding-agent/scripted-repair.ts'

const isReal = process.env.OPENAI_API_KEY !== undefined
const client = isReal
  ? new OpenAI()
  : new OpenAI({ apiKey: 'none', fetch: mockModels({ script: scriptedRepair }).fetch })

async function ask({ tool }: ApprovalQuestion, { signal }: { readonly signal: AbortSignal }): Promise<Approval> {
  if (!isReal) return { decision: 'allow' }
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  try {
    const answer = await terminal.question(`Allow ${tool}? (y/n) `, { signal })
    return answer === 'y' ? { decision: 'allow' } : { decision: 'deny', reason: answer }
  } finally {
    terminal.close()
  }
}

const { root, runTests, remove } = await brokenProject()
const agent = createAgent({
  model: openai({ client, model: process.env.OPENAI_MODEL ?? 'gpt-5.1' }),
  instructions: 'You repair a JavaScript project. Plan first. Be done when its tests pass.',
  tools: [runTests],
  middleware: [
    summarize({ at: { tokens: 100_000, messages: 10 }, keep: { steps: 1 } }),
    planTasks(),
    filesystem({ backend: directoryBackend(root), hide: ['.env'] }),
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
  await remove()
}
