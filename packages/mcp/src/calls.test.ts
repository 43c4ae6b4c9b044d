import { call, respond, type ScriptStep, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, type ToolMessage } from '@meanwhile/core'
import { propagation } from '@opentelemetry/api'
import { afterEach, expect, test, vi } from 'vitest'
import {
  bodyOf,
  event,
  type Heard,
  listed,
  listing,
  type RawRequest,
  raw,
  streamed,
  trial,
} from '../test/in-process.ts'
import { ran, readIn } from '../test/runs.ts'
import { type HttpServer, type McpOptions, McpUnknownError, mcp } from './index.ts'

afterEach(() => void vi.useRealTimers())

const text = (text: string) => ({ content: [{ type: 'text', text }] })

test('the result of a call is the answer of the server, checked with its schema (MC21)', async () => {
  const { result, read } = await ran({ servers: { a: trial().server } }, [call('lookup', { key: 'k' })])
  expect(read).toEqual(['k=1'])
  expect(result?.messages[2]).toMatchObject({ output: { structuredContent: { key: 'k', value: 1 } } })
  const tools = [
    listed('count', { outputSchema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } }),
  ]
  const wrong = listing(tools, () => ({ ...text('three'), structuredContent: { n: 'three' } }))
  const { read: told } = await ran({ servers: { a: wrong } }, [call('count', {})])
  expect(told).toEqual([expect.stringMatching(/^a: it has run, but its answer does not match its schema: /)])
})

test('an error result has the text of the server, and an error of the protocol its message, after the server’s name (MC21)', async () => {
  const broken = raw(({ method }) => (method === 'tools/list' ? { tools: [listed('gone')] } : undefined))
  const { read, result } = await ran({ servers: { a: trial().server, b: broken } }, [
    call('fail', {}),
    call('gone', {}),
  ])
  expect(read).toEqual(['a: the disk is full', 'b: Method not found'])
  expect(result?.messages.slice(2, 4).map((message) => message.role === 'tool' && message.isError)).toEqual([
    true,
    true,
  ])
})

test('a long text is cut with a note, a file over the limit is named, and a link is a text (MC21)', async () => {
  const content = [
    { type: 'text', text: 'abcdefghij', _meta: { secret: 'no' } },
    { type: 'image', mimeType: 'image/png', data: 'aGk=' },
    { type: 'image', mimeType: 'image/png', data: 'aGVsbG8gaGVsbG8=' },
    { type: 'resource_link', uri: 'file:///a', name: 'a' },
    { type: 'resource', resource: { uri: 'file:///b', text: 'b' } },
  ]
  const server = listing([listed('show')], () => ({ content }))
  const { result } = await ran({ servers: { a: server }, limits: { text: 20, fileBytes: 5 } }, [call('show', {})])
  expect((result?.messages[2] as ToolMessage | undefined)?.content).toEqual([
    { type: 'text', text: 'abcdefghij' },
    { type: 'file', mediaType: 'image/png', data: 'aGk=' },
    { type: 'text', text: '[a file of image/png with 12 bytes, more than 5]' },
    { type: 'text', text: '[resource file:///a \n[cut: 2 more characters]' },
    { type: 'text', text: 'b' },
  ])
})

test('a request has the key of its call and the trace context without a prefix (MC17)', async () => {
  propagation.setGlobalPropagator({
    inject: (_, carrier, setter) => setter.set(carrier, 'traceparent', '00-1-2-01'),
    extract: (context) => context,
    fields: () => ['traceparent'],
  })
  try {
    const { server, did } = trial()
    await ran({ servers: { a: server } }, [call('write', { key: 'k' })])
    expect(did[0]?.meta).toMatchObject({
      'dev.meanwhile/idempotencyKey': expect.any(String),
      traceparent: '00-1-2-01',
    })
  } finally {
    propagation.disable()
  }
})

/** A server of the 2025 protocol whose calls end when they are let go. */
function slow() {
  const heard: Heard[] = []
  let begin = (_: RawRequest) => {}
  const begun = new Promise<RawRequest>((resolve) => {
    begin = resolve
  })
  let letGo = () => {}
  const free = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const server = raw(
    (request) => {
      if (request.method === 'tools/list') return { tools: [listed('wait')] }
      if (request.method !== 'tools/call') return undefined
      begin(request)
      async function* stream() {
        await free
        yield event({ id: request.id, result: text('at last') })
      }
      return streamed(stream())
    },
    (message) => heard.push(message),
  )
  const cancelled = () => heard.filter(({ method }) => method === 'notifications/cancelled')
  return { server, begun, letGo: () => letGo(), cancelled }
}

test('a call has no time limit of the client: it may wait for an hour (MC17)', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { server, begun, letGo, cancelled } = slow()
  const run = ran({ servers: { a: server } }, [call('wait', {})])
  await begun
  await vi.advanceTimersByTimeAsync(3_600_000)
  letGo()
  expect((await run).read).toEqual(['at last'])
  expect(cancelled()).toEqual([])
})

