/**
 * A server of both protocols in its own process: over its standard input and output, or, with a port as its argument, over HTTP. Each handler writes
 * lines to the file JOURNAL.
 */

import { appendFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { acceptedContent, createMcpHandler, inputRequired, McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

const { JOURNAL = '/dev/null', TOKEN } = process.env

function note(line: object): void {
  appendFileSync(JOURNAL, `${JSON.stringify({ pid: process.pid, ...line })}\n`)
}

const text = (text: string) => ({ content: [{ type: 'text' as const, text }] })

function make(): McpServer {
  const server = new McpServer({ name: 'trial', version: '1.0.0' }, { capabilities: { tools: { listChanged: true } } })
  const key = z.string()
  const ms = z.number().default(20)
  server.registerTool(
    'lookup',
    {
      description: 'Looks up a key.',
      inputSchema: z.object({ key, ms }),
      outputSchema: z.object({ key, value: z.number() }),
      annotations: { readOnlyHint: true },
    },
    async ({ key, ms }, { mcpReq }) => {
      note({ tool: 'lookup', what: 'begin', key, meta: mcpReq._meta })
      await sleep(ms)
      note({ tool: 'lookup', what: 'end', key })
      return { ...text(`${key}=1`), structuredContent: { key, value: 1 } }
    },
  )
  const write = async ({ key, ms }: { key: string; ms: number }, signal: AbortSignal, meta: unknown) => {
    note({ tool: 'write', what: 'begin', key, meta })
    signal.addEventListener('abort', () => note({ tool: 'write', what: 'abort', key }))
    await sleep(ms)
    note({ tool: 'write', what: 'end', key })
    return text(`wrote ${key}`)
  }
  server.registerTool(
    'write',
    { description: 'Writes a key.', inputSchema: z.object({ key, ms }) },
    (input, { mcpReq }) => write(input, mcpReq.signal, mcpReq._meta),
  )
  server.registerTool(
    'put',
    {
      description: 'Puts a key; a second time changes nothing.',
      inputSchema: z.object({ key, ms }),
      annotations: { idempotentHint: true },
    },
    (input, { mcpReq }) => write(input, mcpReq.signal, mcpReq._meta),
  )
  server.registerTool(
    'count',
    { description: 'Reports progress.', inputSchema: z.object({ to: z.number() }), annotations: { readOnlyHint: true } },
    async ({ to }, { mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken
      for (let progress = 1; progressToken !== undefined && progress <= to; progress++)
        await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: to } })
      return text(`counted to ${to}`)
    },
  )
  const confirm = z.object({ confirm: z.boolean() })
  server.registerTool(
    'pay',
    {
      description: 'Pays, after a question.',
      inputSchema: z.object({ amount: z.number() }),
      annotations: { destructiveHint: true },
    },
    async ({ amount }, { mcpReq }) => {
      const { inputResponses } = mcpReq
      note({ tool: 'pay', what: 'enter', amount, state: mcpReq.requestState() })
      const given = inputResponses?.confirm
      if (given && 'action' in given && given.action !== 'accept')
        return { ...text(`not paid: ${given.action}`), isError: true }
      if (acceptedContent(inputResponses, 'confirm', confirm)?.confirm !== true)
        return inputRequired({
          requestState: `quote-${amount}`,
          inputRequests: {
            confirm: inputRequired.elicit({ message: `Pay ${amount}?`, requestedSchema: confirm }),
          },
        })
      note({ tool: 'pay', what: 'paid', amount, state: mcpReq.requestState() })
      return text(`paid ${amount}`)
    },
  )
  server.registerTool('fail', { description: 'Fails.', inputSchema: z.object({}) }, () => ({
    ...text('the disk is full'),
    isError: true,
  }))
  return server
}

const [port] = process.argv.slice(2)
if (port === undefined) serveStdio(make)
else {
  const { fetch } = createMcpHandler(make)
  const server = createServer((request, response) => void answer(request, response))
  server.listen(Number(port), '127.0.0.1', () => process.stdout.write(`${JSON.stringify(server.address())}\n`))

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { authorization } = request.headers
    if (TOKEN !== undefined) note({ what: 'request', authorization })
    const gone = new AbortController()
    response.on('close', () => gone.abort())
    const body: Buffer[] = []
    for await (const chunk of request) body.push(chunk)
    const { status, headers, body: stream } = await fetch(
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
