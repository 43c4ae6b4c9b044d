import { createServer } from 'node:http'
import { type Span as ApiSpan, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { TracerProvider } from '@opentelemetry/sdk-trace'
import { expect, onTestFinished, test, vi } from 'vitest'
import { send, started } from '../test/started.ts'
import { devtools } from './processor.ts'
import type { RunDetail, RunList } from './server/api.ts'

function setup(url: string) {
  const processor = devtools({ url, everyMs: 1 })
  onTestFinished(() => processor.shutdown())
  const tracer = new TracerProvider({ spanProcessors: [processor] }).getTracer('test')
  const start = (operation: string, parent?: ApiSpan) => {
    const attributes = { 'gen_ai.operation.name': operation }
    return tracer.startSpan(operation, { attributes }, parent ? trace.setSpan(ROOT_CONTEXT, parent) : ROOT_CONTEXT)
  }
  return { processor, tracer, start }
}

test('a run is in the list while it is open, and what is set on its spans later arrives before they end (DT6)', async () => {
  const { url } = await started()
  const { processor, start } = setup(url)
  const run = start('invoke_agent')
  const call = start('execute_tool', run)
  await until(async () => (await listed(url))[0]?.calls === 1)
  expect((await listed(url)).map(({ state }) => state)).toEqual(['running'])
  call.setAttributes({
    'gen_ai.tool.name': 'weather',
    'meanwhile.dispatch.mode': 'early',
    'meanwhile.tool.duration': 0.25,
  })
  const [key = ''] = (await listed(url)).map((summary) => summary.key)
  const callNow = async () => (await get<RunDetail>(`${url}/api/runs/${key}`)).run.steps[0]?.calls[0]
  await until(async () => (await callNow())?.tool === 'weather')
  expect(await callNow()).toMatchObject({ early: true, fate: 'committed', end: expect.any(Number) })
  call.end()
  run.end()
  await processor.forceFlush()
  expect((await listed(url)).map(({ state, calls }) => [state, calls])).toEqual([['completed', 1]])
  expect(processor.dropped).toBe(0)
})

test('only spans that have changed are sent again, and other collectors never receive an open one (DT6)', async () => {
  const bodies: string[] = []
  const url = await serverThat((path, body) => {
    bodies.push(`${path} ${body}`)
    return 200
  })
  const { processor, start } = setup(url)
  const quiet = start('chat')
  const busy = start('execute_tool')
  await until(async () => bodies.length === 1)
  busy.setAttribute('more', 1)
  await until(async () => bodies.length === 2)
  busy.addEvent('happened')
  await until(async () => bodies.length === 3)
  const names = (body = '') => [...body.matchAll(/"name":"(chat|execute_tool)"/g)].map(([, name]) => name)
  expect(bodies.map((body) => [body.split(' ')[0], names(body)])).toEqual([
    ['/devtools/open', ['chat', 'execute_tool']],
    ['/devtools/open', ['execute_tool']],
    ['/devtools/open', ['execute_tool']],
  ])
  expect(bodies[0]).toContain('"endTimeUnixNano":"0"')
  quiet.end()
  busy.end()
  await processor.forceFlush()
  const [ended = '', ...more] = bodies.slice(3)
  expect(more).toEqual([])
  expect([ended.split(' ')[0], names(ended)]).toEqual(['/v1/traces', ['chat', 'execute_tool']])
  expect(ended).not.toContain('"endTimeUnixNano":"0"')
})

test('if nobody listens, the program runs on: spans are kept up to a bound, the rest is counted, one line says so (DT6)', async () => {
  const error = vi.spyOn(console, 'error').mockReturnValue(undefined)
  onTestFinished(() => error.mockRestore())
  const { url, close } = await started()
  await close()
  const { processor, start } = setup(url)
  for (let n = 0; n < 4_100; n++) start('chat').end()
  await processor.forceFlush()
  await processor.forceFlush()
  expect(processor.dropped).toBe(100)
  expect(error.mock.calls).toEqual([[expect.stringMatching(/^The devtools at .* do not answer \(ECONNREFUSED\)/)]])
  const { port } = new URL(url)
  await started({ port: Number(port) })
  await processor.forceFlush()
  expect((await get<RunList>(`${url}/api/runs?limit=1`)).received).toBeGreaterThanOrEqual(500)
})

test('if another program listens at the address and refuses open spans, one line says so (DT6)', async () => {
  const error = vi.spyOn(console, 'error').mockReturnValue(undefined)
  onTestFinished(() => error.mockRestore())
  const { start } = setup(await serverThat((path) => (path === '/v1/traces' ? 200 : 404)))
  for (let n = 0; n < 3; n++) start('chat')
  await until(async () => error.mock.calls.length > 0)
  start('chat')
  expect(error.mock.calls).toEqual([[expect.stringMatching(/refuses spans \(status 404\). Is it the devtools\?$/)]])
})

test('a batch that is too large is sent by halves, and one span that is too large is named in one line (DT6)', async () => {
  const error = vi.spyOn(console, 'error').mockReturnValue(undefined)
  onTestFinished(() => error.mockRestore())
  const kept: string[] = []
  const url = await serverThat((path, body) => {
    if (path === '/v1/traces' && body.length > 5_000) return 413
    if (path === '/v1/traces') kept.push(...[...body.matchAll(/"name":"(\w+)","kind"/g)].map(([, name = '']) => name))
    return 200
  })
  const { processor, start } = setup(url)
  const end = (name: string, size: number) => start(name).setAttribute('text', 'x'.repeat(size)).end()
  for (let n = 0; n < 20; n++) end(`span${n}`, n % 7 === 3 ? 6_000 : 1_000)
  await processor.forceFlush()
  expect(kept).toEqual([...Array(20).keys()].filter((n) => n % 7 !== 3).map((n) => `span${n}`))
  expect(processor.dropped).toBe(3)
  expect(error.mock.calls).toEqual([[`The span "span3" is too large for the program at ${url}. It is not shown.`]])
})

test('if half of a batch is not answered, only that half is sent again, and a span that was too large counts once (DT6)', async () => {
  const error = vi.spyOn(console, 'error').mockReturnValue(undefined)
  onTestFinished(() => error.mockRestore())
  const kept: string[] = []
  let breaks = 1
  const url = await serverThat((path, body) => {
    if (path !== '/v1/traces') return 200
    const names = [...body.matchAll(/"name":"(\w+)","kind"/g)].map(([, name = '']) => name)
    if (names.includes('large')) return 413
    if (names.includes('unlucky') && breaks-- > 0) return undefined
    kept.push(...names)
    return 200
  })
  const { processor, start } = setup(url)
  for (const name of ['first', 'large', 'unlucky', 'last']) start(name).end()
  await processor.forceFlush()
  expect(kept).toEqual(['first'])
  await processor.forceFlush()
  expect(kept).toEqual(['first', 'unlucky', 'last'])
  expect(processor.dropped).toBe(1)
})

test('bytes are sent as bytes, not as a list of their members (DT6)', async () => {
  const { url } = await started()
  const { processor, start } = setup(url)
  const span = start('chat')
  const { traceId, spanId } = span.setAttributes({ bytes: Uint8Array.of(1, 2, 3) }).spanContext()
  span.end()
  await processor.forceFlush()
  expect(await get(`${url}/api/spans/${traceId}/${spanId}`)).toMatchObject({ attributes: { bytes: 'AQID' } })
})

test('an address may end with a slash; one that is not of http is an error at once (DT6)', async () => {
  const { url } = await started()
  const { processor, start } = setup(`${url}/`)
  start('chat').end()
  await processor.forceFlush()
  expect((await listed(url)).map(({ state }) => state)).toEqual(['completed'])
  for (const wrong of ['localhost:4318', 'https://localhost:4318', ''])
    expect(() => devtools({ url: wrong })).toThrow(`such as http://localhost:4318, not ${wrong}`)
})

test('after a shutdown nothing is sent, and spans may still begin and end (DT6)', async () => {
  const { url } = await started()
  const { processor, start } = setup(url)
  const open = start('chat')
  start('chat').end()
  await processor.shutdown()
  open.end()
  start('chat').end()
  await processor.forceFlush()
  await processor.shutdown()
  expect((await listed(url)).map(({ state }) => state).sort()).toEqual(['completed', 'running'])
})

/** The address of a stand-in for a collector, which answers each request with a status, or closes its connection. */
async function serverThat(answers: (path: string, body: string) => number | undefined): Promise<string> {
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => (body += chunk))
    request.on('end', () => {
      const status = answers(request.url ?? '', body)
      if (status === undefined) request.socket.destroy()
      else response.writeHead(status).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 10))
}

async function get<Answer>(url: string): Promise<Answer> {
  const { body } = await send(url)
  return JSON.parse(String(body)) as Answer
}

const listed = async (url: string): Promise<RunList['runs']> => (await get<RunList>(`${url}/api/runs`)).runs