test('when a call has timed out, its server receives a notification, and not before (MC17)', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { server, begun, cancelled } = slow()
  const run = ran({ servers: { a: server }, timeout: 5_000 }, [call('wait', {})])
  const { id } = await begun
  await vi.advanceTimersByTimeAsync(4_999)
  expect(cancelled()).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  expect((await run).read).toEqual([expect.stringContaining('after its time limit of 5000 ms')])
  expect(cancelled()).toMatchObject([{ params: { requestId: id } }])
})

test('of many notifications of progress a run reads some, and the last (MC18)', async () => {
  const { events } = await ran({ servers: { a: trial().server } }, [call('count', { to: 500 })])
  const progress = events.flatMap((event) => (event.type === 'tool-progress' ? [event.progress] : []))
  expect(progress.length).toBeLessThan(100)
  expect(progress.at(-1)).toBe(1)
})

test('progress is read from streams however they are cut, with any line ends and with ids, and the last always (MC18)', async () => {
  for (const [end, size, id] of [
    ['\n', 1, ''],
    ['\r\n', 7, 'id: 1\r\n'],
    ['\r\n', 1, ''],
    ['\n', 10_000, 'event: message\n'],
  ] as const) {
    const server = listing([listed('count')], (request) => {
      const { progressToken } = tokenOf(request)
      const progress = [1, 2, 3, 4].map((progress) => ({
        method: 'notifications/progress',
        params: { progressToken, progress, total: 4, message: `€${progress}` },
      }))
      const messages = [...progress, { id: request.id, result: text('counted') }]
      const body = messages.map((one) => `${id}data: ${JSON.stringify({ jsonrpc: '2.0', ...one })}${end}${end}`)
      const bytes = new TextEncoder().encode(body.join(''))
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => index * size)
      return streamed(chunks.map((at) => bytes.subarray(at, at + size)))
    })
    const { read, events } = await ran({ servers: { a: server } }, [call('count', {})])
    expect(read).toEqual(['counted'])
    const seen = events.flatMap((one) => (one.type === 'tool-progress' ? [one.message] : []))
    expect(seen.at(-1)).toBe('€4')
  }
})

test('progress that is not a finite number is not read (MC18)', async () => {
  const server = listing([listed('count')], (request) => {
    const token = JSON.stringify(tokenOf(request).progressToken)
    const progress = `"method":"notifications/progress","params":{"progressToken":${token},"progress":1e999,"total":1e999}`
    const result = `"id":${request.id},"result":${JSON.stringify(text('counted'))}`
    const body = [progress, result].map((one) => `data: {"jsonrpc":"2.0",${one}}\n\n`).join('')
    return streamed([new TextEncoder().encode(body)])
  })
  const { read, events } = await ran({ servers: { a: server } }, [call('count', {})])
  expect(read).toEqual(['counted'])
  expect(events.filter(({ type }) => type === 'tool-progress')).toEqual([])
})

/** By which a call hears of its progress. */
const tokenOf = ({ params }: RawRequest) => (params?._meta ?? {}) as { readonly progressToken?: string }

/** A server whose first answers to calls are these; then it answers. */
function faulty(...faults: (() => unknown)[]) {
  let calls = 0
  const tools = [
    listed('get', { annotations: { readOnlyHint: true } }),
    listed('set'),
    listed('put', { annotations: { idempotentHint: true } }),
  ]
  const server = listing(tools, () => faults[calls++]?.() ?? text('ok'))
  return { server, calls: () => calls }
}

/** An answer whose stream ends before its result. */
const broken = () => new Response(': nothing\n\n', { headers: { 'content-type': 'text/event-stream' } })

test('a call whose answer was lost is made again only if it is a read, and the run names one that may have happened (MC19, MC20)', async () => {
  const read = faulty(broken)
  const options = { trust: 'annotations' } as const
  const one = await ran({ servers: { a: read.server }, ...options }, [call('get', {})])
  expect([one.read, read.calls(), one.result?.unknown]).toEqual([['ok'], 2, undefined])
  const write = faulty(broken)
  const other = await ran({ servers: { a: write.server }, ...options }, [call('set', {}, { id: 'c1' })])
  expect([write.calls(), other.result?.unknown]).toEqual([1, ['c1']])
  expect(other.read).toEqual([
    'a: The result of set is unknown: the connection was lost before its answer. It may have happened.',
  ])
})

test('after a broken stream was resumed a call waits for its answer, but not longer than lostAfter (MC19)', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const resumed = async (rest: (id: number) => AsyncIterable<Uint8Array>) => {
    let id = 0
    let streams = 0
    let begin = () => {}
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    const server = raw(
      (request) => {
        if (request.method === 'tools/list') return { tools: [listed('set')] }
        if (request.method !== 'tools/call') return undefined
        id = request.id
        begin()
        return streamed([event({ method: 'notifications/message', params: { level: 'info', data: 1 } }, 'e1')])
      },
      () => {},
      () => {
        // The client also opens a stream for notifications when it has connected.
        if (id === 0) return new Response(null, { status: 405 })
        streams++
        return streamed(rest(id))
      },
    )
    const run = ran({ servers: { a: server }, lostAfter: 2_000 }, [call('set', {}, { id: 'c1' })])
    await begun
    while (streams === 0) await vi.advanceTimersByTimeAsync(100)
    await vi.advanceTimersByTimeAsync(2_000)
    const { read, result } = await run
    return [read[0], result?.unknown]
  }
  async function* answers(id: number) {
    yield event({ id, result: text('kept') }, 'e2')
  }
  async function* silence() {
    await new Promise(() => {})
    yield event({})
  }
  expect(await resumed(answers)).toEqual(['kept', undefined])
  expect(await resumed(silence)).toEqual([expect.stringContaining('may have happened'), ['c1']])
})

