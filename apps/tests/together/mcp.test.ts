/** Tools of MCP servers with eager tools, approval and threads. */

import { call, collect, cut, respond, type ScriptStep, say, scriptedModel } from '@meanwhile/assemble/testing'
import { type AgentOptions, createAgent, type Middleware, textOf } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { type HttpServer, type McpOptions, mcp, mcpOf } from '@meanwhile/mcp'
import { approve, memoryBackend, offloadToolResults, redact, retryModel } from '@meanwhile/middleware'
import { createThreads, memoryThreads } from '@meanwhile/threads'
import { chatHandler } from '@meanwhile/ui/ai-sdk'
import { createMcpHandler, inputRequired, McpServer } from '@modelcontextprotocol/server'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'

/** A server in this process, until the test has ended. */
function served(make: () => McpServer): HttpServer {
  const handler = createMcpHandler(make)
  onTestFinished(() => handler.close())
  return { url: 'http://store.test/mcp', fetch: (url, init) => handler.fetch(new Request(url, init)) }
}

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
  return { server: served(make), did }
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

test('a question that one process shows to useChat is answered in another one, which connects itself; it is acted on once (MC13, MC14)', async () => {
  const { server, did } = store()
  const kept = memoryThreads()
  const connects: string[] = []
  /** A server process with its own agent, connections and handler. */
  const begun = (name: string) => {
    const watched: HttpServer = {
      ...server,
      async fetch(url, init) {
        if (typeof init?.body === 'string' && init.body.includes('server/discover')) connects.push(name)
        return (await server.fetch?.(url, init)) ?? new Response()
      },
    }
    const servers = mcp({ servers: { store: watched } })
    const last = respond(say('Bought.'))
    const model = scriptedModel(name === 'first' ? [respond(call('buy')), last] : [last])
    const threads = createThreads({ agent: createAgent({ model, middleware: [servers] }), store: kept })
    const handler = chatHandler({ threads, open: () => undefined })
    const request = async (path: string, body?: object) => {
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
      return await (await handler(new Request(`http://chat.test/api/chat${path}`, body ? init : {}))).text()
    }
    return { request, close: () => servers.close() }
  }
  const first = begun('first')
  const parts = [{ type: 'text', text: 'Buy' }]
  await first.request('', { id: 't', trigger: 'submit-message', messages: [{ id: 'm1', role: 'user', parts }] })
  await first.close()
  const second = begun('second')
  const { messages } = JSON.parse(await second.request('/t')) as { readonly messages: readonly Shown[] }
  const turn = messages.at(-1)
  const [question] = turn?.metadata?.questions ?? []
  expect(question).toMatchObject({
    payload: { mcp: 'store', tool: 'buy', requests: { confirm: { params: { message: 'Buy?' } } } },
    answerSchema: { type: 'object', required: ['confirm'] },
  })
  const answer = (given: object) => ({
    id: 't',
    trigger: 'submit-message',
    messages: [{ id: turn?.id, role: 'assistant', parts: [] }],
    answers: { [question?.id ?? '']: given },
  })
  expect(await second.request('', answer({ confirm: 'yes' }))).toContain('confirm')
  expect(await second.request('', answer({ confirm: { action: 'accept', content: {} } }))).toContain('Bought.')
  await second.request('', answer({ confirm: { action: 'accept', content: {} } }))
  expect(did).toEqual(['buy', 'buy answered'])
  expect(connects).toEqual(['first', 'second'])
  await second.close()
})

interface Shown {
  readonly id: string
  readonly metadata?: { readonly questions?: readonly { readonly id: string }[] }
}

test('no question is asked for a call that started early and is then discarded (MC16)', async () => {
  const { server, did } = store()
  const asked: string[] = []
  await using servers = mcp({
    servers: { store: server },
    effects: { buy: 'read' },
    questions: async ({ tool }) => {
      asked.push(tool)
      return { action: 'accept', content: {} }
    },
  })
  const ran = async (end: ScriptStep, ...next: readonly ScriptStep[]) => {
    const model = scriptedModel([respond(call('buy', {}), say('and more'), end), respond(...next, say('done'))], {
      pace: { firstToken: 0, betweenTokens: 20 },
    })
    await collect(
      createAgent({ model, middleware: [servers, retryModel({ baseDelay: 1 }), eagerTools()] }).stream('Go'),
    )
    return [did.splice(0), asked.splice(0)]
  }
  expect(await ran(cut())).toEqual([['buy'], []])
  expect(await ran(say('!'))).toEqual([['buy', 'buy answered'], ['buy']])
})

test('results of a server are bounded by outputLimits and stored by offloadToolResults like all others (MC21)', async () => {
  const { server } = store()
  await using servers = mcp({ servers: { store: server } })
  const read = async (options: Partial<AgentOptions>, middleware: readonly Middleware[] = []) => {
    const model = scriptedModel([respond(call('get', { key: 'k' })), respond(say('done'))])
    const { messages } = await createAgent({ model, ...options, middleware: [servers, ...middleware] }).run('Go')
    const message = messages.find(({ role }) => role === 'tool')
    return message && textOf(message)
  }
  expect(await read({})).toBe('get k: jane@example.com')
  expect(await read({ outputLimits: { characters: 10 } })).toMatch(/^The tool ran and finished/)
  const offload = offloadToolResults({ backend: memoryBackend(), maxBytes: 10, preview: 5 })
  expect(await read({}, [offload])).toMatch(/^get k.*full result is in/s)
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
      const servers = mcp({ servers: { store: served(make(words)) } })
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
