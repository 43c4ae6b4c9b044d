// The tools of an MCP server as an agent's own tools. A server's annotations decide what may start early only if you trust the server: if it
// marks a shell as read-only, its calls run in parallel. With a key in the environment it calls the real model; without a key, a mocked endpoint.

import { call, respond, say } from '@meanwhile/assemble/testing'
import { type ContentPart, createAgent, type Effect, type Tool, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { Client, fromJsonSchema, InMemoryTransport, type JsonSchemaType } from '@modelcontextprotocol/client'
import { weatherServer } from './shared/mcp-server.ts'
import { modelOr } from './shared/model.ts'

type Definition = Awaited<ReturnType<Client['listTools']>>['tools'][number]
type Content = Awaited<ReturnType<Client['callTool']>>['content'][number]

async function toolsOf(client: Client, { trusted }: { readonly trusted: boolean }): Promise<Tool[]> {
  const { tools } = await client.listTools()
  return tools.map((definition) => {
    const { name, description = name, inputSchema } = definition
    return tool({
      name,
      description,
      input: fromJsonSchema<Record<string, unknown>>(inputSchema as JsonSchemaType),
      effect: trusted ? effectOf(definition) : 'external',
      async execute(input, { signal }) {
        const { content, isError } = await client.callTool({ name, arguments: input }, { signal })
        if (isError) throw new Error(content.map((part) => (part.type === 'text' ? part.text : part.type)).join('\n'))
        return content
      },
      toContent: (content) => content.map(partOf),
    })
  })
}

function effectOf({ annotations = {} }: Definition): Effect {
  return annotations.readOnlyHint ? 'read' : 'external'
}

function partOf(content: Content): ContentPart {
  if (content.type === 'text') return { type: 'text', text: content.text }
  if (content.type === 'image' || content.type === 'audio')
    return { type: 'file', mediaType: content.mimeType, data: content.data }
  return { type: 'text', text: JSON.stringify(content) }
}

// Connect to your own server with `StdioClientTransport` or `StreamableHTTPClientTransport`.
const [transport, theirs] = InMemoryTransport.createLinkedPair()
await weatherServer().connect(theirs)
const client = new Client({ name: 'meanwhile-example', version: '0.1.0' })
await client.connect(transport)
try {
  const agent = createAgent({
    model: modelOr([respond(call('weather', { city: 'Turin' })), respond(say('It is sunny in Turin.'))]),
    tools: await toolsOf(client, { trusted: true }),
    middleware: [eagerTools()],
  })
  const run = agent.stream('How is the weather in Turin?')
  for await (const event of run) {
    if (event.type === 'tool-start') console.log(event.call.name, event.call.input, event.provisional ? 'early' : '')
    if (event.type === 'tool-end') console.log(event.message.content)
  }
  console.log((await run.result).text)
} finally {
  await client.close()
}
