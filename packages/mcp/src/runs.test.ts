import { call, respond, type ScriptStep, say, scriptedModel } from '@meanwhile/assemble/testing'
import { type Checkpoint, contextOf, createAgent, interrupt, type Middleware, type Tool, tool } from '@meanwhile/core'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { bodyOf, event, listed, listing, raw, streamed, trial } from '../test/in-process.ts'
import { ran, readIn, toolsOf } from '../test/runs.ts'
import { type Drift, type HttpServer, McpConnectionError, McpDriftError, type McpOptions, mcp, mcpOf } from './index.ts'

const down: HttpServer = {
  url: 'http://server.test/mcp?key=secret',
  fetch: () => Promise.reject(Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNREFUSED' } })),
}

test('a server that cannot be reached ends the run before its first model call, with an error that names only the server (MC1, MC6)', async () => {
  const { error, tools } = await ran({ servers: { a: trial().server, b: down } }, [say('hi')])
  expect(error).toBeInstanceOf(McpConnectionError)
  expect(error).toMatchObject({ server: 'b', message: 'b: cannot be reached (ECONNREFUSED)' })
  expect(error).not.toHaveProperty('cause')
  expect(tools).toEqual([])
})

test('an optional server that cannot be reached is left out with a warning (MC1)', async () => {
  const { names, warnings } = await toolsOf({
    servers: { a: listing([listed('one')]), b: { ...down, optional: true } },
  })
  expect(names).toEqual(['one'])
  expect(warnings).toMatchObject([{ code: 'mcp-server', message: 'b: cannot be reached (ECONNREFUSED)' }])
})

test('a server whose first answer is not valid is not asked again: the error names the member (MC4)', async () => {
  let asked = 0
  const server = raw(({ method }) => {
    if (method === 'initialize') asked++
    return method === 'initialize'
      ? { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'a' } }
      : undefined
  })
  const { error } = await ran({ servers: { a: server } }, [say('hi')])
  expect(error).toMatchObject({ message: 'a: cannot be reached (INVALID_RESULT at serverInfo.version)' })
  expect(asked).toBe(1)
})

test('an address that is not one of HTTP is a ConfigError before any run (MC1)', () => {
  for (const url of ['nonsense', 'localhost:3000/mcp', new URL('file:///mcp')])
    expect(() => mcp({ servers: { a: { url } } })).toThrow(
      expect.objectContaining({ name: 'ConfigError', option: 'servers.a.url' }),
    )
})

test('close does not wait for a transport that never comes, and its run fails (MC1)', async () => {
  const begun = Promise.withResolvers<void>()
  const servers = mcp({
    servers: {
      a: {
        connect() {
          begun.resolve()
          return new Promise(() => {})
        },
      },
    },
  })
  const run = createAgent({ model: scriptedModel([]), middleware: [servers] }).run('Go')
  const failed = run.catch((error: unknown) => error)
  await begun.promise
  await servers.close()
  expect(await failed).toMatchObject({ message: 'a: was closed before it was connected' })
})

/** A server with tools that change, and how often it was asked for them. */
function changing(tools: readonly object[]) {
  const now = { tools, lists: 0, connects: 0 }
  const inner = raw(({ method }) => {
    if (method === 'tools/list') now.lists++
    if (method === 'tools/list') return { tools: now.tools }
    return method === 'tools/call' ? { content: [{ type: 'text', text: 'ok' }] } : undefined
  })
  const server: HttpServer = {
    ...inner,
    async fetch(url, init) {
      if (bodyOf(init).includes('"initialize"')) now.connects++
      return (await inner.fetch?.(url, init)) ?? new Response()
    },
  }
  return { server, now }
}

