import { readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { byTurns, propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { fileOf, recordedRun } from '../test/recorded.ts'
import { send, started } from '../test/started.ts'
import { OtlpFileError, PortInUseError } from './errors.ts'
import type { RunDetail, RunList } from './server/api.ts'
import { SECURITY_HEADERS } from './server/guard.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const PROTOBUF_TYPE = { 'content-type': 'application/x-protobuf' }
const SPAN = {
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: 'b7ad6b7169203331',
  name: 'chat',
  startTimeUnixNano: '1000000000000000000',
  endTimeUnixNano: '1000000001000000000',
  attributes: [{ key: 'gen_ai.operation.name', value: { stringValue: 'chat' } }],
}
/** The path of a file that is removed after the test. */
function temporaryFile(name: string): string {
  const path = join(tmpdir(), `meanwhile-${process.pid}-${name}`)
  onTestFinished(() => rm(path, { force: true }))
  return path
}

const request = (...spans: readonly object[]) => JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] })

test('a run that is sent is in the list, in whole, as single spans and as a file that opens again (DT7)', async () => {
  const { url } = await started()
  const body = await readFile(fileOf('trip'))
  expect((await send(`${url}/v1/traces`, { method: 'POST', headers: JSON_TYPE, body })).status).toBe(200)
  const [summary] = (await listed(url)).runs
  const run = recordedRun('trip')
  expect(summary).toMatchObject({ key: run.key, title: run.title, steps: 3, calls: 7, errors: 2, state: 'completed' })
  const detail = await get<RunDetail>(`${url}/api/runs/${run.key}`)
  expect(detail.run).toEqual(JSON.parse(JSON.stringify(run)))
  expect(Math.round(detail.saving.after)).toBe(1_015)
  const { traceId, spanId } = { traceId: run.key.slice(0, 32), spanId: run.key.slice(33) }
  expect(await get(`${url}/api/spans/${traceId}/${spanId}`)).toMatchObject({ spanId, scope: '@meanwhile/core' })

  const file = await send(`${url}/api/runs/${run.key}/otlp`)
  expect(file.headers['content-disposition']).toBe(`attachment; filename="run-${traceId.slice(0, 8)}.otlp.json"`)
  const path = temporaryFile('run.otlp.json')
  await writeFile(path, file.body)
  const again = await started({ files: [path] })
  const opened = await get<RunDetail>(`${again.url}/api/runs/${run.key}`)
  expect(rounded(opened.run)).toEqual(rounded(detail.run))
})

test('a run that has not changed is not sent again by the same process, and one that is not here is 404 (DT7)', async () => {
  const { url } = await started({ files: [fileOf('trip')] })
  const { key } = recordedRun('trip')
  const { headers } = await send(`${url}/api/runs/${key}`)
  const etag = String(headers.etag)
  expect((await send(`${url}/api/runs/${key}`, { headers: { 'if-none-match': etag } })).status).toBe(304)
  const again = await started({ files: [fileOf('trip')] })
  expect((await send(`${again.url}/api/runs/${key}`, { headers: { 'if-none-match': etag } })).status).toBe(200)
  expect((await send(`${url}/api/runs/${'1'.repeat(32)}-${'1'.repeat(16)}`)).status).toBe(404)
  expect((await send(`${url}/api/runs/constructor`)).status).toBe(404)
})

test('open spans are kept as open, by a path of their own (DT6)', async () => {
  const { url } = await started()
  const post = (path: string, span: object) =>
    send(url + path, { method: 'POST', headers: JSON_TYPE, body: request(span) })
  await post('/devtools/open', { ...SPAN, endTimeUnixNano: '0' })
  expect((await listed(url)).runs.map(({ state, end }) => [state, end])).toEqual([['running', undefined]])
  await post('/v1/traces', SPAN)
  expect((await listed(url)).runs.map(({ state, end }) => [state, end])).toEqual([['completed', 1_000_000_001_000]])
})

