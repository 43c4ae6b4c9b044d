// A run whose process is killed in the middle of a call. The next process continues it: the id of the run was chosen before the run started.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { fileStore } from '@meanwhile/stores/file'
import { z } from 'zod'

const [killed] = process.argv.slice(2) // the folder of the store, in the process that is killed
const folder = killed ?? mkdtempSync(join(tmpdir(), 'meanwhile-'))

const search = tool({
  name: 'search',
  description: 'Searches the documentation.',
  input: z.object({ query: z.string() }),
  effect: 'read',
  execute: async ({ query }) => {
    console.log(`  ${killed ? 'first' : 'second'} process: searching for ${query}`)
    await wait(200)
    if (killed) process.kill(process.pid, 'SIGKILL')
    return `Three pages about ${query}.`
  },
})

// The second process only makes the model calls that are left.
const model = scriptedModel(killed ? [respond(call('search', { query: 'tides' }))] : [respond(say('There are three.'))])

const store = fileStore(folder)
const agent = createAgent({ name: 'clerk', model, tools: [search], checkpoints: store })

/** Starts the run, or continues it if an earlier process has saved it. */
async function runOrResume(id: string, input: string) {
  const saved = await store.load(id)
  const run = saved ? agent.resume(id) : agent.stream(input, { id })
  return await run.result
}

try {
  if (!killed) await once(fork(import.meta.filename, [folder]), 'exit')
  const { text } = await runOrResume('question-17', 'How many pages are there about tides?')
  console.log(text)
} finally {
  rmSync(folder, { recursive: true })
}
