/** Servers in the process of the test, for what needs no other one: they answer requests of HTTP. */

import { createMcpHandler, type McpServer } from '@modelcontextprotocol/server'
import type { HttpServer } from '../src/index.ts'
import type { Line } from './servers.ts'
import { trialServer } from './trial-server.ts'

/** A server of the official library. */
export function served(make: () => McpServer): HttpServer {
  const handler = createMcpHandler(make)
  return { url: 'http://server.test/mcp', fetch: (url, init) => handler.fetch(new Request(url, init)) }
}

/** Our server, and what its handlers did. */
export function trial(): { readonly server: HttpServer; readonly did: readonly Line[] } {
  const did: Line[] = []
  const note = (line: object) => void did.push(JSON.parse(JSON.stringify(line)) as Line)
  return { server: served(() => trialServer(note)), did }
}

/** The body of a request of the client: it is JSON. */
export const bodyOf = (init: RequestInit | undefined): string => (typeof init?.body === 'string' ? init.body : '{}')

/** What a server of the 2025 protocol returns for a request: a result, or anything else that it may send. */
export type Raw = (request: { readonly method: string; readonly params?: Readonly<Record<string, unknown>> }) => unknown

/** A server that may return anything. It speaks the 2025 protocol. */
export function raw(answer: Raw): HttpServer {
  return {
    url: 'http://server.test/mcp',
    async fetch(_, init) {
      if (init?.method !== 'POST') return new Response(null, { status: 405 })
      const { id, ...request } = JSON.parse(bodyOf(init))
      if (id === undefined) return new Response(null, { status: 202 })
      const given = answer(request) ?? (request.method === 'initialize' ? initialized() : undefined)
      if (given instanceof Response) return given
      const error = { code: -32601, message: 'Method not found' }
      return Response.json({ jsonrpc: '2.0', id, ...(given === undefined ? { error } : { result: given }) })
    },
  }
}

/** The first answer of a server of the 2025 protocol with these capabilities. */
export const initialized = (more: object = {}) => ({
  protocolVersion: '2025-11-25',
  capabilities: { tools: { listChanged: true }, ...more },
  serverInfo: { name: 'raw', version: '1.0.0' },
})

/** A server with these tools, as it lists them. `call` returns the results. */
export function listing(tools: readonly unknown[], call: Raw = () => ({ content: [] })): HttpServer {
  return raw((request) =>
    request.method === 'tools/list' ? { tools } : request.method === 'tools/call' ? call(request) : undefined,
  )
}

/** A tool of a list. */
export const listed = (name: string, more: object = {}): object => ({ name, inputSchema: { type: 'object' }, ...more })