const REFUSED: readonly (readonly [string, object, Buffer | string, number, RegExp])[] = [
  [
    'another type',
    { 'content-type': 'text/plain' },
    '{}',
    415,
    /neither application\/x-protobuf nor application\/json/,
  ],
  ['no type', {}, '{}', 415, /content-type nothing/],
  ['another encoding', { ...JSON_TYPE, 'content-encoding': 'br' }, '{}', 415, /neither identity nor gzip/],
  ['broken JSON', JSON_TYPE, '{', 400, /not OTLP/],
  ['a list', JSON_TYPE, '[]', 400, /not OTLP/],
  ['wrong members', JSON_TYPE, '{"resourceSpans":7}', 400, /not OTLP/],
  ['a wrong time', JSON_TYPE, request(SPAN, { ...SPAN, startTimeUnixNano: 'x' }), 400, /not OTLP/],
  ['broken protobuf', PROTOBUF_TYPE, Buffer.from([0x0a, 0x7f, 0x01]), 400, /not OTLP/],
  ['broken gzip', { ...JSON_TYPE, 'content-encoding': 'gzip' }, 'x', 400, /cannot be decompressed/],
  [
    'a gzip bomb',
    { ...JSON_TYPE, 'content-encoding': 'gzip' },
    gzipSync(Buffer.alloc(65 * 1024 * 1024), { level: 1 }),
    413,
    /more than/,
  ],
  ['a body that is too large', JSON_TYPE, Buffer.alloc(65 * 1024 * 1024, ' '), 413, /more than/],
]

test('a body that cannot be read is refused as a whole, with the status and the format of its kind (DT2)', async () => {
  const { url } = await started()
  for (const [what, headers, body, status, message] of REFUSED) {
    const reply = await send(`${url}/v1/traces`, { method: 'POST', headers: { ...headers }, body })
    expect([what, reply.status]).toEqual([what, status])
    expect(String(reply.body)).toMatch(message)
    if (headers === PROTOBUF_TYPE) expect(reply.body[0]).toBe(0x12)
    else expect(JSON.parse(String(reply.body))).toHaveProperty('message')
  }
  expect(await listed(url)).toMatchObject({ runs: [], received: 0 })
})

