import { call, cut, end, fail, respond, say, think } from '@meanwhile/assemble/testing'
import { byTurns, everyNth, ofEachKind } from '@meanwhile/tests/size'
import { expect, test } from 'vitest'
import { clients } from '../test/clients.ts'
import { type Heard, listen } from '../test/listen.ts'
import { chunkLosses, helperLosses, lostBy } from '../test/losses.ts'
import { type Transport, transports } from '../test/transports.ts'
import type { Slice } from './cutter.ts'
import { mockModels } from './msw.ts'
import { type Quirk, quirkResponse, quirks } from './quirks.ts'
import type { ScriptedReply } from './script.ts'
import { WIRE_NAMES, type WireName } from './wires/wire-name.ts'

// Every script on every transport, read by the official client of every wire.
const everywhere = transports.flatMap((transport) =>
  clients.map((client) => ({ transport, client, over: transport.name, wire: client.wire })),
)

const usage = { inputTokens: 12, outputTokens: 34 }

const calls = [
  { id: 'call_a', name: 'weather', input: { city: 'Zürich "north"' } },
  { id: 'call_b', name: 'time', input: {} },
]

const answer = respond(
  think('Let me see.'),
  say('I will look — 東京.'),
  call('weather', calls[0]?.input, { id: 'call_a' }),
  call('time', {}, { id: 'call_b' }),
  end({ usage }),
)

const heard = { text: 'I will look — 東京.', reasoning: 'Let me see.', calls, usage: [12, 34] }

test.for(everywhere)('$wire over $over: text, reasoning, calls, finish reason and usage arrive', async (at) => {
  const stage = await at.transport.serve({ script: [answer] })
  expect(await at.client.read(stage)).toEqual({ ...heard, finish: at.client.finish.calls })
  await stage.assertComplete()
})

test.for(everywhere)('$wire over $over: the accumulating helper of the client has the same result', async (at) => {
  const stage = await at.transport.serve({ script: [answer] })
  const final = await at.client.final(stage)
  expect({ reasoning: heard.reasoning, ...final }).toEqual({ ...heard, finish: at.client.finish.calls })
})

test.for(everywhere)('$wire over $over: cutting the body anywhere changes nothing', async (at) => {
  const stage = await at.transport.serve({ script: [answer, answer], slice: { bytes: 7 } })
  expect(await at.client.read(stage)).toEqual({ ...heard, finish: at.client.finish.calls })
})

test.for(everywhere)('$wire over $over: an answer that reached its token limit has that finish reason', async (at) => {
  const stage = await at.transport.serve({
    script: [respond(say('Once upon'), end({ finishReason: 'length', usage }))],
  })
  const { text, finish } = await at.client.read(stage)
  expect([text, finish]).toEqual(['Once upon', at.client.finish.length])
})

test.for(everywhere)('$wire over $over: a failure at the beginning is an HTTP status', async (at) => {
  const script = [respond(fail({ status: 500, code: 'server_error', message: 'no luck' }))]
  const stage = await at.transport.serve({ script })
  await expect(at.client.read(stage)).rejects.toMatchObject({
    status: 500,
    message: expect.stringContaining('no luck'),
  })
})

test.for(everywhere)('$wire over $over: the client waits as long as retry-after requests, and retries', async (at) => {
  const limited = fail({ status: 429, code: 'rate_limit_error', message: 'slow down', retryAfter: 20 })
  const stage = await at.transport.serve({ script: [respond(limited), respond(say('Now'))] })
  expect(await at.client.read(stage, { maxRetries: 1 })).toMatchObject({ text: 'Now' })
  const [first, second] = await stage.log()
  expect((second?.arrived ?? 0) - (first?.end ?? 0)).toBeGreaterThanOrEqual(19)
})

test.for(everywhere)('$wire over $over: a later failure is an error inside the stream', async (at) => {
  const script = [respond(say('Half an'), fail({ status: 529, code: 'overloaded_error', message: 'too much' }))]
  const stage = await at.transport.serve({ script })
  await expect(at.client.read(stage)).rejects.toThrow('too much')
})

test.for(everywhere)('$wire over $over: a truncated stream has no terminal event', async (at) => {
  const stage = await at.transport.serve({ script: [respond(say('Half an'), cut())] })
  expect(await at.client.read(stage)).toMatchObject({ text: 'Half an', finish: null })
})

