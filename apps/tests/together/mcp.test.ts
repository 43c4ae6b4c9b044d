/** Tools of MCP servers with eager tools, approval and threads. */

import { call, collect, cut, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { type HttpServer, type McpOptions, mcp, mcpOf } from '@meanwhile/mcp'
import { approve, redact, retryModel } from '@meanwhile/middleware'
import { createThreads, memoryThreads } from '@meanwhile/threads'
import { createMcpHandler, inputRequired, McpServer } from '@modelcontextprotocol/server'
import { expect, test } from 'vitest'
import { z } from 'zod'

/** A server, and the calls that it has received. */
function store(): { readonly server: HttpServer; readonly did: string[] } {
  const did: string[] = []
  const make = () => {
    const server = new McpServer({ name: 'store', version: '1.0.0' })
    const add = (name: string, annotations: object) =>
      server.registerTool(name, { inputSchema: z.object({ key: z.string() }), annotations }, ({ key }) => {
        did.push(`${name} ${key}`)
        return { content: [{ type: 'text', text: `${name} ${key}: jane@example.com` }] }
      })
    add('get', { readOnlyHint: true })
    add('put', { idempotentHint: true })
    add('drop', { destructiveHint: true })
    server.registerTool('buy', { inputSchema: z.object({}) }, (_, { mcpReq }) => {
      const confirm = mcpReq.inputResponses?.confirm
      did.push(confirm ? 'buy answered' : 'buy')
      if (confirm) return { content: [{ type: 'text', text: 'bought' }] }
      const form = { message: 'Buy?', requestedSchema: z.object({}) }
      return inputRequired({ inputRequests: { confirm: inputRequired.elicit(form) } })
    })
    return server
  }
  const handler = createMcpHandler(make)
  return { server: { url: 'http://store.test/mcp', fetch: (url, init) => handler.fetch(new Request(url, init)) }, did }
}

/** What was called in a run whose first response is cut after its call, and whose second one does not request it. */
async function cutAfterCall(name: string, options: Omit<McpOptions, 'servers'>) {
  const { server, did } = store()
  await using servers = mcp({ servers: { store: server }, ...options })
  const asking = respond(call(name, { key: 'k' }), say('and more'), cut())
  const model = scriptedModel([asking, respond(say('done'))], { pace: { firstToken: 0, betweenTokens: 20 } })
  await collect(createAgent({ model, middleware: [servers, retryModel({ baseDelay: 1 }), eagerTools()] }).stream('Go'))
  return did
}

test('with trust a read-only tool starts early, and neither idempotentHint nor a missing hint starts one (MC9)', async () => {
  expect(await cutAfterCall('get', { trust: 'annotations' })).toEqual(['get k'])
  expect(await cutAfterCall('put', { trust: 'annotations' })).toEqual([])
  expect(await cutAfterCall('drop', { trust: 'annotations' })).toEqual([])
  expect(await cutAfterCall('get', {})).toEqual([])
  expect(await cutAfterCall('get', { trust: 'annotations', effects: { get: 'external' } })).toEqual([])
})

test('approve() asks about what a server marks as destructive, and redact() changes what it returns (MC21)', async () => {
  const { server, did } = store()
  await using servers = mcp({ servers: { store: server } })
  const asks = approve({
    tools: ({ name }, run) => {
      const tool = run.setup.tools.find((one) => one.name === name)
      return (tool && mcpOf(tool)?.annotations.destructiveHint) === true
    },
  })
  const model = scriptedModel([respond(call('drop', { key: 'k' }), call('get', { key: 'k' })), respond(say('done'))])
  const result = await createAgent({
    model,
    middleware: [servers, redact({ patterns: [{ kind: 'email', pattern: /[a-z]+@[a-z.]+/ }], persist: true }), asks],
  }).run('Go')
  expect(result.status).toBe('interrupted')
  expect(did).toEqual(['get k'])
  expect(JSON.stringify(result.messages)).not.toContain('jane@example.com')
})

const down: HttpServer = {
  url: 'http://down.test/mcp',
  fetch: () => Promise.reject(Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNREFUSED' } })),
}

test('approve() with an optional server that is down needs mayBeMissing (MC1)', async () => {
  await using servers = mcp({ servers: { down: { ...down, optional: true } } })
  const run = (mayBeMissing: boolean) => {
    const model = scriptedModel([respond(say('done'))])
    return createAgent({ model, middleware: [servers, approve({ tools: ['drop'], mayBeMissing })] }).run('Go')
  }
  await expect(run(false)).rejects.toThrow('tools: drop')
  expect((await run(true)).status).toBe('completed')
})

test('a question of a server waits in a thread, and its answer is acted on once (MC13)', async () => {
  const { server, did } = store()
  await using servers = mcp({ servers: { store: server } })
  const model = scriptedModel([respond(call('buy')), respond(say('Bought.'))])
  const threads = createThreads({ agent: createAgent({ model, middleware: [servers] }), store: memoryThreads() })
  const turn = await threads.send('t', 'Buy')
  const { interrupts = [] } = await turn.result
  expect(interrupts).toMatchObject([{ payload: { mcp: 'store', tool: 'buy' } }])
  await threads.answer('t', { [interrupts[0]?.id ?? '']: { confirm: { action: 'accept', content: {} } } })
  expect((await turn.result).text).toBe('Bought.')
  expect(did).toEqual(['buy', 'buy answered'])
})

test('a remembered approval does not hold for a tool whose server has changed its definition (MC10)', async () => {
  const asked: string[] = []
  const after = async (description: string) => {
    const make = (words: string) => () => {
      const server = new McpServer({ name: 'store', version: '1.0.0' })
      const definition = { description: words, inputSchema: z.object({}) }
      server.registerTool('wipe', definition, () => ({ content: [{ type: 'text', text: 'wiped' }] }))
      server.registerTool('ask', { inputSchema: z.object({}) }, (_, { mcpReq }) => {
        if (mcpReq.inputResponses) return { content: [{ type: 'text', text: 'told' }] }
        const form = { message: 'Well?', requestedSchema: z.object({}) }
        return inputRequired({ inputRequests: { well: inputRequired.elicit(form) } })
      })
      return server
    }
    const agent = (words: string, ...calls: string[]) => {
      const handler = createMcpHandler(make(words))
      const url = 'http://store.test/mcp'
      const servers = mcp({ servers: { store: { url, fetch: (url, init) => handler.fetch(new Request(url, init)) } } })
      const asks = approve({
        tools: ['wipe'],
        remember: 'run',
        ask: ({ tool }) => {
          asked.push(`${words}: ${tool}`)
          return { decision: 'allow' }
        },
      })
      const model = scriptedModel([...calls.map((name) => respond(call(name))), respond(say('done'))])
      return createAgent({ model, middleware: [servers, asks] })
    }
    const result = await agent('Wipes a cache.', 'wipe', 'ask').run('Go')
    if (result.status !== 'interrupted') throw new Error('no question')
    const answers = { [result.interrupts[0]?.id ?? '']: { well: { action: 'decline' } } }
    await agent(description, 'wipe').resume(result.checkpoint, answers).result
    return asked.splice(0)
  }
  expect(await after('Wipes a cache.')).toEqual(['Wipes a cache.: wipe'])
  expect(await after('Wipes a disk.')).toEqual(['Wipes a cache.: wipe', 'Wipes a disk.: wipe'])
})