test('a call that loses its answer does not cost the other open calls of its connection theirs (MC4, MC20)', async () => {
  const { server, begun, letGo } = slow()
  let connects = 0
  const shared: HttpServer = {
    ...server,
    async fetch(url, init) {
      const { method, params }: Partial<RawRequest> = JSON.parse(bodyOf(init))
      if (method === 'initialize') connects++
      if (method === 'tools/call' && params?.arguments !== undefined && 'lost' in Object(params.arguments)) {
        await begun
        return broken()
      }
      return (await server.fetch?.(url, init)) ?? new Response()
    },
  }
  await using servers = mcp({ servers: { a: shared } })
  const go = async (...calls: readonly ScriptStep[]) => {
    const model = scriptedModel([respond(...calls), respond(say('done'))])
    return await createAgent({ model, middleware: [servers] }).run('Go')
  }
  const open = go(call('wait', {}, { id: 'open' }))
  const lost = await go(call('wait', { lost: true }, { id: 'lost' }))
  expect(lost.unknown).toEqual(['lost'])
  await go(say('hi'))
  letGo()
  const result = await open
  expect([readIn(result), result.unknown, connects]).toEqual([['at last'], undefined, 2])
})

test('a read that loses its answer twice fails, and has not happened (MC20)', async () => {
  const { server, calls } = faulty(broken, broken)
  const { read, result } = await ran({ servers: { a: server }, trust: 'annotations' }, [call('get', {})])
  expect(calls()).toBe(2)
  expect(read).toEqual(['a: get has no answer (its response has ended)'])
  expect(result?.unknown).toBeUndefined()
})

test('a tool with idempotentHint is called again only with trust and repeat (MC20)', async () => {
  const calls = async (options: Omit<McpOptions, 'servers'>) => {
    const { server, calls } = faulty(broken)
    await ran({ servers: { a: server }, ...options }, [call('put', {})])
    return calls()
  }
  expect(await calls({ trust: 'annotations' })).toBe(1)
  expect(await calls({ repeat: ['read', 'idempotentHint'] })).toBe(1)
  expect(await calls({ trust: 'annotations', repeat: ['read', 'idempotentHint'] })).toBe(2)
  expect(await calls({ effects: { put: 'read' }, repeat: [] })).toBe(1)
})

test('a request that was refused because of its session is sent again on a new one, whatever its effect, once (MC5)', async () => {
  const error = (message: string) => ({ jsonrpc: '2.0', id: null, error: { code: -32000, message } })
  const refused = [
    () => Response.json(error('Bad Request: No valid session ID provided'), { status: 400 }),
    () => Response.json(error('Bad Request: Server not initialized'), { status: 400 }),
  ]
  for (const unknown of refused) {
    const one = faulty(unknown)
    expect((await ran({ servers: { a: one.server } }, [call('set', {})])).read).toEqual(['ok'])
    expect(one.calls()).toBe(2)
  }
  const gone = () => new Response(null, { status: 404 })
  const two = faulty(gone, gone)
  expect((await ran({ servers: { a: two.server } }, [call('set', {})])).read).toEqual([
    'a: set has no answer (HTTP 404)',
  ])
  expect(two.calls()).toBe(2)
})

test('an error of the server that only names a session is its answer: the call may have acted, and is not made again (MC5, MC20)', async () => {
  const message = 'paid, but the receipt session could not be opened'
  let calls = 0
  const server = listing([listed('pay')], ({ id }) => {
    calls++
    return Response.json({ jsonrpc: '2.0', id, error: { code: -32600, message } })
  })
  expect((await ran({ servers: { a: server } }, [call('pay', {})])).read).toEqual([`a: ${message}`])
  expect(calls).toBe(1)
})

test('a request that was refused is not sent again, and one that a gateway lost may have happened (MC20)', async () => {
  const refused = faulty(() => new Response('secret', { status: 403 }))
  expect((await ran({ servers: { a: refused.server } }, [call('set', {})])).read).toEqual([
    'a: the request was refused (HTTP 403)',
  ])
  const gateway = faulty(() => new Response('secret', { status: 504 }))
  const { result } = await ran({ servers: { a: gateway.server } }, [call('set', {}, { id: 'c1' })])
  expect([result?.unknown, refused.calls(), gateway.calls()]).toEqual([['c1'], 1, 1])
})

test('the error of a lost call is an OutcomeUnknownError with the names of its server and its tool (SE1)', () => {
  expect(new McpUnknownError('a', 'set')).toMatchObject({ name: 'McpUnknownError', server: 'a', tool: 'set' })
})
