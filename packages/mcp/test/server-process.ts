/**
 * A server of both protocols in its own process: over its standard input and output, or, with a port as its argument, over HTTP. Each handler writes
 * lines to the file JOURNAL.
 */

import { appendFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createMcpHandler } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { trialServer } from './trial-server.ts'

const { JOURNAL = '/dev/null', REQUESTS } = process.env

function note(line: object): void {
  appendFileSync(JOURNAL, `${JSON.stringify({ pid: process.pid, ...line })}\n`)
}

note({ what: 'start' })
const [port] = process.argv.slice(2)
if (port === undefined) serveStdio(() => trialServer(note))
else {
  const { fetch } = createMcpHandler(() => trialServer(note))
  const server = createServer((request, response) => void answer(request, response))
  server.listen(Number(port), '127.0.0.1', () => process.stdout.write(`${JSON.stringify(server.address())}\n`))

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { authorization } = request.headers
    if (REQUESTS !== undefined) note({ what: 'request', authorization })
    const gone = new AbortController()
    response.on('close', () => gone.abort())
    const body: Buffer[] = []
    for await (const chunk of request) body.push(chunk)
    const {
      status,
      headers,
      body: stream,
    } = await fetch(
      new Request(`http://127.0.0.1${request.url}`, {
        ...(request.method && { method: request.method }),
        headers: Object.entries(request.headers).flatMap(([name, value]) =>
          typeof value === 'string' ? [[name, value] as [string, string]] : [],
        ),
        ...(body.length > 0 && { body: Buffer.concat(body) }),
        signal: gone.signal,
      }),
    )
    response.writeHead(status, Object.fromEntries(headers))
    response.flushHeaders()
    for await (const chunk of stream ?? []) response.write(chunk)
    response.end()
  }
}
