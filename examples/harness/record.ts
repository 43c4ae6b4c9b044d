// Real traffic, recorded without its secrets, and replayed ten times as fast.

import { readFile, rm } from 'node:fs/promises'
import { respond, say } from '@meanwhile/assemble/testing'
import { mockModels, recordModels, replayRecording } from '@meanwhile/harness'
import OpenAI from 'openai'

async function ask(fetch: typeof globalThis.fetch): Promise<string | null> {
  const client = new OpenAI({ apiKey: 'none', fetch })
  const messages = [{ role: 'user' as const, content: 'Is it sunny for cust-17?' }]
  return await client.chat.completions.stream({ model: 'any', messages }).finalContent()
}

// The real endpoint would be `upstream: 'https://api.openai.com'`; here it is a mock.
const upstream = mockModels({ script: [respond(say('It is sunny.'))] }).fetch
const recorder = recordModels({ upstream, file: 'weather.recording.json', patterns: [/cust-\d+/] })
console.log(await ask(recorder.fetch)) // with an upstream that is a URL, also a base URL: `${await recorder.listen()}/v1`
await recorder.close() // writes the file

const recording = await readFile('weather.recording.json', 'utf8')
const mock = mockModels({ script: replayRecording(recording, { speed: 10 }) })
console.log(await ask(mock.fetch))
await rm('weather.recording.json')
