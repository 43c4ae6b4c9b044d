// An orchestrator with two sub-agents: they are its tools, and it decides which one to call. Their events have a path, and their usage counts
// towards its own. With a key in the environment they call the real model; without a key, mocked endpoints.

import { call, respond, say } from '@meanwhile/assemble/testing'
import { agentTool, createAgent, tool } from '@meanwhile/core'
import { z } from 'zod'
import { modelOr } from '../shared/model.ts'

const search = tool({
  name: 'search',
  description: 'Searches the library.',
  input: z.object({ query: z.string() }),
  effect: 'read',
  execute: ({ query }) => `Three books on ${query}.`,
})
const researcher = createAgent({
  name: 'researcher',
  description: 'Finds out what is known.',
  model: modelOr([respond(call('search', { query: 'streams' })), respond(say('Three books say: read to the end.'))]),
  tools: [search],
})
const translator = createAgent({
  name: 'translator',
  description: 'Translates into German.',
  model: modelOr([respond(say('Drei Bücher sagen: Lies bis zum Ende.'))]),
})

const supervisor = createAgent({
  name: 'supervisor',
  model: modelOr([
    respond(call('researcher', { request: 'What is known of streams?' })),
    respond(call('translator', { request: 'Three books say: read to the end.' })),
    respond(say('Done: Drei Bücher sagen: Lies bis zum Ende.')),
  ]),
  tools: [agentTool(researcher), agentTool(translator)],
})

const run = supervisor.stream('What is known of streams? In German.')
for await (const event of run) {
  const depth = '  '.repeat(event.path?.length ?? 0)
  if (event.type === 'tool-start') console.log(`${depth}${event.call.name} ${JSON.stringify(event.call.input)}`)
  if (event.type === 'run-end') console.log(`${depth}→ ${event.result.text}`)
}
