import { call } from '@meanwhile/assemble/testing'
import type { AgentResult, ToolMessage } from '@meanwhile/core'
import * as sdk from '@modelcontextprotocol/client'
import { expect, test } from 'vitest'
import { event, listed, listing, streamed } from '../test/in-process.ts'
import { ran } from '../test/runs.ts'
import { LineBuffer } from './line-buffer.ts'

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
  ['an error that is a text', { error: 'no seats' }, 'a: no seats'],
  ['an error whose code is a text', { error: { code: 'E_SEATS', message: 'no seats' } }, 'a: no seats'],
  ['an error without a message', { error: { code: 7 } }, 'a: {"code":7}'],
  ['an error and null as its result', { result: null, error: { code: 7, message: 'no seats' } }, 'a: no seats'],
]

test.each(answers)('an answer with %s is read (MC19, MC21)', async (_, answer, expected) => {
  const server = listing([listed('t')], ({ id }) => Response.json({ jsonrpc: '2.0', id, ...answer }))
  expect((await ran({ servers: { a: server } }, [call('t', {})])).read).toEqual([expected])
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
  expect(() => buffer.readMessage()).toThrow()
  expect(() => buffer.readMessage()).toThrow()
  expect(buffer.readMessage()).toBeNull()
})

const silent: readonly (readonly [string, Response])[] = [
  ['is only accepted', new Response(null, { status: 202 })],
  ['is accepted with a text', new Response('ok', { status: 202 })],
  ['has no content', new Response(null, { status: 204 })],
  ['is the answer of another request', Response.json({ jsonrpc: '2.0', id: 'other', result: { content: [] } })],
  ['is an error of no request', Response.json({ jsonrpc: '2.0', id: null, error: { code: -32600, message: 'no' } })],
]

test.each(silent)(
  'a call whose response %s may have happened, and does not wait without end (MC19, MC20)',
  async (_, response) => {
    const server = listing([listed('t')], () => response)
    expect((await ran({ servers: { a: server } }, [call('t', {})])).read).toEqual([
      'a: The result of t is unknown: the connection was lost before its answer. It may have happened.',
    ])
  },
)
