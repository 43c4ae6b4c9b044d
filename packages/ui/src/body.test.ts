import { expect, test, vi } from 'vitest'
import { doors, ROUTES, WITH_BODY } from '../test/doors.ts'
import { told } from '../test/told.ts'

interface Sent {
  /** How many chunks were read. */
  read: number
  isCancelled: boolean
  readonly init: {
    readonly body: ReadableStream
    readonly headers: Readonly<Record<string, string>>
    readonly duplex: 'half'
  }
}

/** A body in these chunks. It is only read as far as the handler reads. */
function body(chunks: Iterable<unknown>, headers: Record<string, string> = {}): Sent {
  const rest = chunks[Symbol.iterator]()
  const stream = new ReadableStream(
    {
      pull(controller) {
        const { done, value } = rest.next()
        if (done) return controller.close()
        sent.read++
        controller.enqueue(value)
      },
      cancel() {
        sent.isCancelled = true
        return new Promise(() => undefined)
      },
    },
    { highWaterMark: 0 },
  )
  const sent: Sent = { read: 0, isCancelled: false, init: { body: stream, headers, duplex: 'half' } }
  return sent
}

const bytes = (text: string) => new TextEncoder().encode(text)

function* endless() {
  yield bytes('{"id":"')
  for (;;) yield bytes('x'.repeat(1_000))
}

const textOf = (route: string) => JSON.stringify(ROUTES[route]?.[2])

test.for(WITH_BODY)('%s: an endless body is refused at the limit, before open is asked (W25)', async (route) => {
  const open = vi.fn(() => undefined)
  const { used, ask } = await doors({ open, maxBytes: 10_000 })
  const sent = body(endless())
  const response = await ask(route, sent.init)
  const text = 'The body is larger than 10000 bytes.'
  expect([response.status, await told(response)]).toEqual([413, ['BodyTooLargeError', text]])
  expect([sent.read, sent.isCancelled, open.mock.calls, used]).toEqual([11, true, [], []])
})

test.for(Object.keys(ROUTES))('%s: a body that declares a larger size is not read (W25)', async (route) => {
  const open = vi.fn(() => undefined)
  const { used, ask } = await doors({ open, maxBytes: 10_000 })
  for (const declared of ['10001', '99999999999999999999999']) {
    const sent = body(endless(), { 'content-length': declared })
    const { init } = sent
    expect((await ask(route, WITH_BODY.includes(route) ? init : { headers: init.headers })).status).toBe(413)
    expect(sent.read).toBe(0)
  }
  expect([open.mock.calls, used]).toEqual([[], []])
})

test.for(['1', '', 'many', '-1', '0x10', '1, 1'])(
  'a body that declares "%s" bytes is counted (W25)',
  async (declared) => {
    const { ask } = await doors({ maxBytes: 10_000 })
    for (const route of ['chat: send', 'ag-ui: run'])
      expect((await ask(route, body(endless(), { 'content-length': declared }).init)).status).toBe(413)
  },
)

test('a body of the maximum size is read, and one of a byte more is not (W25)', async () => {
  for (const route of WITH_BODY) {
    const { length } = bytes(textOf(route))
    const statuses = [length, length - 1].map(async (maxBytes) => {
      const { ask } = await doors({ maxBytes, open: () => new Response(null, { status: 401 }) })
      return (await ask(route)).status
    })
    expect(await Promise.all(statuses)).toEqual([401, 413])
  }
})

test('by default the maximum is 10 MB (W25)', async () => {
  const { ask } = await doors({ open: () => new Response(null, { status: 401 }) })
  for (const route of ['chat: send', 'ag-ui: run']) {
    const { length } = bytes(textOf(route))
    const padded = (size: number) => body([bytes(textOf(route)), new Uint8Array(size - length).fill(0x20)]).init
    expect([(await ask(route, padded(10_000_000))).status, (await ask(route, padded(10_000_001))).status]).toEqual([
      401, 413,
    ])
  }
})

test('a body is the same in chunks of any size, also if they cut a character (W25)', async () => {
  const said = bytes(
    JSON.stringify({ id: 't', messages: [{ id: 'm2', role: 'user', parts: [{ type: 'text', text: 'Grüße 🙂' }] }] }),
  )
  for (const size of [1, 2, 3, 1_000]) {
    const { ask } = await doors({})
    const chunks = Array.from({ length: Math.ceil(said.length / size) }, (_, at) =>
      said.slice(at * size, (at + 1) * size),
    )
    await (await ask('chat: send', body(chunks).init)).text()
    expect(await (await ask('chat: read')).text()).toContain('Grüße 🙂')
  }
})

test.for([
  ['no bytes', [{}]],
  ['a text', ['{}']],
  ['nothing', []],
  ['half a value', [bytes('{"id":')]],
] as const)('a body of %s is malformed (W25)', async ([, chunks]) => {
  const { ask } = await doors({})
  for (const route of WITH_BODY) expect((await ask(route, body(chunks).init)).status).toBe(400)
})

test('a body that breaks off, or that was read before, is malformed (W25)', async () => {
  function* broken() {
    yield bytes('{"id":')
    throw new Error('the client left')
  }
  const { ask } = await doors({ allow: (request) => request.text().then(() => undefined) })
  const other = await doors({})
  for (const route of WITH_BODY)
    expect([(await other.ask(route, body(broken()).init)).status, (await ask(route)).status]).toEqual([400, 400])
})

test.for(WITH_BODY)('%s: allow is asked before a byte is read (W25)', async (route) => {
  const sent = body(endless())
  const seen: number[] = []
  const { used, ask } = await doors({
    allow: async ({ headers }) => {
      seen.push(sent.read)
      return headers.get('cookie') ? undefined : new Response(null, { status: 401 })
    },
    maxBytes: 10_000,
  })
  expect((await ask(route, sent.init)).status).toBe(401)
  expect([seen, sent.read, used]).toEqual([[0], 0, []])
  expect((await ask(route, { headers: { cookie: 'ada' } })).status).not.toBe(401)
})
