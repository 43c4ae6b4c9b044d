import { call, fail, respond, say, wait } from '@meanwhile/assemble/testing'
import { expect, onTestFinished, test } from 'vitest'
import { clients, type Reach } from '../test/clients.ts'
import { bodyFor } from '../test/requests.ts'
import { type MockModelsOptions, mockModels } from './msw.ts'
import { rawResponse } from './raw.ts'
import { virtualClock } from './virtual-clock.ts'

const options = {
  script: [respond(say('a b'), wait(40), call('f', { x: 1 })), respond(fail({ status: 500 })), respond(say('c'))],
  pace: { firstToken: 30, betweenTokens: 10 },
} satisfies MockModelsOptions

/** Reads one response after the other, and records each piece with its time. */
async function told(reach: Reach, now: () => number): Promise<{ readonly event: string; readonly at: number }[]> {
  const start = now()
  const events: { event: string; at: number }[] = []
  const note = (event: string) => events.push({ event, at: now() - start })
  for (let turn = 0; turn < 3; turn++) {
    try {
      for await (const chunk of await (clients[2]?.chunks(reach) ?? [])) note(JSON.stringify(chunk))
      note('end')
    } catch (error) {
      note(String(error))
    }
  }
  return events
}

const events = (told: readonly { readonly event: string }[]) => told.map(({ event }) => event)

test('the same script gives the same events in the same order as in real time, each when it is due', async () => {
  const real = mockModels(options)
  const clock = virtualClock()
  const virtual = mockModels({ ...options, clock })
  const reading = told(virtual, clock.now)
  await clock.advance(5_000)
  const heard = await reading
  expect(events(heard)).toEqual(events(await told(real, () => performance.now())))

  const schedule = (mock: typeof real, of: 'due' | 'sent') =>
    mock.responses.map((log) => log.writes.map((write) => Math.round(write[of] - log.arrived)))
  expect(schedule(virtual, 'due')).toEqual(schedule(real, 'due'))
  expect(schedule(virtual, 'sent')).toEqual(schedule(virtual, 'due'))
  // 30 ms to the first of five tokens, 10 between them and 40 once more; the 500 at once; 30 to the last one.
  const ends = heard.filter(({ event }) => event === 'end').map(({ at }) => at)
  expect(ends).toEqual([110, 140])
})

test('under setupServer it is the same', async () => {
  const clock = virtualClock()
  using mock = mockModels({ ...options, clock })
  mock.listen()
  const reading = told({}, clock.now)
  await clock.advance(5_000)
  const direct = virtualClock()
  const other = told(mockModels({ ...options, clock: direct }), direct.now)
  await direct.advance(5_000)
  expect(await reading).toEqual(await other)
})

test('time stands still until it is advanced, and then advances exactly that far', async () => {
  const clock = virtualClock()
  const mock = mockModels({ script: [respond(say('a b c'))], pace: { firstToken: 1_000, betweenTokens: 500 }, clock })
  const heard: string[] = []
  const reading = (async () => {
    const body = (
      await mock.fetch('http://models.test/v1/chat/completions', { method: 'POST', body: bodyFor('openai-chat') })
    ).body
    for await (const bytes of body ?? []) heard.push(Buffer.from(bytes).toString())
  })()
  await clock.advance(999)
  expect(heard).toEqual([])
  await clock.advance(1)
  expect(heard.join('')).toContain('"content":"a"')
  expect(heard.join('')).not.toContain('"content":" b"')
  await clock.run()
  await reading
  expect([clock.now(), heard.at(-1)]).toEqual([2_000, 'data: [DONE]\n\n'])
})

test('tools of a test sleep on the same clock, in order with the stream', async () => {
  const clock = virtualClock()
  const mock = mockModels({ script: [respond(say('a b c'))], pace: { firstToken: 100, betweenTokens: 100 }, clock })
  const order: string[] = []
  const stream = (async () => {
    for await (const chunk of await (clients[2]?.chunks(mock) ?? [])) {
      const { delta } = chunk as { delta?: { text?: string } }
      if (delta?.text) order.push(`${delta.text.trim()} at ${clock.now()}`)
    }
  })()
  const tool = clock.sleep(250).then(() => order.push(`tool at ${clock.now()}`))
  await clock.run()
  await Promise.all([stream, tool])
  expect(order).toEqual(['a at 100', 'b at 200', 'tool at 250', 'c at 300'])
})

test('time waits for consequences that need no timer, however many turns they take', async () => {
  const clock = virtualClock()
  const turns = clock.sleep(10).then(async () => {
    for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate)
    return clock.now()
  })
  const later = clock.sleep(20)
  await clock.run()
  await later
  expect(await turns).toBe(10)
})

test('sleepers that are due at the same time wake in the order in which they were added', async () => {
  const clock = virtualClock()
  const order: number[] = []
  for (const n of [1, 2, 3]) void clock.sleep(n === 2 ? 5 : 10).then(() => order.push(n))
  await clock.advance(10)
  expect(order).toEqual([2, 1, 3])
})

test('an abort wakes a sleeper at once', async () => {
  const clock = virtualClock()
  const aborter = new AbortController()
  const sleeping = clock.sleep(1_000, { signal: aborter.signal })
  aborter.abort(new Error('enough'))
  await expect(sleeping).rejects.toThrow('enough')
  await expect(clock.sleep(1, { signal: aborter.signal })).rejects.toThrow('enough')
  await clock.run()
  expect(clock.now()).toBe(0)
})

test('with a stall, a client waits its whole timeout, and the test no time', async () => {
  const clock = virtualClock()
  const script = [rawResponse([{ bytes: 'data: {}\n\n' }, { end: 'stall' }])]
  const mock = mockModels({ script, clock })
  const aborter = new AbortController()
  const limit = clock.sleep(600_000).then(() => aborter.abort(new Error('idle for ten minutes')))
  const response = mock.fetch('http://models.test/v1/messages', {
    method: 'POST',
    body: bodyFor('anthropic'),
    signal: aborter.signal,
  })
  const reading = response.then((opened) => opened.text()).catch((error: unknown) => String(error))
  onTestFinished(() => limit)
  await clock.advance(600_000)
  expect(await reading).toBe('Error: idle for ten minutes')
  expect(mock.responses[0]).toMatchObject({ aborted: true, writes: [{ due: 0, sent: 0 }] })
})
