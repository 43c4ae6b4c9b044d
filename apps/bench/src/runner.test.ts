import { call, respond, say } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { ourselves } from './agents.ts'
import { measure } from './measure.ts'
import type { Job } from './run-plan.ts'
import { LATE, type RunnerOptions, runPlan } from './runner.ts'
import type { Scenario } from './scenario.ts'
import { openTransport, type Transport } from './transport.ts'

const input = { key: 'task-1', content: 'go' }

const scenario: Scenario = {
  id: 'b',
  title: 'Small',
  shape: '1 call of 1 ms',
  timing: 'paced',
  tools: [{ name: 'run_task', effect: 'read', input: z.object({ key: z.string(), content: z.string() }) }],
  turns: [[{ id: 'call_1', tool: 'run_task', input, toolMs: 1 }], []],
  script: [respond(call('run_task', input, { id: 'call_1', deltas: 1 })), respond(say('Done.'))],
  answer: 'Done.',
  pace: { firstToken: 1, betweenTokens: 1 },
}

const job: Job = { scenario, wire: 'anthropic', mode: 'eager', round: 0 }

test('a run whose server wrote late is repeated while the plan allows it, and then counts unchanged', async () => {
  await using transport = late(await openTransport('msw', signal()), LATE + 1)
  // A plan of one run allows for one repetition.
  expect(await runPlan([job], { ...over(transport), signal: signal() })).toMatchObject([
    { repeated: 1, sample: { latenessMs: LATE + 1 } },
  ])
})

test('a run whose server was in time is not repeated', async () => {
  await using transport = late(await openTransport('msw', signal()), 0)
  expect(await runPlan([job], { ...over(transport), signal: signal() })).toMatchObject([{ repeated: 0 }])
})

test('a run that fails is reported and does not delay others', async () => {
  await using transport = late(await openTransport('msw', signal()), 0)
  const wrong = { ...job, scenario: { ...scenario, answer: 'Not yet.' } }
  let told = 0
  const onMade = () => void told++
  const made = await runPlan([wrong, job], { ...over(transport), signal: signal(), onMade })
  expect(made).toMatchObject([{ failure: 'the answer was "Done."' }, { sample: { wallMs: expect.any(Number) } }])
  expect(told).toBe(2)
})

test('an abort ends the plan with its reason', async () => {
  await using transport = await openTransport('msw', signal())
  const stop = AbortSignal.abort(new Error('enough'))
  await expect(runPlan([job], { ...over(transport), signal: stop })).rejects.toThrow('enough')
})

test('an abort ends the plan only when every run has ended, so that all spans of cancelled runs exist by then', async () => {
  const stop = new AbortController()
  const ended: string[] = []
  const both = [job, { ...job, mode: 'floor' }] as const
  const begun = new Set<string>()
  const runs = runPlan(both, {
    warmUp: [],
    signal: stop.signal,
    async measure({ mode }) {
      begun.add(mode)
      if (begun.size === both.length) stop.abort(new Error('enough'))
      if (mode === 'eager') await new Promise((resolve) => setImmediate(resolve))
      ended.push(mode)
      throw stop.signal.reason
    },
  })
  await expect(runs).rejects.toThrow('enough')
  expect(ended).toEqual(['floor', 'eager'])
})

function over(transport: Transport): Pick<RunnerOptions, 'measure'> {
  return { measure: (subject, stop) => measure(subject, ourselves, transport, stop) }
}

test('paced runs are made two at a time; runs of a loop that reads its endpoint from the environment are made one at a time', async () => {
  const most = async (mode: Job['mode']): Promise<number> => {
    const at = { now: 0, most: 0 }
    await runPlan(
      [job, job, job].map((one) => ({ ...one, mode })),
      {
        warmUp: [],
        signal: signal(),
        async measure() {
          at.most = Math.max(at.most, ++at.now)
          await new Promise((resolve) => setImmediate(resolve))
          at.now--
          throw new Error('no')
        },
      },
    )
    return at.most
  }
  expect(await most('agent.stream, eager')).toBe(2)
  expect(await most('agent.stream, model by name, eager')).toBe(1)
})

function signal(): AbortSignal {
  return new AbortController().signal
}

/** A transport whose server appears to be this late. */
function late(transport: Transport, lateness: number): Transport {
  return {
    ...transport,
    async stage(scenario, wire) {
      const stage = await transport.stage(scenario, wire)
      return {
        ...stage,
        log: async () => (await stage.log()).map((response) => ({ ...response, lateness })),
      }
    },
  }
}
