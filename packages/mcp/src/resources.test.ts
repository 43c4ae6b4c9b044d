import { call } from '@meanwhile/assemble/testing'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/server'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { initialized, listed, raw, served } from '../test/in-process.ts'
import { ran, toolsOf } from '../test/runs.ts'
import { type HttpServer, type McpLimits, mcpOf, mcpPrompt, mcpTools } from './index.ts'

/** A server with resources and a prompt. */
const library = () =>
  served(() => {
    const server = new McpServer({ name: 'library', version: '1.0.0' })
    server.registerResource('menu', 'menu://today', { description: 'The menu of today.' }, (uri) => ({
      contents: [{ uri: uri.href, text: 'Soup' }],
    }))
    const photos = new ResourceTemplate('photo://{name}', { list: undefined })
    server.registerResource('photo', photos, {}, (uri) => ({
      contents: [{ uri: uri.href, mimeType: 'image/png', blob: 'aGk=' }],
    }))
    server.registerPrompt('greet', { argsSchema: z.object({ name: z.string() }) }, ({ name }) => ({
      messages: [
        { role: 'user', content: { type: 'text', text: `Greet ${name}.` } },
        { role: 'user', content: { type: 'image', mimeType: 'image/png', data: 'aGk=' } },
        { role: 'assistant', content: { type: 'text', text: `Hello ${name}!` } },
      ],
    }))
    return server
  })

test('with resources: true a model lists the resources of a server and reads them; both tools are reads (MC23)', async () => {
  const effects: unknown[] = []
  const look = {
    name: 'look',
    beforeAgent: ({ tools }: { readonly tools: readonly { readonly effect?: unknown }[] }) =>
      void effects.push(...tools.map(({ effect }) => effect)),
  }
  const calls = [
    call('mcp_list_resources', {}),
    call('mcp_read_resource', { uri: 'menu://today' }),
    call('mcp_read_resource', { uri: 'photo://me' }),
    call('mcp_read_resource', { uri: 'menu://never' }),
  ]
  const { read, result, tools } = await ran({ servers: { a: { ...library(), resources: true } } }, calls, {
    middleware: [look],
  })
  expect(tools.map(({ name }) => name)).toEqual(['mcp_list_resources', 'mcp_read_resource'])
  expect(effects).toEqual(['read', 'read'])
  expect(read[0]).toBe('{"uri":"menu://today","name":"menu","description":"The menu of today."}')
  expect(read[1]).toBe('Soup')
  expect(result?.messages[4]).toMatchObject({ content: [{ type: 'file', mediaType: 'image/png', data: 'aGk=' }] })
  expect(read[3]).toMatch(/^a: .*menu:\/\/never/)
  expect((await toolsOf({ servers: { a: library() } })).names).toEqual([])
})

test('a list of resources says where its next page begins, even if it is cut, and one bad resource costs no other (MC23)', async () => {
  const server = raw(({ method, params }) => {
    if (method === 'initialize') return initialized({ resources: {} })
    if (method === 'tools/list') return { tools: [listed('mcp_read_resource')] }
    if (method !== 'resources/list') return undefined
    if (params?.cursor === 'two') return { resources: [] }
    return { resources: [null, { uri: 7 }, { uri: 'a://b', name: 'x'.repeat(80) }], nextCursor: 'two' }
  })
  const calls = [call('mcp_list_resources', {}), call('mcp_list_resources', { cursor: 'two' })]
  const { read, result } = await ran({ servers: { a: { ...server, resources: true } }, limits: { text: 50 } }, calls)
  expect(read[0]).toMatch(
    /^\{"uri":7\}\n\{"uri":"a:\/\/b".*\n\[cut: \d+ more characters\]more: call with \{"cursor":"two"\}$/,
  )
  expect(read[1]).toBe('The server has no resources.')
  expect(result?.warnings).toMatchObject([
    { message: 'a: its tool "mcp_read_resource" is left out: another tool has its name' },
  ])
})

test('our tools for resources do not count as tools of the server (MC11, MC23)', async () => {
  const server = raw(({ method }) => {
    if (method === 'initialize') return initialized({ resources: {} })
    return method === 'tools/list' ? { tools: [listed('one'), listed('two')] } : undefined
  })
  const servers = { a: { ...server, resources: true } }
  expect((await toolsOf({ servers, limits: { tools: 2 } })).names).toHaveLength(4)
  await expect(toolsOf({ servers, limits: { tools: 1 } })).rejects.toThrow('a: it has more than 1 tools')
})

test('a resource whose text is not a string is not an answer (MC23)', async () => {
  const server = raw(({ method }) => {
    if (method === 'initialize') return initialized({ resources: {} })
    if (method === 'tools/list') return { tools: [] }
    return method === 'resources/read' ? { contents: [{ uri: 'a://b', text: null, blob: 'aGk=' }] } : undefined
  })
  const calls = [call('mcp_read_resource', { uri: 'a://b' })]
  expect((await ran({ servers: { a: { ...server, resources: true } } }, calls)).read).toEqual([
    'a: it has run, but its answer is not valid',
  ])
})

test('the tools for resources of several servers have their names before theirs, and a server without resources has a warning (MC7, MC23)', async () => {
  const servers = {
    a: { ...library(), resources: true },
    b: { ...library(), resources: true },
    c: { ...raw(({ method }) => (method === 'tools/list' ? { tools: [] } : undefined)), resources: true },
  }
  const { names, warnings } = await toolsOf({ servers })
  expect(names).toEqual(['a_mcp_list_resources', 'a_mcp_read_resource', 'b_mcp_list_resources', 'b_mcp_read_resource'])
  expect(warnings).toMatchObject([{ code: 'mcp-tool', message: 'c: it has no resources' }])
})

async function connected({ url, fetch }: HttpServer) {
  const client = new Client({ name: 'us', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } })
  await client.connect(new StreamableHTTPClientTransport(new URL(String(url)), { ...(fetch && { fetch }) }))
  return { client, [Symbol.asyncDispose]: () => client.close() }
}

test('mcpTools has the tools for resources, too (MC23)', async () => {
  await using connection = await connected(library())
  const [list] = await mcpTools(connection.client, { server: 'a', resources: true })
  expect(list && mcpOf(list)).toMatchObject({ server: 'a', name: 'mcp_list_resources' })
})

test('mcpPrompt returns the messages of a prompt, with the limits of content (MC23)', async () => {
  await using connection = await connected(library())
  const prompt = (limits?: McpLimits) => mcpPrompt(connection.client, 'greet', { name: 'Ada' }, limits)
  expect(await prompt()).toEqual([
    { role: 'user', content: [{ type: 'text', text: 'Greet Ada.' }] },
    { role: 'user', content: [{ type: 'file', mediaType: 'image/png', data: 'aGk=' }] },
    { role: 'assistant', content: [{ type: 'text', text: 'Hello Ada!' }], finishReason: 'stop' },
  ])
  expect((await prompt({ text: 5, fileBytes: 1 })).map(({ content }) => content)).toMatchObject([
    [{ text: 'Greet\n[cut: 5 more characters]' }],
    [{ type: 'text', text: '[a file of image/png with 3 bytes, more than 1]' }],
    [{ text: 'Hello\n[cut: 5 more characters]' }],
  ])
})
