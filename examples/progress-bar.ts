// A slow tool reports its progress, and each call has a bar on the terminal. Ctrl-C stops it at once. With a key in the
// environment the real model requests the downloads; without a key, a mocked endpoint.

import { setTimeout as wait } from 'node:timers/promises'
import { call, respond, say } from '@meanwhile/assemble/testing'
import { createAgent, RunAbortedError, tool } from '@meanwhile/core'
import { MultiBar, Presets, type SingleBar } from 'cli-progress'
import { z } from 'zod'
import { modelOr } from './shared/model.ts'

const download = tool({
  name: 'download',
  description: 'Downloads a file.',
  input: z.object({ file: z.string() }),
  timeout: 10_000,
  async *execute({ file }, { signal }) {
    const parts = 10 + file.length
    for (let part = 1; part <= parts; part++) {
      await wait(25, undefined, { signal })
      yield { progress: part / parts, message: file }
    }
    return `${file}: ${parts} MB`
  },
})

const model = modelOr([
  respond(call('download', { file: 'maps.zip' }), call('download', { file: 'pictures-of-the-sea.zip' })),
  respond(say('Both files are there.')),
])
const agent = createAgent({ model, tools: [download] })

const stop = new AbortController()
process.once('SIGINT', () => stop.abort())
const bars = new MultiBar({ format: '{bar} {percentage} % {file}', noTTYOutput: true }, Presets.shades_classic)
const barOf = new Map<string, SingleBar>()

const run = agent.stream('Download maps.zip and pictures-of-the-sea.zip, both at once.', { signal: stop.signal })
try {
  for await (const event of run) {
    if (event.type === 'tool-start') barOf.set(event.callId, bars.create(1, 0, { file: event.call.name }))
    if (event.type === 'tool-progress') barOf.get(event.callId)?.update(event.progress ?? 0, { file: event.message })
  }
  bars.stop()
  console.log((await run.result).text)
} catch (error) {
  bars.stop()
  if (!(error instanceof RunAbortedError)) throw error
  process.exitCode = 130
}
