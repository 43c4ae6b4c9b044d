import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { type AgentResult, createAgent, type ToolMessage } from '@meanwhile/core'
import type { FetchLike } from '@modelcontextprotocol/client'
import * as sdk from '@modelcontextprotocol/client'
import { McpServer } from '@modelcontextprotocol/server'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { bodyOf, event, listed, listing, type RawRequest, raw, served, streamed } from '../test/in-process.ts'
import { ran, readIn } from '../test/runs.ts'
import { mcpTools } from './index.ts'
import { LineBuffer } from './line-buffer.ts'
import { schemaOf } from './schema-of.ts'

const text = (text: unknown) => ({ type: 'text', text })
const PNG = 'iVBORw0KGgo='
const png = (more: object) => ({ type: 'image', data: PNG, mimeType: 'image/png', ...more })
const file = (mediaType: string) => ({ type: 'file', mediaType, data: PNG })

/** What the model reads of this result, as JSON and as a stream. */
async function read(result: unknown) {
  const answers = [
    (id: number) => Response.json({ jsonrpc: '2.0', id, result }),
    (id: number) => streamed([event({ id, result: result as object })]),
  ]
  const runs = answers.map(async (answer) => {
    const server = listing([listed('t')], ({ id }) => answer(id))
    return contentIn((await ran({ servers: { a: server } }, [call('t', {})])).result)
  })
  const [asJson, asStream] = await Promise.all(runs)
  expect(asStream).toEqual(asJson)
  return asJson
}

function contentIn(result: AgentResult | undefined) {
  return result?.messages.find((message): message is ToolMessage => message.role === 'tool')?.content
}

const results: readonly (readonly [string, unknown, unknown])[] = [
  ['structured content only', { structuredContent: { a: 1 } }, [text('{"a":1}')]],
  ['structured content that is a list', { structuredContent: [1, 2] }, [text('[1,2]')]],
  ['content that is null', { content: null, structuredContent: { a: 1 } }, [text('{"a":1}')]],
  ['structured content that is null', { content: [text('ok')], structuredContent: null }, [text('ok')]],
  ['one block in place of a list', { content: text('ok') }, [text('ok')]],
  ['a text in place of a list', { content: 'ok' }, [text('ok')]],
  [
    'a block with members that are null',
    { content: [{ ...text('ok'), annotations: null, _meta: null }] },
    [text('ok')],
  ],
  ['a block with odd annotations', { content: [{ ...text('ok'), annotations: { audience: 'user' } }] }, [text('ok')]],
  ['a text that is a number', { content: [text(5)] }, [text('5')]],
  ['a text that is null', { content: [text(null)] }, [text('')]],
  [
    'a file whose type is null',
    { content: [{ type: 'resource', resource: { uri: 'a:b', mimeType: null, text: 'hello' } }] },
    [text('hello')],
  ],
  [
    'an image as an address with its data',
    { content: [png({ data: `data:image/webp;base64,${PNG}` })] },
    [file('image/webp')],
  ],
  [
    'an image in an unknown form',
    { content: [{ type: 'image', data: PNG, mime_type: 'image/png' }] },
    [text('{"type":"image","mime_type":"image/png"}')],
  ],
  ['an empty image', { content: [png({ data: '' })] }, [text('[an empty file of image/png]')]],
  [
    'one bad block between others',
    { content: [text('one'), { type: 'smell', strength: 3 }, png({})] },
    [text('one'), text('{"type":"smell","strength":3}'), file('image/png')],
  ],
]

test.each(results)('a result with %s is read, because its call has run (MC21)', async (_, result, expected) => {
  expect(await read(result)).toEqual(expected)
})

const answers: readonly (readonly [string, object, string])[] = [
  ['members that are null', { result: { content: [text('ok')], isError: null, _meta: null }, error: null }, 'ok'],
  ['no version of JSON-RPC', { jsonrpc: undefined, result: { content: [text('ok')] } }, 'ok'],
  ['a text as its result', { result: 'done' }, 'done'],
  ['null as its result', { result: null }, ''],
  ['an error that is null and a text as its result', { result: 'done', error: null }, 'done'],
  ['an error that is a text', { error: 'no seats' }, 'a: no seats'],
  ['an error whose code is a text', { error: { code: 'E_SEATS', message: 'no seats' } }, 'a: no seats'],
  ['an error without a message', { error: { code: 7 } }, 'a: {"code":7}'],
  ['an error and null as its result', { result: null, error: { code: 7, message: 'no seats' } }, 'a: no seats'],
]

test.each(answers)('an answer with %s is read, as JSON and as a stream (MC19, MC21)', async (_, answer, expected) => {
  for (const sent of [(message: object) => Response.json(message), (message: object) => streamed([event(message)])]) {
    const server = listing([listed('t')], ({ id }) => sent({ jsonrpc: '2.0', id, ...answer }))
    expect((await ran({ servers: { a: server } }, [call('t', {})])).read).toEqual([expected])
  }
})

test.each(answers)(
  'on stdio an answer with %s reaches the client, so that no call waits for it without end (MC19)',
  (_, answer) => {
    const buffer = new LineBuffer(sdk, { messageBytes: 1_000, takes: () => false })
    buffer.append(Buffer.from(`\uFEFF${JSON.stringify({ jsonrpc: '2.0', id: 1, ...answer })}\n`))
    expect(buffer.readMessage()).toMatchObject({ jsonrpc: '2.0', id: 1 })
  },
)

