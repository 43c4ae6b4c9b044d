/** Servers in the process of the test, for what needs no other one: they answer requests of HTTP. */

import { createMcpHandler, type McpServer } from '@modelcontextprotocol/server'
import { onTestFinished } from 'vitest'
import type { HttpServer } from '../src/index.ts'
import type { Line } from './servers.ts'
import { trialServer } from './trial-server.ts'

/** A server of the official library. */
export function served(make: () => McpServer): HttpServer {
  const handler = createMcpHandler(make)
  onTestFinished(() => handler.close())
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

/** A request as a server of the 2025 protocol receives it. */
export interface RawRequest {
  readonly id: number
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>>
}

/** What a server of the 2025 protocol returns for a request: a result, or anything else that it may send. */
export type Raw = (request: RawRequest) => unknown

/** What a server hears apart from requests: notifications and answers. */
export interface Heard {
  readonly id?: number | string
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly result?: unknown
  readonly error?: { readonly code: number }
}

/** A server that may return anything. It speaks the 2025 protocol. `get` answers a client that resumes a stream. */
export function raw(answer: Raw, heard: (message: Heard) => void = () => {}, get?: () => Response): HttpServer {
  return {
    url: 'http://server.test/mcp',
    async fetch(_, init) {
      if (init?.method === 'GET' && get) return get()
      if (init?.method !== 'POST') return new Response(null, { status: 405 })
      const message: RawRequest & Heard = JSON.parse(bodyOf(init))
      const { id, method } = message
      if (id === undefined || method === undefined) {
        heard(message)
        return new Response(null, { status: 202 })
      }
      const given = answer(message) ?? (method === 'initialize' ? initialized() : undefined)
      if (given instanceof Response) return given
      const error = { code: -32601, message: 'Method not found' }
      return Response.json({ jsonrpc: '2.0', id, ...(given === undefined ? { error } : { result: given }) })
    },
  }
}

const encoder = new TextEncoder()

/** One event of a stream. */
export const event = (message: object, id = ''): Uint8Array =>
  encoder.encode(`${id && `id: ${id}\n`}data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`)

/** An answer that is a stream. */
export function streamed(stream: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Response {
  return new Response(ReadableStream.from(stream), { headers: { 'content-type': 'text/event-stream' } })
}

/** A server of the 2025 protocol that asks these questions in each call. Its results are the answers. `until` is awaited before it asks. */
export function asking(tools: readonly object[], questions: readonly object[], until?: () => Promise<unknown>) {
  const begun: number[] = []
  const answers: unknown[] = []
  const waiting = new Map<unknown, (answer: unknown) => void>()
  async function* call({ id }: RawRequest) {
    begun.push(id)
    await until?.()
    const own: unknown[] = []
    for (const [index, params] of questions.entries()) {
      const asked = `${id}/${index}`
      const answered = new Promise((resolve) => waiting.set(asked, resolve))
      yield event({ id: asked, method: 'elicitation/create', params })
      own.push(await answered)
    }
    yield event({ id, result: { content: [{ type: 'text', text: JSON.stringify(own) }] } })
  }
  const server = raw(
    (request) => {
      if (request.method === 'tools/list') return { tools }
      return request.method === 'tools/call' ? streamed(call(request)) : undefined
    },
    ({ id, result, error }) => {
      const answered = waiting.get(id)
      if (answered) answers.push(result ?? error)
      answered?.(result ?? error)
    },
  )
  return { server, begun, answers }
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