test('runs share a connection and its list, side by side and one after another; close ends it, and the next run connects again (MC1, MC8)', async () => {
  const { server, now } = changing([listed('one')])
  const servers = mcp({ servers: { a: server } })
  const agent = () => createAgent({ model: scriptedModel([respond(say('done'))]), middleware: [servers] })
  await Promise.all([agent().run('Go'), agent().run('Go'), agent().run('Go')])
  await agent().run('Go')
  expect(now).toMatchObject({ connects: 1, lists: 1 })
  await servers.close()
  await agent().run('Go')
  expect(now).toMatchObject({ connects: 2, lists: 2 })
  await servers.close()
})

test('a server is asked for the 2026 protocol first; one that does not know it speaks that of 2025 (MC2)', async () => {
  const methods: string[] = []
  const server = raw(({ method }) => {
    methods.push(method)
    return method === 'tools/list' ? { tools: [] } : undefined
  })
  expect((await ran({ servers: { a: server } }, [say('hi')])).result?.status).toBe('completed')
  expect(methods).toEqual(['server/discover', 'initialize', 'tools/list'])
})

test('when the tools of a server have changed and it has sent that, a run keeps those that it began with, and the next one has the new (MC8)', async () => {
  let tools = [listed('one')]
  let lists = 0
  const server = raw(({ id, method }) => {
    if (method === 'tools/list') {
      lists++
      return { tools }
    }
    if (method !== 'tools/call') return undefined
    tools = [listed('two')]
    return streamed([
      event({ method: 'notifications/tools/list_changed' }),
      event({ id, result: { content: [{ type: 'text', text: 'ok' }] } }),
    ])
  })
  await using servers = mcp({ servers: { a: server } })
  const offered = async (...steps: readonly ScriptStep[]) => {
    const model = scriptedModel([...(steps.length > 0 ? [respond(...steps)] : []), respond(say('done'))])
    const result = await createAgent({ model, middleware: [servers] }).run('Go')
    return [model.requests.map((request) => request.tools?.map(({ name }) => name)), readIn(result)]
  }
  expect(await offered(call('one', {}))).toEqual([[['one'], ['one']], ['ok']])
  expect(lists).toBe(1)
  expect(await offered()).toEqual([[['two']], []])
  expect(await offered()).toEqual([[['two']], []])
  expect(lists).toBe(2)
})

test('runs share a connection only with their own identity, and each sends only its own credentials (MC1)', async () => {
  const sent = new Map<string, Set<string>>()
  const inner = raw(({ method, params }) => {
    if (method === 'tools/list') return { tools: [listed('who', { inputSchema: WHO })] }
    return method === 'tools/call' ? { content: [{ type: 'text', text: String(params?.name) }] } : undefined
  })
  const user = contextOf(z.object({ name: z.string() }))
  await using servers = mcp({
    context: user,
    servers: {
      a: {
        url: 'http://server.test/mcp',
        identity: ({ name }) => name,
        requestInit: ({ name }) => ({ headers: { authorization: `Bearer ${name}` } }),
        async fetch(url, init) {
          const token = new Headers(init?.headers).get('authorization') ?? ''
          const { params } = JSON.parse(bodyOf(init))
          const name = params?.arguments?.name
          if (name !== undefined) sent.set(token, (sent.get(token) ?? new Set()).add(name))
          return (await inner.fetch?.(url, init)) ?? new Response()
        },
      },
    },
  })
  const names = Array.from({ length: 20 }, (_, index) => `user-${index}`)
  await Promise.all(
    names.map((name) => {
      const model = scriptedModel([respond(call('who', { name })), respond(say('done'))])
      return createAgent({ model, middleware: [servers] }).run('Go', { context: { name } })
    }),
  )
  expect(sent.size).toBe(20)
  for (const [token, users] of sent) expect([...users]).toEqual([token.replace('Bearer ', '')])
})

const WHO = { type: 'object', properties: { name: { type: 'string' } } }

test('a credential per user without an identity is a ConfigError (MC1)', () => {
  const token = () => ({ headers: {} })
  expect(() => mcp({ servers: { a: { url: 'http://server.test', requestInit: token } } })).toThrow(
    'servers.a.identity: is required, because requestInit depends on the context of the run',
  )
})