test('what is not an answer is left as it is: the client judges it (MC19)', () => {
  const buffer = new LineBuffer(sdk, { messageBytes: 1_000, takes: () => false })
  buffer.append(Buffer.from('{"id":null,"error":{"code":-32700,"message":"Parse error"}}\n{"id":3}\n'))
  for (const problem of [/invalid_union|Invalid input/, /invalid_union|Invalid input/])
    expect(() => buffer.readMessage()).toThrow(problem)
  expect(buffer.readMessage()).toBeNull()
})

test('a call whose response is an error of no request, or empty, may have happened, and does not wait without end (MC19, MC20)', async () => {
  const error = { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'no' } }
  for (const response of [() => Response.json(error), () => new Response(null, { status: 204 })]) {
    const server = listing([listed('t')], () => response())
    expect((await ran({ servers: { a: server } }, [call('t', {})])).read).toEqual([
      'a: The result of t is unknown: the connection was lost before its answer. It may have happened.',
    ])
  }
})

test('the answer of a call that was only accepted may come on another stream (MC19)', async () => {
  let send: (message: object) => void = () => {}
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      send = (message) => controller.enqueue(event(message))
    },
  })
  const accepted = ({ id, method }: RawRequest) => {
    if (method === 'tools/list') return { tools: [listed('t')] }
    if (method !== 'tools/call') return undefined
    setTimeout(() => send({ id, result: { content: 'ok' } }), 20)
    return new Response(null, { status: 202 })
  }
  const server = raw(accepted, undefined, () => streamed(stream))
  expect((await ran({ servers: { a: server } }, [call('t', {})])).read).toEqual(['ok'])
})

test('in the protocol of 2026 structured content may be a list, and stays in the output (MC21)', async () => {
  const make = () => {
    const server = new McpServer({ name: 'lists', version: '1.0.0' })
    const outputSchema = z.array(z.string())
    server.registerTool('t', { description: 'Lists.', outputSchema }, () => ({ content: [], structuredContent: ['x'] }))
    return server
  }
  const { result, read } = await ran({ servers: { a: served(make) } }, [call('t', {})])
  expect(read).toEqual(['["x"]'])
  expect(result?.messages.find(({ role }) => role === 'tool')).toMatchObject({ content: [text('["x"]')] })
})

test('only answers of the server to our requests are changed, not those for the provider of tokens or for another user of the client (MC6, MC19)', async () => {
  const token = { id: 'https://login.test/me', access_token: 'T', error: null }
  const page = { content: 'a text', structuredContent: [1] }
  const { fetch, ...server } = listing([listed('t')], () => ({ content: 'ok' }))
  let given: unknown
  let later: Readonly<Record<'begun' | 'answer', PromiseWithResolvers<void>>> | undefined
  const authProvider = {
    token: async () => (given === undefined ? undefined : 'T'),
    onUnauthorized: async ({ fetchFn }: { fetchFn: FetchLike }) => {
      const body = 'grant_type=refresh_token&refresh_token=R'
      given = await (await fetchFn('http://login.test/token', { method: 'POST', body })).json()
    },
  }
  const guarded: FetchLike = async (url, init) => {
    if (String(url) === 'http://login.test/token') return Response.json(token)
    if (!new Headers(init?.headers).has('authorization')) return new Response('', { status: 401 })
    const { id, method } = JSON.parse(bodyOf(init))
    if (method === 'acme/page') return Response.json({ jsonrpc: '2.0', id, result: page })
    if (method === 'tools/call' && later) {
      later.begun.resolve()
      await later.answer.promise
    }
    return (await fetch?.(url, init)) ?? new Response()
  }
  const options = { servers: { a: { ...server, fetch: guarded, authProvider } } }
  expect((await ran(options, [call('t', {})])).read).toEqual(['ok'])
  expect(given).toEqual(token)

  const client = new sdk.Client({ name: 'own', version: '1.0.0' })
  await client.connect(
    new sdk.StreamableHTTPClientTransport(new URL(server.url as string), { fetch: guarded, authProvider }),
  )
  const tools = await mcpTools(client, { server: 'a' })
  later = { begun: Promise.withResolvers(), answer: Promise.withResolvers() }
  const model = scriptedModel([respond(call('t', {})), respond(say('done'))])
  const run = createAgent({ model, tools }).run('Go')
  await later.begun.promise
  const anything = schemaOf((value): value is object => typeof value === 'object', 'is not an object')
  expect(await client.request({ method: 'acme/page' }, anything)).toEqual(page)
  later.answer.resolve()
  expect(readIn(await run)).toEqual(['ok'])
  await client.close()
})

test('a check that runs out of stack refuses its value, and the next value is checked again (MC11)', async () => {
  const server = listing([listed('t', { inputSchema: { type: 'object', allOf: [{ $ref: '#' }] } })])
  const { read } = await ran({ servers: { a: server } }, [call('t', {}), call('t', {})])
  expect(read).toEqual(Array(2).fill(expect.stringContaining('it is nested too deeply to be checked')))
})
