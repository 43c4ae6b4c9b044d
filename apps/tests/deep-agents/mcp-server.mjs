// An MCP server with one tool, which counts its executions.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { z } from 'zod'

let executed = 0
const server = new McpServer({ name: 'finds', version: '1' })
server.registerTool('look', { description: 'looks', inputSchema: { q: z.string() } }, async ({ q }) => ({
  content: [{ type: 'text', text: `${q} ${++executed}` }],
}))
await server.connect(new StdioServerTransport())
