/** Our server, of both protocols. `note` receives a line when a handler begins and when it ends. */

import { setTimeout as sleep } from 'node:timers/promises'
import { acceptedContent, inputRequired, McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'

const text = (text: string) => ({ content: [{ type: 'text' as const, text }] })

export function trialServer(note: (line: object) => void): McpServer {
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
    {
      description: 'Reports progress.',
      inputSchema: z.object({ to: z.number() }),
      annotations: { readOnlyHint: true },
    },
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
      const said = z.object({ action: z.enum(['decline', 'cancel']) }).safeParse(inputResponses?.confirm)
      if (said.success) return { ...text(`not paid: ${said.data.action}`), isError: true }
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
