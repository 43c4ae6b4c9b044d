// Models on a plain HTTP server in a separate process, with the times of every write.

import { respond, say } from '@meanwhile/assemble/testing'
import { spawnModelServer } from '@meanwhile/harness/server'
import OpenAI from 'openai'

const server = await spawnModelServer() // in a separate process; serveModels() starts one in this process
try {
  const run = await server.load({ script: [respond(say('Hello.'))], pace: { firstToken: 50, betweenTokens: 20 } })
  const client = new OpenAI({ apiKey: 'none', baseURL: `${run.url}/v1` }) // Anthropic's client takes run.url
  const answer = client.chat.completions.stream({ model: 'any', messages: [{ role: 'user', content: 'Hello' }] })
  console.log(await answer.finalContent())
  const [first] = await run.log()
  console.log(first) // arrived, firstByte, argsDone of each call, end, every write
} finally {
  await server.close() // or `await using server = …`, where the language has it
}
