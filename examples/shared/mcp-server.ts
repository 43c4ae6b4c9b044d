/** An MCP server with one tool, in this process. */

import { McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'

export function weatherServer(): McpServer {
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
  return server
}