test.for(everywhere)('$wire over $over: a client that aborts ends the response', async (at) => {
  const script = [respond(say('one two three four five six seven eight nine ten'))]
  // The next word comes long after the abort, however busy the machine is.
  const stage = await at.transport.serve({ script, pace: { firstToken: 0, betweenTokens: 30_000 } })
  const aborter = new AbortController()
  const stream = await at.client.chunks(stage, { signal: aborter.signal })
  for await (const _ of stream) aborter.abort()

  const [response] = await stage.log()
  await expect.poll(() => response?.aborted).toBe(true)
  expect(response).not.toHaveProperty('end')
})

test.for(everywhere)('$wire over $over: a client that disconnects ends the response', async (at) => {
  const script = [respond(say('one two three four five six seven eight nine ten'))]
  // It would take minutes, so that no machine is so busy that it ends before the client does.
  const stage = await at.transport.serve({ script, pace: { firstToken: 0, betweenTokens: 60_000 } })
  for await (const _ of await at.client.chunks(stage)) break

  const [response] = await stage.log()
  await expect.poll(() => response?.aborted, { timeout: 30_000 }).toBe(true)
})

test.for(everywhere)(
  '$wire over $over: an unexpected request fails at once, with a message, without retries',
  async (at) => {
    const stage = await at.transport.serve({ script: [] })
    const failure = at.client.read(stage, { maxRetries: 2 })
    await expect(failure).rejects.toMatchObject({
      status: 500,
      message: expect.stringMatching(/request 1 \(POST .*\) was not expected: the script has 0 responses/),
    })
    expect(await stage.requests()).toHaveLength(1)
    await expect(stage.assertComplete()).rejects.toMatchObject({ name: 'UnexpectedRequestError', request: 1 })
  },
)

test.for(everywhere)('$wire over $over: the journal has the request, and no secrets', async (at) => {
  const stage = await at.transport.serve({ script: [answer] })
  await at.client.read(stage)
  const [request] = await stage.requests()
  expect(request).toMatchObject({ number: 1, wire: at.wire, method: 'POST', body: { stream: true } })
  expect(request?.headers).toHaveProperty('content-type', 'application/json')
  expect(JSON.stringify(request)).not.toContain('sk-secret')
  expect(Object.isFrozen((request?.body as { stream: true }) ?? {})).toBe(true)
})

// Every script and every quirk is the same on every transport byte for byte, however it is cut.
interface Case {
  readonly title: string
  /** The forms of one quirk are of one kind. */
  readonly kind: string
  readonly wire: WireName
  readonly reply: ScriptedReply
  /** For a response that does not end: how much of it is awaited. */
  readonly leaveAfter?: number
}

const scripts: Readonly<Record<string, ScriptedReply>> = {
  'an answer': answer,
  'no answer at all': respond(),
  'an answer cut by its length': respond(say('Once upon'), end({ finishReason: 'length', usage })),
  'a refusal': respond(say('I will not.'), end({ finishReason: 'content-filter' })),
  'arguments that are not JSON': respond(call('f', '{"x":')),
  'a status': respond(fail({ status: 429, code: 'rate_limit_error', retryAfter: 20 })),
  'an error in the stream': respond(say('Half an'), fail({ status: 529, code: 'overloaded_error' })),
  'a stream that is cut': respond(say('Half an'), cut()),
}

const cases: readonly Case[] = [
  ...Object.entries(scripts).flatMap(([title, reply]) =>
    WIRE_NAMES.map((wire) => ({ title, kind: title, wire, reply })),
  ),
  ...quirks.map((quirk) => ({
    title: `q${quirk.id}, ${quirk.title}`,
    kind: quirk.id,
    wire: quirk.wire,
    reply: quirkResponse(quirk),
    ...(quirk.ending?.end === 'stall' && { leaveAfter: 300 }),
  })),
]

async function heardOver(transport: Transport, { wire, reply, leaveAfter }: Case, slice: Slice) {
  const stage = await transport.serve({ script: [reply], slice })
  const heard = await listen(stage, wire, leaveAfter === undefined ? {} : { leaveAfter })
  await stage.assertComplete()
  return heard
}

