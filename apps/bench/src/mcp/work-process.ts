/** An MCP server with the tools of a scenario, in its own process. It speaks over its standard input and output. */

import { isDeepStrictEqual } from 'node:util'
import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { callsOf } from '../scenario.ts'
import { ALL_SCENARIOS, SCENARIOS } from '../scenarios.ts'
import { DESCRIPTION, measuredWork, type ToolRun } from '../tools.ts'

const id = ALL_SCENARIOS.find((one) => one === process.argv[2])
if (!id) throw new TypeError(`there is no scenario ${process.argv[2]}`)
const scenario = SCENARIOS[id]

function makeServer(): McpServer {
  const server = new McpServer({ name: 'work', version: '1.0.0' })
  for (const { name, input, effect } of scenario.tools) {
    const annotations = effect === 'read' ? { readOnlyHint: true } : {}
    const definition = { description: DESCRIPTION, inputSchema: input, annotations }
    server.registerTool(name, definition, async (given: unknown, { mcpReq }) => {
      const call = callsOf(scenario).find(({ input }) => isDeepStrictEqual(input, given))
      if (!call) throw new TypeError('the scenario has no such call')
      const runs: ToolRun[] = []
      const work = measuredWork(() => call.toolMs, runs)
      const text = await work({ callId: call.id, tool: name, input: given }, mcpReq.signal)
      return { content: [{ type: 'text', text }], structuredContent: { run: runs[0] } }
    })
  }
  return server
}

serveStdio(makeServer)
