import { call, type ScriptStep, say } from '@meanwhile/assemble/testing'
import { expectLinear } from '@meanwhile/tests/growth'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { event, listed, listing, type Raw, raw, streamed } from '../test/in-process.ts'
import { ran } from '../test/runs.ts'
import type { HttpServer, McpOptions } from './index.ts'

// Some servers send nothing until a time limit.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

/** What a user and a model read of a server: why the run has failed, or its warnings and the results of its calls. */
async function told(server: HttpServer, steps: readonly ScriptStep[] = [say('hi')], options: Partial<McpOptions> = {}) {
  let isOver = false
  const running = ran({ servers: { a: server }, limits: { messageBytes: 500_000 }, ...options }, steps)
  void running.finally(() => {
    isOver = true
  })
  while (!isOver) await vi.advanceTimersByTimeAsync(10_000)
  const { error, result, read } = await running
  if (error) return [(error as Error).message]
  return [...(result?.warnings ?? []).map(({ message }) => message), ...read]
}

const page = (body: string, init: ResponseInit = {}): HttpServer => ({
  url: 'http://server.test/mcp',
  fetch: async () => new Response(body, init),
})
const html = { headers: { 'content-type': 'text/html' } }
const json = { headers: { 'content-type': 'application/json' } }
const silence = () =>
  streamed(
    (async function* () {
      await new Promise(() => {})
      yield event({})
    })(),
  )
const endless = () =>
  streamed(
    (function* () {
      for (;;) yield new Uint8Array(65_536).fill(97)
    })(),
  )
const connecting = (answer: Raw) => raw((request) => (request.method === 'initialize' ? answer(request) : undefined))
const listingWith = (answer: Raw) => raw((request) => (request.method === 'tools/list' ? answer(request) : undefined))
const one = [call('t', {})]
const answering = (result: unknown, more: object = {}) => listing([listed('t', more)], () => result)
const text = (text: string) => ({ content: [{ type: 'text', text }] })
const deep = (levels: number) => JSON.parse(`${'{"not":'.repeat(levels)}{}${'}'.repeat(levels)}`)
const form = { mode: 'form', message: 'And?', requestedSchema: { type: 'object', properties: {} } }

/** A stream of these messages for each call. */
const streaming = (messages: (id: number, token: unknown) => Iterable<object>) =>
  listing([listed('t')], ({ id, params }) => {
    const { progressToken } = (params?._meta ?? {}) as { readonly progressToken?: unknown }
    return streamed([...messages(id, progressToken)].map((message) => event(message)))
  })