const [exact] = transports
const SLICES: readonly Slice[] = ['event', 'whole', { random: 1 }]
// The fetch of the mock reads each case once, for both of the others.
const sliced = cases.map((case_, at) => ({
  ...case_,
  slices: byTurns(SLICES, { small: 1, middle: 1, whole: 3 }, at),
  expected: new Map<Slice, Promise<Heard>>(),
}))
// One of each kind on each wire, over one of the others by turns; in whole runs all over both.
const others = ofEachKind(sliced, ({ kind, wire }) => `${kind} ${wire}`).flatMap((item, at) =>
  byTurns(transports.slice(1), { small: 1, middle: 1, whole: 2 }, at).map((transport) => ({
    ...item,
    transport,
    over: transport.name,
  })),
)

test.for(others)(
  '$wire over $over has the same bytes as the fetch of a mock: $title',
  async ({ transport, slices, expected, ...case_ }) => {
    for (const slice of slices) {
      const heard = await heardOver(transport, case_, slice)
      expect(heard.error).toBeUndefined()
      if (exact && !expected.has(slice)) expected.set(slice, heardOver(exact, case_, slice))
      expect(heard).toEqual(await expected.get(slice))
    }
  },
)

// The official clients lose nothing, or exactly the known losses.
const ended = quirks.filter((quirk) => quirk.ending === undefined)

/** The contents of a quirk's frames, as objects. */
function sent({ events }: Quirk): unknown[] {
  return events.flatMap((event) => {
    if (typeof event !== 'string') return [event]
    const [, data] = /^data: ?(\{.*\})$/m.exec(event) ?? []
    return data === undefined ? [] : [JSON.parse(data)]
  })
}

const outsideChoices = (key: string, value: unknown) => (key === 'choices' ? undefined : value)

// The test above compares the transports: each quirk on each wire is read over one of them, by turns; in whole runs over all. In small runs
// every second is: the tests of the adapters read all of them with the same clients.
const someQuirks = everyNth(
  ofEachKind(ended, ({ id, wire }) => `${id} ${wire}`),
  2,
)
const read = someQuirks.flatMap((quirk, at) =>
  byTurns(transports, { small: 1, middle: 1, whole: 3 }, at).map((transport) => ({
    ...quirk,
    transport,
    over: transport.name,
  })),
)

test.for(read)('q$id on $wire over $over: the official client has every event, $title', async (at) => {
  const client = clients.find(({ wire }) => wire === at.wire)
  const stage = await at.transport.serve({ script: [quirkResponse(at, { slice: { random: 3 } })] })
  const chunks: unknown[] = []
  const reading = async () => {
    for await (const chunk of (await client?.chunks(stage)) ?? []) chunks.push(chunk)
  }
  // The client does not look for errors inside choices.
  const errors = sent(at).filter((event) => /"error":["{]/.test(JSON.stringify(event, outsideChoices)))
  const loss = lostBy(chunkLosses, at)
  if (loss?.throws !== undefined) return expect(reading()).rejects.toThrow(loss.throws)
  if (errors.length > 0) await expect(reading()).rejects.toThrow()
  else await reading()

  const lost = loss !== undefined
  const whole = sent(at).filter((event) => !errors.includes(event))
  if (lost) expect(chunks.length).toBeLessThan(whole.length)
  else expect(chunks).toEqual(whole)
})

const answers = ended.flatMap((quirk) => ('calls' in quirk.expected && 'finishReason' in quirk.expected ? [quirk] : []))
const judged = answers.filter(
  (quirk) => lostBy(helperLosses, quirk) || !quirk.expected.calls?.some((one) => one.invalid === true),
)

test.for(judged)('q$id on $wire: the result of the official client’s helper is known, $title', async (quirk) => {
  const client = clients.find(({ wire }) => wire === quirk.wire)
  const { fetch } = mockModels({ script: [quirkResponse(quirk)] })
  const final = client?.final({ fetch })
  const lost = lostBy(helperLosses, quirk)
  if (lost?.throws !== undefined) return expect(final).rejects.toThrow(lost.throws)
  const { text = '', calls: expected = [] } = quirk.expected
  const whole = { text, calls: expected.map(({ id, name, input }) => ({ id, name, input })) }
  return expect(await final).toMatchObject(lost?.gives ?? whole)
})
