/** An MCP server in its own process. It speaks over its standard input and output. */

import { acceptedContent, inputRequired, McpServer } from '@modelcontextprotocol/server'
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
      const { inputResponses } = mcpReq
      const stay = z.object({ nights: z.number() })
      if (!inputResponses) {
        const form = { message: `Book a trip to ${city}?`, requestedSchema: stay }
        return inputRequired({ inputRequests: { sure: inputRequired.elicit(form) } })
      }
      const nights = acceptedContent(inputResponses, 'sure', stay)?.nights
      const booked = nights === undefined ? 'Nothing is booked.' : `${nights} nights in ${city} are booked.`
      return { content: [{ type: 'text', text: booked }] }
    },
  )
  return server
})