const cases: readonly [string, readonly string[], HttpServer, (readonly ScriptStep[])?, Partial<McpOptions>?][] = [
  ['answers with a page', ['a: cannot be reached (CLIENT_HTTP_UNEXPECTED_CONTENT)'], page('<p>hello', html)],
  ['answers with what is no JSON', ['a: cannot be reached (SyntaxError)'], page('hello', json)],
  ['answers with JSON of something else', ['a: cannot be reached (ZodError)'], page('{"hello":1}', json)],
  ['answers with nothing', ['a: cannot be reached (CLIENT_HTTP_UNEXPECTED_CONTENT)'], page('')],
  ['fails always', ['a: cannot be reached (HTTP 500)'], page('secret', { status: 500 })],
  ['refuses everybody', ['a: it refuses the credentials'], page('secret', { status: 401 })],
  [
    'redirects to itself',
    ['a: cannot be reached (HTTP 307)'],
    page('', { status: 307, headers: { location: 'http://server.test/mcp' } }),
  ],
  [
    'answers with a body without end',
    ['a: cannot be reached (REQUEST_TIMEOUT)'],
    { ...page(''), fetch: async () => endless() },
  ],
  [
    'answers with JSON without end',
    ['a: cannot be reached (a message has more than 500000 bytes)'],
    { ...page(''), fetch: async () => new Response(endless().body, json) },
  ],
  [
    'sends a list with too many bytes, which are fewer characters',
    ['a: cannot be reached (its response has ended)'],
    listingWith(({ id }) => {
      const tools = ['t', 'u', 'v'].map((name) => listed(name, { description: '€'.repeat(70_000) }))
      const bytes = event({ id, result: { tools } })
      return streamed(Array.from({ length: 100 }, (_, at) => bytes.subarray(at * 10_000, (at + 1) * 10_000)))
    }),
  ],
  ['throws a text', ['a: cannot be reached (unknown error)'], { ...page(''), fetch: () => Promise.reject('secret') }],
  [
    'has no version',
    ['a: cannot be reached (INVALID_RESULT at protocolVersion)'],
    connecting(() => ({ capabilities: {} })),
  ],
  [
    'has an unknown version',
    ['a: cannot be reached (Error)'],
    connecting(() => ({ protocolVersion: '1', capabilities: {}, serverInfo: { name: 'a', version: '1' } })),
  ],
  ['is silent when we connect', ['a: cannot be reached (REQUEST_TIMEOUT)'], connecting(silence)],
  ['is silent when it is asked for its tools', ['a: cannot be reached (REQUEST_TIMEOUT)'], listingWith(silence)],
  ['has a list that is none', ['a: cannot be reached (INVALID_RESULT)'], listingWith(() => ({ tools: 'all' }))],
  [
    'has too many tools',
    ['a: it has more than 256 tools'],
    listing(Array.from({ length: 300 }, (_, index) => listed(`t${index}`))),
  ],
  [
    'has pages without end',
    ['a: the pages of its list of tools do not end'],
    listingWith(({ params }) => ({
      tools: [],
      nextCursor: typeof params?.cursor === 'string' ? `${params.cursor}x` : 'x',
    })),
  ],
  [
    'has the same page again and again',
    ['There is no tool named "u". Available tools: t.'],
    listingWith(() => ({ tools: [listed('t')], nextCursor: 'x' })),
    [call('u', {})],
  ],
  [
    'has long cursors',
    ['a: the cursors of its list of tools are too long'],
    listingWith(({ params }) => {
      const at = typeof params?.cursor === 'string' ? Number(params.cursor[0]) : 0
      return { tools: [], ...(at < 9 && { nextCursor: `${at + 1}${'x'.repeat(100_000)}` }) }
    }),
  ],
  [
    'fails to list its tools',
    ['a: cannot be reached (HTTP 500)'],
    listingWith(() => new Response('secret', { status: 500 })),
  ],
  ['ends the stream of its list', ['a: cannot be reached (its response has ended)'], listingWith(() => streamed([]))],
  ['has a list without end', ['a: cannot be reached (its response has ended)'], listingWith(endless)],
  [
    'has two tools of one name',
    ['a: its tool "t" is left out: another tool has its name'],
    listing([listed('t'), listed('t')]),
  ],
  [
    'has a name of 100,000 characters',
    [`a: its tool "${'x'.repeat(100)}" is left out: its input is not the schema of an object`],
    listing([listed('x'.repeat(100_000), { inputSchema: 1 })]),
  ],
  [
    'has a name that is none',
    ['a: its tool without a name is left out: it has no name'],
    listing([{ ...listed('t'), name: { t: 1 } }]),
  ],
  [
    'has a long name',
    [`a: its tool "${'x'.repeat(100)}" is left out: its name has 200000 characters, more than 100000`],
    listing([listed('x'.repeat(200_000))]),
  ],
  [
    'has a long title',
    ['a: its tool "t" is left out: its title has 200000 characters, more than 100000'],
    listing([listed('t', { annotations: { title: 'x'.repeat(200_000) } })]),
  ],
  [
    'has a long description',
    ['a: its tool "t" is left out: its description has 200000 characters, more than 100000'],
    listing([listed('t', { description: 'x'.repeat(200_000) })]),
  ],
  [
    'has a deep schema',
    ['a: its tool "t" is left out: its schema is nested deeper than 64 levels'],
    listing([listed('t', { inputSchema: { type: 'object', not: deep(2_000) } })]),
  ],
  [
    'has a long schema',
    ['a: its tool "t" is left out: its schema has 300028 bytes, more than 262144'],
    listing([listed('t', { inputSchema: { type: 'object', title: 'x'.repeat(300_000) } })]),
  ],
  [
    'has a schema in another document',
    ['a: its tool "t" is left out: its schema refers to another document: file:///etc/passwd'],
    listing([listed('t', { outputSchema: { allOf: [{ $ref: 'file:///etc/passwd' }] } })]),
  ],
  [
    'has a schema that is none',
    ['ok'],
    answering(text('ok'), { inputSchema: { type: 'object', properties: { x: { type: 'nothing' } } } }),
    one,
  ],
  [
    'has a schema that refers to itself',
    [expect.stringContaining('it is nested too deeply to be checked')],
    answering(text('ok'), { inputSchema: { type: 'object', allOf: [{ $ref: '#' }] } }),
    one,
  ],
  [
    'has a slow regular expression',
    ['ok'],
    answering(text('ok'), { inputSchema: { type: 'object', properties: { x: { pattern: '^(a+)+$' } } } }),
    [call('t', { x: `${'a'.repeat(50)}!` })],
  ],
  [
    'has a slow regular expression for its results',
    ['ok'],
    answering(
      { ...text('ok'), structuredContent: { x: `${'a'.repeat(50)}!` } },
      { outputSchema: { type: 'object', properties: { x: { pattern: '^(a+)+$' } } } },
    ),
    one,
  ],
  ['answers a call with nothing', [''], answering({}), one],
  ['answers a call with content of no kind', ['{"type":"smell"}'], answering({ content: [{ type: 'smell' }] }), one],
  ['does not know its own tool', ['a: Method not found'], answering(undefined), one],
  ['fails without a reason', ['a: no reason was given'], answering({ content: [], isError: true }), one],
  [
    'answers with another result than it promised',
    ['a: it has run, but its answer does not match its schema: data/x must be string'],
    answering(
      { ...text('ok'), structuredContent: { x: 1 } },
      { outputSchema: { type: 'object', properties: { x: { type: 'string' } } } },
    ),
    one,
  ],
  [
    'answers with a long text',
    [`${'x'.repeat(20)}\n[cut: 99980 more characters]`],
    answering(text('x'.repeat(100_000))),
    one,
    { limits: { text: 20 } },
  ],
  [
    'answers with a message over the limit',
    ['a: The result of t is unknown: the connection was lost before its answer. It may have happened.'],
    answering(text('x'.repeat(600_000))),
    one,
  ],
  [
    'answers another request',
    ['a: The result of t is unknown: the connection was lost before its answer. It may have happened.'],
    streaming((id) => [{ id: id + 7, result: text('ok') }]),
    one,
  ],
  [
    'answers twice',
    ['one'],
    streaming((id) => [
      { id, result: text('one') },
      { id, result: text('two') },
    ]),
    one,
  ],
  [
    'is lost in a call',
    ['a: The result of t is unknown: the connection was lost before its answer. It may have happened.'],
    answering(new Response('', { status: 502 })),
    one,
  ],
  [
    'has a long error',
    [`a: ${'x'.repeat(100_000)}`],
    streaming((id) => [{ id, error: { code: -32603, message: 'x'.repeat(400_000) } }]),
    one,
  ],
  [
    'reports progress of another call, or none',
    ['ok'],
    streaming((id, token) => [
      { method: 'notifications/progress', params: { progressToken: 'other', progress: 1 } },
      { method: 'notifications/progress', params: { progressToken: token, progress: 'much' } },
      { method: 'notifications/progress' },
      { id, result: text('ok') },
    ]),
    one,
  ],
  [
    'floods us with notifications',
    ['ok'],
    streaming((id) => [
      ...Array.from({ length: 500 }, () => ({ method: 'notifications/tools/list_changed' })),
      ...Array.from({ length: 500 }, () => ({ method: 'notifications/unknown', params: { x: 1 } })),
      { id, result: text('ok') },
    ]),
    one,
  ],
  [
    'floods us with requests',
    ['ok'],
    streaming((id) => [
      ...Array.from({ length: 100 }, (_, index) => ({ id: `q${index}`, method: 'elicitation/create', params: form })),
      ...Array.from({ length: 100 }, (_, index) => ({ id: `p${index}`, method: 'roots/list' })),
      { id, result: text('ok') },
    ]),
    one,
    { questions: 'decline' },
  ],
]

test.each(cases)(
  'a server that %s costs little, and what is said about it begins with its name (MC11, MC19, MC21)',
  async (_, expected, server, steps, options) => {
    expect(await told(server, steps, options)).toEqual(expected)
  },
)

test('progress costs time in proportion to how much there is (MC18)', async () => {
  vi.useRealTimers()
  await expectLinear(2_000, async (count) => {
    const server = streaming((id, progressToken) => [
      ...Array.from({ length: count }, (_, progress) => ({
        method: 'notifications/progress',
        params: { progressToken, progress },
      })),
      { id, result: text('ok') },
    ])
    await ran({ servers: { a: server } }, one)
  })
})

test('a long message in many pieces costs time in proportion to its length (MC18)', async () => {
  vi.useRealTimers()
  await expectLinear(2_000, async (count) => {
    const piece = new Uint8Array(1_000).fill(97)
    const pieces = Array.from({ length: count }, () => piece)
    const server = listing([listed('t')], () => streamed([new TextEncoder().encode('data: "'), ...pieces]))
    await ran({ servers: { a: server } }, one)
  })
})