test('an idle connection is closed, and the next run opens another one (MC1)', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const { server, now } = changing([listed('one')])
    await using servers = mcp({ servers: { a: { ...server, idleAfter: 1_000 } } })
    const go = () => createAgent({ model: scriptedModel([respond(say('done'))]), middleware: [servers] }).run('Go')
    await go()
    await vi.advanceTimersByTimeAsync(999)
    await go()
    expect(now.connects).toBe(1)
    await vi.advanceTimersByTimeAsync(2_000)
    await go()
    expect(now.connects).toBe(2)
  } finally {
    vi.useRealTimers()
  }
})

test('a connection that a run still used after close does not take the place of the next one (MC1)', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const { server, now } = changing([listed('one')])
    await using servers = mcp({ servers: { a: { ...server, idleAfter: 1_000 } } })
    const gates: (() => void)[] = []
    const stay = tool({
      name: 'stay',
      description: 'Stays until it is let go.',
      input: z.object({}),
      execute: () => new Promise<string>((resolve) => gates.push(() => resolve('gone'))),
    })
    const go = (...calls: readonly ScriptStep[]) => {
      const model = scriptedModel([...(calls.length > 0 ? [respond(...calls)] : []), respond(say('done'))])
      return createAgent({ model, tools: [stay], middleware: [servers] }).run('Go')
    }
    const first = go(call('stay', {}))
    await vi.waitUntil(() => gates.length === 1)
    await servers.close()
    const second = go(call('stay', {}))
    await vi.waitUntil(() => gates.length === 2)
    gates[0]?.()
    await first
    await vi.advanceTimersByTimeAsync(2_000)
    await go()
    expect(now.connects).toBe(2)
    gates[1]?.()
    await second
  } finally {
    vi.useRealTimers()
  }
})

const ask = tool({
  name: 'ask',
  description: 'Asks.',
  input: z.object({}),
  execute: (_, { answers }) => (answers.length > 0 ? 'told' : interrupt('Well?')),
})

/** A run that stops with a question, and its resume by an agent with other servers. The model then makes these calls. */
async function acrossProcesses(before: McpOptions, after: McpOptions, ...calls: readonly ScriptStep[]) {
  const first = await ran(before, [call('ask', {})], { tools: [ask] })
  if (first.result?.status !== 'interrupted') throw first.error ?? new Error('no question')
  const checkpoint = JSON.parse(JSON.stringify(first.result.checkpoint)) as Checkpoint
  await using servers = mcp(after)
  const model = scriptedModel([...(calls.length > 0 ? [respond(...calls)] : []), respond(say('done'))])
  const agent = createAgent({ model, tools: [ask], middleware: [servers] })
  const result = await agent.resume(checkpoint, { [first.result.interrupts[0]?.id ?? '']: true }).result
  return { result, read: readIn(result).slice(1), tools: model.requests[0]?.tools?.map(({ name }) => name) }
}

test('runs share the tools of a server, and what a run remembers of them is what it began with (MC8, MC10)', async () => {
  const { server, now } = changing([listed('one'), listed('two')])
  const drifts: Drift[] = []
  const options: McpOptions = { servers: { a: server }, effects: { one: () => 'read' } }
  await using servers = mcp({ ...options, onDrift: (changes) => drifts.push(...changes) })
  const seen: (readonly Tool[])[] = []
  const look: Middleware = { name: 'look', beforeAgent: ({ tools }) => void seen.push(tools) }
  const agent = (...tools: readonly Tool[]) =>
    createAgent({
      model: scriptedModel([respond(call('ask', {})), respond(say('done'))]),
      tools: [ask, ...tools],
      middleware: [servers, look],
    })
  const own = tool({ name: 'two', description: 'Own.', input: z.object({}), execute: () => '' })
  await agent().run('Go')
  await agent().run('Go')
  await agent(own).run('Go')
  expect(seen.map((tools) => tools.map(({ name }) => name))).toEqual([
    ['ask', 'one', 'two'],
    ['ask', 'one', 'two'],
    ['ask', 'two', 'one', 'a_two'],
  ])
  expect(seen[1]?.map((one, index) => one === seen[0]?.[index])).toEqual([true, true, true])
  expect(seen[2]?.[2]).toBe(seen[0]?.[1])
  // A hook cannot change what later runs have.
  expect(seen[0]?.slice(1).map(Object.isFrozen)).toEqual([true, true])
  now.tools = [listed('one', { description: 'Other.' }), listed('two')]
  await servers.close()
  const asked = await agent().run('Go')
  if (asked.status !== 'interrupted') throw new Error('no question')
  expect(seen[3]?.[1]?.description).toBe('Other.')
  await agent().resume(asked.checkpoint, { [asked.interrupts[0]?.id ?? '']: true }).result
  expect(drifts).toEqual([])
})

