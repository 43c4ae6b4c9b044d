import { respond, say } from '@meanwhile/assemble/testing'
import { callsOf, createAgent, type Message, tool } from '@meanwhile/core'
import { mockModels } from '@meanwhile/harness'
import { type Outcome, type Quirk, quirkResponse, quirks } from '@meanwhile/harness/quirks'
import { byTurns } from '@meanwhile/tests/size'
import { afterEach, expect, test, vi } from 'vitest'
import * as z from 'zod'
import { ask } from '../test/ask.ts'
import { compatible } from '../test/hosts.ts'
import { outcomeOf } from '../test/outcome.ts'
import { type TestWire, wires } from '../test/wires.ts'

afterEach(() => {
  vi.useRealTimers()
})

const SLICES = ['whole', 'event', { random: 1 }, { random: 2, most: 8 }, { random: 3, most: 200 }] as const

/** Each quirk in single bytes and with another cut, by turns; in small runs in one of both, by turns, in whole runs with all cuts. */
const sliced = quirks.map((quirk, at) => ({
  ...quirk,
  slices: byTurns(
    [{ bytes: 1 } as const, ...byTurns(SLICES, { small: 1, middle: 1, whole: 5 }, at)],
    { small: 1, middle: 2, whole: 6 },
    at,
  ),
}))

function wireOf({ wire }: Pick<Quirk, 'wire'>): TestWire {
  const found = wires.find(({ name }) => name === wire)
  if (!found) throw new Error(`no adapter for ${wire}`)
  return found
}

/** The expectation of the catalogue without the members that are sent back, which another test checks. */
function visible(expected: Outcome): Outcome {
  if (!expected.calls) return expected
  return { ...expected, calls: expected.calls.map(({ sentBack: _, ...call }) => call) }
}

test.for(sliced)('on $wire: $title (q$id)', async ({ slices, ...quirk }) => {
  if (quirk.ending) vi.useFakeTimers()
  for (const slice of slices) {
    const mock = mockModels({ script: [quirkResponse(quirk, { slice })] })
    const model = wireOf(quirk).model(mock.fetch, { idleTimeout: 1_000 })
    const outcome = outcomeOf(model, quirk.expected)
    if (quirk.ending) await vi.advanceTimersByTimeAsync(2_000)
    expect({ slice, outcome: await outcome }).toEqual({ slice, outcome: visible(quirk.expected) })
    mock.assertComplete()
  }
})

const declared = quirks.flatMap((quirk) => (quirk.declared ? [{ ...quirk, ...quirk.declared }] : []))

test.for(declared)('on $wire: $title, for an agent with the tools (q$id)', async (quirk) => {
  const { tools, expected } = quirk
  const ran: object[] = []
  const mock = mockModels({ script: [quirkResponse(quirk), respond(say('Done.'))] })
  const agent = createAgent({
    model: wireOf(quirk).model(mock.fetch),
    tools: tools.map(({ name, inputSchema }) =>
      tool({
        name,
        description: name,
        input: z.fromJSONSchema(inputSchema),
        execute: (input) => ran.push({ name, input }),
      }),
    ),
  })
  expect((await agent.run('Go')).text).toBe('Done.')
  expect(ran).toEqual(expected.calls?.map(({ name, input }) => ({ name, input })))
})

const signed = quirks.filter(({ expected }) => expected.calls?.some((call) => call.sentBack))

test.for(signed)('on $wire: $title, and it is sent back unchanged (q$id, G12)', async (quirk) => {
  const mock = mockModels({ script: [quirkResponse(quirk), respond(say('Done.'))] })
  const model = (quirk.wire === 'openai-chat' ? compatible : wireOf(quirk).model)(mock.fetch)
  const { message } = await ask(model)
  const results = callsOf(message).map(({ id, name }): Message => ({ role: 'tool', callId: id, name, content: [] }))
  await ask(model, { messages: [{ role: 'user', content: 'Go' }, message, ...results] })
  expect(mock.requests[1]?.body).toMatchObject({
    messages: [{}, { tool_calls: quirk.expected.calls?.map(({ sentBack }) => sentBack) }, {}],
  })
})

test('a placeholder is never taken for the arguments (qC13, G5)', async () => {
  for (const quirk of quirks.filter(({ id }) => id === 'C13')) {
    const { events } = await ask(wireOf(quirk).model(mockModels({ script: [quirkResponse(quirk)] }).fetch))
    expect(events.flatMap((event) => ('call' in event ? [event.call.input] : []))).toEqual([{ x: 1 }, { x: 1 }])
  }
})
