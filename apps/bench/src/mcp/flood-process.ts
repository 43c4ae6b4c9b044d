/**
 * An MCP server of the 2025 protocol in its own process, over its standard input and output, that sends very much: the first argument is how many tools
 * it has, the second how often a call of the first one reports progress.
 */

import { createInterface } from 'node:readline'

const [tools = 1, reports = 0] = process.argv.slice(2).map(Number)

/** A regular expression that takes a time exponential in the length of a text. */
const SLOW = { type: 'object', properties: { text: { type: 'string', pattern: '^(a+)+$' } } }

interface Request {
  readonly id?: number
  readonly method: string
  readonly params?: { readonly _meta?: { readonly progressToken?: unknown } }
}

function resultOf({ method }: Request): object | undefined {
  if (method === 'initialize')
    return {
      protocolVersion: '2025-11-25',
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: 'flood', version: '1.0.0' },
    }
  if (method === 'tools/list')
    return {
      tools: Array.from({ length: tools }, (_, index) => ({
        name: `tool_${index}`,
        description: `Does ${index}.`,
        inputSchema: SLOW,
      })),
    }
  return method === 'tools/call' ? { content: [{ type: 'text', text: 'done' }] } : undefined
}

const line = (message: object) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`

createInterface({ input: process.stdin }).on('line', (text) => {
  const request = JSON.parse(text) as Request
  const { id, method, params } = request
  if (id === undefined) return
  const progressToken = params?._meta?.progressToken
  if (method === 'tools/call')
    for (let progress = 1; progress <= reports; progress++)
      process.stdout.write(line({ method: 'notifications/progress', params: { progressToken, progress } }))
  const result = resultOf(request)
  process.stdout.write(
    line({ id, ...(result ? { result } : { error: { code: -32601, message: 'Method not found' } }) }),
  )
})