test('a resumed run goes on without a tool that its server has lost: a call of it fails (MC10)', async () => {
  const drifts: Drift[] = []
  const { read, tools } = await acrossProcesses(
    { servers: { a: listing([listed('one'), listed('two')]) } },
    { servers: { a: listing([listed('one')]) }, onDrift: (changes) => drifts.push(...changes) },
    call('two', {}),
  )
  expect(tools).toEqual(['ask', 'one', 'two'])
  expect(read).toEqual(['a: two is missing: the server cannot be reached, or no longer has it'])
  expect(drifts).toEqual([{ server: 'a', name: 'two', before: expect.stringMatching(/^[0-9a-f]{64}$/) }])
})

test('onDrift receives a definition that has changed since the run began, before anything runs (MC10)', async () => {
  const drifts: Drift[] = []
  await acrossProcesses(
    { servers: { a: listing([listed('one')]) } },
    {
      servers: { a: listing([listed('one', { description: 'Other.' })]) },
      onDrift: (changes) => drifts.push(...changes),
    },
  )
  expect(drifts).toMatchObject([{ server: 'a', name: 'one', now: expect.stringMatching(/^[0-9a-f]{64}$/) }])
})

test('the hash of a definition is the same in all versions: pins and checkpoints have it (MC10)', async () => {
  const inputSchema = JSON.parse(
    '{"type":"object","properties":{"10":{"type":["string","null"],"enum":["a",null,1.5,true]},"2":{"default":0},"a":{"maxLength":1e21},"__proto__":{"const":{}}},"required":[]}',
  )
  const odd = {
    name: 'look "up"',
    description: 'Grüße, \u2028 a\\b\u0001 \ud83d\ude00 \ud800',
    inputSchema,
    annotations: { readOnlyHint: true, title: 'Look' },
  }
  const pin = { [odd.name]: '5e99dadd06bf9d8310b3684464bbb762ced061db05b5e4eae4058d3d1bb8a06c' }
  const { error, tools } = await ran({ servers: { a: listing([odd]) }, pin }, [say('hi')])
  expect(error).toBeUndefined()
  expect(tools).toEqual([{ name: 'look__up_', description: odd.description, inputSchema }])
})

test('a pinned tool with another definition ends the run with McpDriftError; the hash does not depend on the order of members (MC10)', async () => {
  const hashes: Record<string, string> = {}
  const servers = { a: listing([listed('one', { description: 'One.' })]) }
  await ran({ servers }, [say('hi')], {
    middleware: [
      {
        name: 'look',
        beforeAgent(setup) {
          for (const one of setup.tools) hashes[one.name] = mcpOf(one)?.hash ?? ''
        },
      },
    ],
  })
  const reordered = { a: listing([{ description: 'One.', inputSchema: { type: 'object' }, name: 'one' }]) }
  expect((await ran({ servers: reordered, pin: hashes }, [say('hi')])).result?.status).toBe('completed')
  const { error } = await ran({ servers: { a: listing([listed('one')]) }, pin: hashes }, [say('hi')])
  expect(error).toBeInstanceOf(McpDriftError)
  expect(error).toMatchObject({ message: 'a: one: not the pinned definition', changes: [{ before: hashes.one }] })
})
