import { once } from 'node:events'
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Span } from '../span.ts'
import { Traces } from '../store/traces.ts'
import { sendEvents } from './events.ts'

test('a page that does not read gets no news; when it reads again, it receives that it must load the list (DT7)', async () => {
  const traces = new Traces({ traces: 3 })
  const { reader, response } = await opened(traces)
  let n = 0
  while (!response.writableNeedDrain) {
    traces.add([runOf(++n, 'x'.repeat(4_000_000))])
    await wait(60)
  }
  for (let more = 0; more < 100; more++) traces.add([runOf(++n, 'missed')])
  let text = ''
  reader.setEncoding('utf8').on('data', (chunk: string) => (text += chunk.replaceAll(/x+/g, 'x')))
  while (text.split('event: hello').length < 3) await wait(5)
  expect(text).not.toContain('missed')
  traces.add([runOf(++n, 'seen')])
  while (!text.includes('"agent":"seen"')) await wait(5)
})

test('news that take long are sent less often, all runs in the end, and quick ones at once and then every 50 ms (DT7)', async () => {
  let [spent, cost] = [0, 100]
  class Slow extends Traces {
    override runsOf(id: string) {
      spent += cost
      return super.runsOf(id)
    }
  }
  const traces = new Slow()
  const { response } = await opened(traces, () => performance.now() + spent)
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const write = vi.spyOn(response, 'write')
  const toldWhile = (news: number) => {
    write.mockClear()
    for (let n = 1; n <= news; n++) {
      traces.add([runOf(1, `run ${n}`)])
      vi.advanceTimersByTime(10)
    }
    return write.mock.calls.filter(([text]) => String(text).startsWith('event: runs')).length
  }
  expect(toldWhile(1_000)).toBe(12)
  vi.advanceTimersByTime(900)
  expect(write.mock.lastCall?.[0]).toContain('"agent":"run 1000"')
  cost = 0
  vi.advanceTimersByTime(900)
  expect(toldWhile(1)).toBe(1)
  expect(toldWhile(1_000)).toBe(200)
})

/** A page that does not read yet. */
async function opened(
  traces: Traces,
  clock?: () => number,
): Promise<{ readonly reader: IncomingMessage; readonly response: ServerResponse }> {
  const server = createServer((_, response) => sendEvents(response, traces, clock))
  const asked: Promise<[IncomingMessage, ServerResponse]> = once(server, 'request') as never
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const page = get({ host: '127.0.0.1', port, agent: false })
  const [reader]: IncomingMessage[] = await once(page, 'response')
  if (!reader) throw new Error('nobody answered')
  const [, response] = await asked
  onTestFinished(async () => {
    const closed = once(response, 'close')
    reader.destroy()
    server.close()
    server.closeAllConnections()
    await closed
  })
  return { reader, response }
}

function runOf(n: number, agent: string): Span {
  return {
    traceId: String(n).padStart(32, '0'),
    spanId: '1'.repeat(16),
    name: 'run',
    kind: 0,
    start: n,
    end: n + 1,
    attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': agent },
    events: [],
    links: [],
    status: 0,
    scope: 'test',
    scopeVersion: '',
    resource: {},
  }
}
