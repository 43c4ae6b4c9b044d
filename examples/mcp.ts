// The tools of an MCP server. The server is trusted, so the tool that it marks as read-only starts while the model is streaming. The other
// tool asks the user a question. With a key in the environment it calls the real model; without a key, a mocked endpoint.

import { fileURLToPath } from 'node:url'
import { call, respond, say } from '@meanwhile/assemble/testing'
import { createAgent } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { mcp } from '@meanwhile/mcp'
import { modelOr } from './shared/model.ts'

const program = fileURLToPath(new URL('./shared/weather-server.ts', import.meta.url))

await using servers = mcp({
  servers: { travel: { command: process.execPath, args: [program] } },
  trust: 'annotations',
})
const agent = createAgent({
  model: modelOr([
    respond(call('weather', { city: 'Turin' }), say('Let me see.')),
    respond(call('book_trip', { city: 'Turin' })),
    respond(say('It is sunny in Turin, and your trip is booked.')),
  ]),
  middleware: [servers, eagerTools()],
})

const run = agent.stream('If it is sunny in Turin, book a trip.')
for await (const event of run)
  if (event.type === 'tool-start') console.log(event.call.name, event.provisional ? 'starts early' : 'starts')
let result = await run.result
while (result.status === 'interrupted') {
  const answers = result.interrupts.map(({ id, payload }) => {
    console.log(JSON.stringify(payload))
    return [id, { sure: { action: 'accept', content: { nights: 2 } } }] as const
  })
  result = await agent.resume(result.checkpoint, Object.fromEntries(answers)).result
}
console.log(result.text)