test('JSON that is too deep is shown as text, in arguments, results and messages (DT2)', async () => {
  const { url } = await started()
  const deep = `${'[{"a":'.repeat(20_000)}1${'}]'.repeat(20_000)}`
  const text = (key: string, stringValue: string) => ({ key, value: { stringValue } })
  const attributes = [
    text('gen_ai.operation.name', 'execute_tool'),
    text('gen_ai.tool.call.arguments', deep),
    text('gen_ai.input.messages', deep),
    { key: 'gen_ai.tool.call.result', value: 'DEEP' },
  ]
  const lists = `${'{"arrayValue":{"values":['.repeat(10_000)}{"intValue":"1"}${']}}'.repeat(10_000)}`
  const body = request({ ...SPAN, attributes }).replace('"DEEP"', lists)
  expect((await send(`${url}/v1/traces`, { method: 'POST', headers: JSON_TYPE, body })).status).toBe(200)
  const { run } = await get<RunDetail>(`${url}/api/runs/${SPAN.traceId}-${SPAN.spanId}`)
  expect(run.steps[0]?.calls[0]).toMatchObject({
    input: expect.stringMatching(/^\[\{"a":\[.*… \[160001 characters\]$/),
  })
  expect((await send(`${url}/api/runs/${run.key}/otlp`)).status).toBe(200)
  expect((await send(`${url}/api/spans/${SPAN.traceId}/${SPAN.spanId}`)).status).toBe(200)
})

test('spans with wrong ids are counted and the others kept; metrics and logs are accepted and dropped (DT2)', async () => {
  const { url } = await started()
  const body = request(SPAN, { ...SPAN, spanId: 'x' })
  const reply = await send(`${url}/v1/traces`, { method: 'POST', headers: JSON_TYPE, body })
  expect(JSON.parse(String(reply.body))).toMatchObject({ partialSuccess: { rejectedSpans: '1' } })
  for (const path of ['/v1/metrics', '/v1/logs']) {
    const answer = await send(url + path, { method: 'POST', headers: PROTOBUF_TYPE, body: Buffer.from([1, 2]) })
    expect([answer.status, answer.headers['content-type'], answer.body.length]).toEqual([
      200,
      'application/x-protobuf',
      0,
    ])
  }
  expect((await listed(url)).received).toBe(1)
})

test('mutated bodies get a status of the table, and one that is refused leaves the runs as they were (DT2)', async () => {
  const { url } = await started()
  const json = Buffer.from(request(SPAN, { ...SPAN, spanId: '1'.repeat(16), events: [{ name: 'a' }], links: [SPAN] }))
  const mutation = fc.record({
    cut: fc.option(fc.nat(json.length), { nil: undefined }),
    flips: fc.array(fc.record({ at: fc.nat(json.length - 1), bit: fc.nat(7) }), { maxLength: 3 }),
    packed: fc.boolean(),
    protobuf: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(mutation, async ({ cut, flips, packed, protobuf }) => {
      const bytes = Buffer.from(json.subarray(0, cut ?? json.length))
      for (const { at, bit } of flips) if (at < bytes.length) bytes[at] = (bytes[at] ?? 0) ^ (1 << bit)
      const before = JSON.stringify(await listed(url), (key, value) => (key === 'now' ? 0 : value))
      const headers = { ...(protobuf ? PROTOBUF_TYPE : JSON_TYPE), ...(packed && { 'content-encoding': 'gzip' }) }
      const body = packed ? gzipSync(bytes) : bytes
      const { status } = await send(`${url}/v1/traces`, { method: 'POST', headers, body })
      expect([200, 400]).toContain(status)
      if (status !== 400) return
      expect(JSON.stringify(await listed(url), (key, value) => (key === 'now' ? 0 : value))).toBe(before)
    }),
    propertyRuns({ small: 10, middle: 15, whole: 10_000 }),
  )
})

/** `OWN` stands for the server's own. */
const OWN = 'OWN'
const FOREIGN: readonly (readonly [host: string, origin: string | undefined])[] = [
  ['evil.example', undefined],
  ['localhost.evil.example', undefined],
  ['localhost', undefined],
  ['127.0.0.1:1', undefined],
  ['[::1]', undefined],
  ['0.0.0.0:4318', undefined],
  ['127.0.0.1.nip.io:4318', undefined],
  ['localhost:4318@evil.example', undefined],
  [OWN, 'http://evil.example'],
  [OWN, 'https://localhost'],
  [OWN, 'null'],
  [OWN, 'http://localhost:1'],
  [OWN, 'http://localhost.evil.example'],
  [OWN, 'http://127.0.0.1.evil.example'],
  [OWN, 'http://[::2]'],
  [OWN, 'file://'],
  ['evil.example', 'http://evil.example'],
  ['evil.example', 'http://localhost'],
  ['localhost', 'http://localhost'],
  ['[::1]:1', 'http://[::1]:1'],
]
const ROUTES = [
  '/',
  '/page.js',
  '/api/runs',
  '/api/events',
  '/v1/traces',
  '/devtools/open',
  '/api/spans/a/b',
  '/nothing',
] as const

test('a foreign Host, a foreign Origin and a request on behalf of another site are refused on every route (DT10)', async () => {
  const { url } = await started({ files: [fileOf('trip')] })
  const own = new URL(url).host
  for (const [place, path] of ROUTES.entries()) {
    const pairs = byTurns(FOREIGN, { small: 3, middle: 4, whole: FOREIGN.length }, place * 3)
    const foreign = [
      ...pairs.map(([host, origin]) => ({ host: host.replace(OWN, own), ...(origin !== undefined && { origin }) })),
      { host: own, 'sec-fetch-site': 'cross-site' },
    ]
    for (const headers of foreign) {
      for (const method of ['GET', 'POST', 'OPTIONS']) {
        const reply = await send(url + path, { method, headers: { ...JSON_TYPE, ...headers }, body: request(SPAN) })
        expect([path, headers, reply.status]).toEqual([path, headers, 403])
      }
    }
  }
  expect((await listed(url)).runs).toHaveLength(1)
})

test('requests of this machine are answered by both of its addresses, with headers that allow no script of others (DT10)', async () => {
  const { url } = await started()
  const { port } = new URL(url)
  for (const address of ['127.0.0.1', '::1']) {
    for (const host of ['localhost', '127.0.0.1', '[::1]']) {
      const headers = { host: `${host}:${port}`, origin: `http://${host}:${port}` }
      const reply = await send(`${url}/`, { address, headers })
      expect([reply.status, String(reply.body)]).toEqual([200, 'index.html'])
      expect(reply.headers).toMatchObject(SECURITY_HEADERS)
    }
  }
  expect(SECURITY_HEADERS['content-security-policy']).not.toContain('unsafe')
})

test('only an origin that was allowed may send spans from its page, and may do nothing else (DT10)', async () => {
  const origin = 'http://localhost:5173'
  const { url } = await started({ allowOrigin: [origin] })
  const headers = { origin, 'sec-fetch-site': 'cross-site' }
  const preflight = await send(`${url}/v1/traces`, { method: 'OPTIONS', headers })
  expect([preflight.status, preflight.headers['access-control-allow-origin']]).toEqual([204, origin])
  const posted = await send(`${url}/v1/traces`, {
    method: 'POST',
    headers: { ...headers, ...JSON_TYPE },
    body: request(SPAN),
  })
  expect([posted.status, posted.headers['access-control-allow-origin']]).toEqual([200, origin])
  expect((await send(`${url}/api/runs`, { headers })).status).toBe(403)
  expect((await send(`${url}/v1/traces`, { method: 'OPTIONS' })).status).toBe(405)
})

test('unknown paths are 404, and other methods 405 (DT7)', async () => {
  const { url } = await started()
  const status = async (path: string, method = 'GET') => (await send(url + path, { method })).status
  expect(await status('/../package.json')).toBe(404)
  expect(await status('/%2e%2e/package.json')).toBe(404)
  expect(await status('/run/x')).toBe(404)
  expect(await status(`/run/${'1'.repeat(32)}-${'1'.repeat(16)}`)).toBe(200)
  expect(await status('/api/runs', 'DELETE')).toBe(405)
  expect(await status('/v1/traces')).toBe(404)
})

test('HEAD is answered without a body on every route (DT7)', async () => {
  const { url } = await started({ files: [fileOf('trip')] })
  const { key } = recordedRun('trip')
  const paths = ['/', '/page.js', '/api/runs', `/api/runs/${key}`, `/api/runs/${key}/otlp`, '/api/events', '/nothing']
  for (const path of paths) {
    const { status, body } = await send(url + path, { method: 'HEAD' })
    expect([path, status, body.length]).toEqual([path, path === '/nothing' ? 404 : 200, 0])
  }
})

test('a page that listens receives what changed (DT7)', async () => {
  const { url } = await started()
  const abort = new AbortController()
  onTestFinished(() => abort.abort())
  const response = await fetch(`${url}/api/events`, { signal: abort.signal })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const until = async (words: string) => {
    while (!text.includes(words)) text += (await reader?.read())?.value ?? ''
  }
  await until('event: hello')
  await send(`${url}/v1/traces`, { method: 'POST', headers: JSON_TYPE, body: request(SPAN) })
  await until(`-${SPAN.spanId}"`)
  expect(text).toContain('event: runs\ndata: {')
  expect(text).toContain(`"key":"${SPAN.traceId}-${SPAN.spanId}"`)
})

test('a port that is in use is an error that says how to choose another one (DT7)', async () => {
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void other.close())
  const address = other.address()
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0
  await expect(started({ port })).rejects.toThrow(new PortInUseError(port))
  expect(new PortInUseError(4318).message).toBe(
    'Port 4318 is in use, perhaps by a Jaeger or another collector. Choose another one: --port 4319, and OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4319',
  )
})

test('a file has one document or one per line; another one is an error that names it (DT2)', async () => {
  const path = temporaryFile('lines.json')
  const document = await readFile(fileOf('ai-sdk'), 'utf8')
  await writeFile(path, `${document.trim()}\n\n${request(SPAN)}\n`)
  const { url } = await started({ files: [path] })
  expect((await listed(url)).runs).toHaveLength(2)
})

test('a file that cannot be read or is not OTLP is an error of one sentence without its content (DT2)', async () => {
  const path = temporaryFile('wrong.json')
  const form = `${path} is not OTLP as JSON, as one document or one per line`
  const cases = [
    ['', `${form}: it is not JSON`],
    ['secret', `${form}: it is not JSON`],
    ['{"resourceSpans":"secret"}', `${form}: it has other members than OTLP`],
    ['{}\n\n{"resourceSpans":[]}\n{"secret', `${form}: line 4 is not JSON`],
  ] as const
  for (const [text, sentence] of cases) {
    await writeFile(path, text)
    await expect(started({ files: [path] })).rejects.toThrow(
      new OtlpFileError(path, sentence.slice(path.length + 1), {}),
    )
  }
  await expect(started({ files: [tmpdir()] })).rejects.toThrow(`${tmpdir()} cannot be read: it is a folder`)
  await expect(started({ files: [`${path}.none`] })).rejects.toThrow('.none cannot be read: there is no such file')
})

test('the list has the runs before a time and with a text, and not more than a number (DT7)', async () => {
  const { url } = await started({ files: [fileOf('ai-sdk'), fileOf('langchain'), fileOf('bench-f')] })
  const titles = async (query: string) => (await listed(url, query)).runs.map(({ title }) => title)
  expect(await titles('?q=ROME')).toEqual(['Plan three days in Rome.', 'Plan three days in Rome.'])
  expect(await titles('?q=undefined')).toEqual([])
  expect(await titles('?limit=1')).toHaveLength(1)
  const { runs } = await listed(url)
  expect(await titles(`?before=${runs.at(-2)?.start}`)).toEqual([runs.at(-1)?.title])
})

async function get<Answer>(url: string): Promise<Answer> {
  const { body } = await send(url)
  return JSON.parse(String(body)) as Answer
}

const listed = (url: string, query = ''): Promise<RunList> => get<RunList>(`${url}/api/runs${query}`)

/** A file has times to a quarter of a microsecond. */
const rounded = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, one: unknown) => (typeof one === 'number' ? Math.round(one * 1_000) : one)))
