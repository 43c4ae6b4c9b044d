/** An MCP server in its own process. It speaks over its standard input and output. */

import { inputRequired, McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

serveStdio(() => {
  const server = new McpServer({ name: 'weather', version: '1.0.0' })
  server.registerTool(
    'weather',
    {
      description: 'The weather of a city.',
      inputSchema: z.object({ city: z.string() }),
      annotations: { readOnlyHint: true },
    },
    ({ city }) => ({ content: [{ type: 'text', text: `Sunny in ${city}, 24 °C.` }] }),
  )
  server.registerTool(
    'book_trip',
    { description: 'Books a trip.', inputSchema: z.object({ city: z.string() }) },
    ({ city }, { mcpReq }) => {
      const answer = mcpReq.inputResponses?.sure
      if (answer === undefined) {
        const form = { message: `Book a trip to ${city}?`, requestedSchema: z.object({ nights: z.number() }) }
        return inputRequired({ inputRequests: { sure: inputRequired.elicit(form) } })
      }
      const isBooked = 'action' in answer && answer.action === 'accept'
      return { content: [{ type: 'text', text: isBooked ? `The trip to ${city} is booked.` : 'Nothing is booked.' }] }
    },
  )
  return server
})
