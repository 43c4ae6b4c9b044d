/**
 * An MCP server in its own process, over its standard input and output. Its argument is the protocol that it speaks. What its handlers do is in the
 * journal of the folder FOLDER.
 */

import { appendFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { acceptedContent, inputRequired, McpServer } from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

const { FOLDER = '' } = process.env
const note = (what: string) =>
  appendFileSync(join(FOLDER, 'journal'), `${JSON.stringify({ what, pid: process.pid })}\n`)
const text = (text: string) => ({ content: [{ type: 'text' as const, text }] })

/** A call is answered with a question. */
function modern(): McpServer {
  const server = new McpServer({ name: 'shop', version: '1.0.0' })
  const form = z.object({ sure: z.boolean() })
  server.registerTool('buy', { inputSchema: z.object({}) }, (_, { mcpReq }) => {
    note('buy began')
    const question = inputRequired.elicit({ message: 'Sure?', requestedSchema: form })
    if (acceptedContent(mcpReq.inputResponses, 'sure', form)?.sure !== true)
      return inputRequired({ requestState: 'the cart', inputRequests: { sure: question } })
    note(`buy accept ${mcpReq.requestState<string>()}`)
    return text('bought')
  })
  // A call lasts until its test has made a file with its name.
  const add = (name: string, annotations: object) =>
    server.registerTool(name, { inputSchema: z.object({ key: z.string() }), annotations }, async ({ key }) => {
      note(`${name} ${key} began`)
      while (!existsSync(join(FOLDER, `${name} ${key}`))) await sleep(20)
      note(`${name} ${key} ended`)
      return text(`${name} ${key}: done`)
    })
  add('find', { readOnlyHint: true })
  add('order', {})
  return server
}

/** A question is asked while the call is open. */
function legacy(): McpServer {
  const server = new McpServer({ name: 'shop', version: '1.0.0' })
  const add = (name: string, annotations: object) =>
    server.registerTool(name, { inputSchema: z.object({}), annotations }, async (_, { mcpReq }) => {
      note(`${name} began`)
      const requestedSchema = { type: 'object' as const, properties: { sure: { type: 'boolean' as const } } }
      const { action } = await mcpReq.elicitInput({ message: 'Sure?', requestedSchema })
      note(`${name} ${action}`)
      return text(`${name}: ${action}`)
    })
  add('look', { readOnlyHint: true })
  add('book', {})
  return server
}

if (process.argv[2] === '2026') serveStdio(modern)
else await legacy().connect(new StdioServerTransport())
