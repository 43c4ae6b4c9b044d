import { call, respond, say } from '@meanwhile/assemble/testing'
import type { WireName } from '@meanwhile/harness/server'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { ourselves } from './agents.ts'
import { measure } from './measure.ts'
import type { Scenario } from './scenario.ts'
import { SCENARIOS } from './scenarios.ts'
import { openTransport } from './transport.ts'

const { signal } = new AbortController()

const input = { key: 'task-1', content: 'say "go"' }

const scenario: Scenario = {
  id: 'b',
  title: 'Small',
  shape: '1 call of 1 ms',
  timing: 'at-once',
  tools: [{ name: 'run_task', effect: 'read', input: z.object({ key: z.string(), content: z.string() }) }],
  turns: [[{ id: 'call_1', tool: 'run_task', input, toolMs: 1 }], []],
  script: [respond(say('Now.'), call('run_task', input, { id: 'call_1', deltas: 3 })), respond(say('Done.'))],
  answer: 'Done.',
}

test.each(['openai-chat', 'openai-responses', 'anthropic'] as const)(
  'a run on %s is measured against the log of its own server',
  async (wire) => {
    await using transport = await openTransport('msw', signal)
    const sample = await measure({ scenario, wire, mode: 'eager' }, ourselves, transport, signal)
    const { streams, calls, bound, end } = sample.timeline
    expect(sample.wallMs).toBeCloseTo(end)
    expect(sample.wallMs).toBeGreaterThanOrEqual(sample.boundMs ?? Number.NaN)
    expect(bound ?? 0).toBeCloseTo((streams[0]?.begin ?? 0) + (sample.boundMs ?? 0))
    expect(streams).toHaveLength(2)
    expect(calls.map(({ id, argsDone, entered }) => ({ id, lag: entered - argsDone }))).toEqual([
      { id: 'call_1', lag: expect.closeTo(sample.lagMs[0] ?? 0) },
    ])
  },
)

test.each(['openai-chat', 'openai-responses', 'anthropic'] as const)(
  'the bare loop does the same tasks on %s, and starts its tools as early',
  async (wire) => {
    await using transport = await openTransport('msw', signal)
    const { early, lagMs, timeline } = await measure(
      { scenario: SCENARIOS.d50, wire, mode: 'floor' },
      ourselves,
      transport,
      signal,
    )
    expect({ early, calls: lagMs.length, requests: timeline.streams.length }).toEqual({ early, calls: 1, requests: 2 })
  },
)

test('a run whose tool received other arguments than the scenario defines does not count', async () => {
  const other = call('run_task', { ...input, content: 'stop' }, { id: 'call_1' })
  await expect(fails({ ...scenario, script: [respond(other), respond(say('Done.'))] })).rejects.toThrow(
    'call_1 ran with other arguments',
  )
})

test('a run in which a tool ran twice or not at all does not count', async () => {
  const one = call('run_task', input, { id: 'call_1' })
  const two = call('run_task', input, { id: 'call_2' })
  await expect(fails({ ...scenario, script: [respond(one, two), respond(say('Done.'))] })).rejects.toThrow(
    '2 executions of 1 calls',
  )
  await expect(fails({ ...scenario, script: [respond(say('Done.'))] })).rejects.toThrow('1 requests arrived, not 2')
})

test('a run with another answer than the one in the script does not count', async () => {
  await expect(fails({ ...scenario, answer: 'Not yet.' })).rejects.toThrow('the answer was "Done."')
})

test('a run with several turns is measured turn by turn', async () => {
  await using transport = await openTransport('msw', signal)
  const second = { key: 'task-2', content: '' }
  const turns: Scenario = {
    ...scenario,
    timing: 'paced',
    pace: { firstToken: 1, betweenTokens: 1 },
    turns: [...scenario.turns.slice(0, 1), [{ id: 'call_2', tool: 'run_task', input: second, toolMs: 5 }], []],
    script: [
      ...scenario.script.slice(0, 1),
      respond(call('run_task', second, { id: 'call_2' })),
      respond(say('Done.')),
    ],
  }
  const { timeline, boundMs, lagMs } = await measure(
    { scenario: turns, wire: 'openai-chat', mode: 'parallel' },
    ourselves,
    transport,
    signal,
  )
  const [one, two, three] = timeline.streams.map(({ begin, end }) => end - begin)
  expect(timeline.calls.map(({ id }) => id)).toEqual(['call_1', 'call_2'])
  expect(lagMs).toHaveLength(2)
  expect(boundMs).toBeGreaterThanOrEqual((one ?? 0) + (two ?? 0) + (three ?? 0))
  expect(boundMs).toBeGreaterThanOrEqual(5)
})

/** The scenario expects what `scenario` expects, whatever its model streams. */
async function fails(wrong: Scenario): Promise<unknown> {
  await using transport = await openTransport('msw', signal)
  const stage = (_: Pick<Scenario, 'script'>, wire: WireName) => transport.stage(wrong, wire)
  return await measure(
    { scenario: { ...wrong, script: scenario.script }, wire: 'anthropic', mode: 'eager' },
    ourselves,
    { ...transport, stage },
    signal,
  )
}
