import { call, collect, fail, respond, type ScriptResponse, say, scriptedModel } from '@meanwhile/assemble/testing'
import { type AgentOptions, type Checkpoint, createAgent, type Model, type ModelRequest, tool } from '@meanwhile/core'
import { earlyStop, retryModel } from '@meanwhile/middleware'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'

// A cancel while middleware waits or makes its own model calls.

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

/** The response to a request depends on its history, and on the number of requests with that history. Tokens come every 10 ms. */
function modelOf(responses: readonly (readonly ScriptResponse[])[]): Model & { readonly requests: ModelRequest[] } {
  const requests: ModelRequest[] = []
  const asked = new Map<number, number>()
  return {
    provider: 'p',
    id: 'm',
    requests,
    stream(request) {
      requests.push(request)
      const turn = request.messages.filter(({ role }) => role === 'assistant').length
      const before = asked.get(turn) ?? 0
      asked.set(turn, before + 1)
      const response = responses[turn]?.[before] ?? responses[turn]?.at(-1) ?? respond(say('Done.'))
      return scriptedModel([response], { pace: { firstToken: 10, betweenTokens: 10 } }).stream(request)
    },
  }
}

function start(responses: readonly (readonly ScriptResponse[])[], options: Partial<AgentOptions>) {
  const model = modelOf(responses)
  const agent = createAgent({ model, ...options })
  const run = agent.stream('Go')
  return { agent, model, run, reading: collect(run) }
}

async function ended<Read>(reading: Promise<Read>): Promise<Read> {
  await vi.runAllTimersAsync()
  return await reading
}

const stored = (checkpoint: Checkpoint | undefined) => JSON.parse(JSON.stringify(checkpoint)) as Checkpoint

test.each(['now', 'after-model', 'after-tools'] as const)(
  'cancel %s while retryModel waits stops the run there: no timer, no further request, and the resume calls the model again (K7, J6, J8, J10)',
  async (at) => {
    // At 9 ms the attempt is still running, and `now` does not wait for its end.
    for (const moment of at === 'now' ? [500] : [9, 500]) {
      const middleware = [retryModel({ baseDelay: 1_000, random: () => 0 })]
      const { agent, model, run, reading } = start([[respond(say('Hm'), fail()), respond(say('Fine.'))]], {
        middleware,
      })
      await vi.advanceTimersByTimeAsync(moment)
      const cancelled = run.cancel({ at })
      await vi.advanceTimersByTimeAsync(1)
      expect(vi.getTimerCount()).toBe(0)
      const { events, result } = await ended(reading)
      expect(await cancelled).toEqual({ status: 'cancelled' })
      expect(model.requests).toHaveLength(1)
      expect(result?.cancelled).toEqual({ at })
      expect(events.slice(-2)).toMatchObject([
        { type: 'attempt-failed', attempt: 1, next: 'retry', waitMs: 1_000 },
        { type: 'run-end', result: { status: 'cancelled' } },
      ])
      const { events: later, result: final } = await ended(collect(agent.resume(stored(result?.checkpoint))))
      expect(later.find(({ type }) => type === 'attempt-start')).toMatchObject({ attempt: 2 })
      expect(final?.text).toBe('Fine.')
    }
  },
)

test('a closing answer that is cancelled is requested again, once, with one instruction (O11)', async () => {
  const look = tool({ name: 'look', description: 'l', input: z.object({}), effect: 'read', execute: () => 'seen' })
  const responses = [[respond(call('look', {}, { id: 'look', deltas: 1 }))], [respond(say('What I know is this.'))]]
  const options = { tools: [look], maxSteps: 1, middleware: [earlyStop()] }
  const whole = start(responses, options)
  const { result: undisturbed } = await ended(whole.reading)
  expect(undisturbed).toMatchObject({ stopReason: 'early-stop', steps: 2 })

  for (const at of ['now', 'after-tools', 'after-model'] as const) {
    const { agent, model, run, reading } = start(responses, options)
    await vi.advanceTimersByTimeAsync(50)
    const cancelled = run.cancel({ at })
    const { result } = await ended(reading)
    if (at !== 'now') {
      expect(await cancelled).toEqual({ status: 'ended' })
      expect(result?.stopReason).toBe('early-stop')
      continue
    }
    expect(await cancelled).toEqual({ status: 'cancelled' })
    const { result: final } = await ended(collect(agent.resume(stored(result?.checkpoint))))
    expect(model.requests).toHaveLength(3)
    expect(final).toMatchObject({ status: 'completed', stopReason: 'early-stop', steps: 2 })
    expect(final?.messages).toEqual(undisturbed?.messages)
    expect(model.requests[2]).toMatchObject({ messages: model.requests[1]?.messages, toolChoice: 'none' })
    expect(final?.messages.filter((message) => 'origin' in message)).toHaveLength(1)
  }
})

test('a run that is cancelled before its closing answer requests it when it is resumed (O11, N18)', async () => {
  const look = tool({ name: 'look', description: 'l', input: z.object({}), effect: 'read', execute: () => 'seen' })
  const responses = [[respond(call('look', {}, { id: 'look', deltas: 1 }))], [respond(say('This.'))]]
  const { agent, model, run, reading } = start(responses, { tools: [look], maxSteps: 1, middleware: [earlyStop()] })
  await vi.advanceTimersByTimeAsync(5)
  void run.cancel({ at: 'after-tools' })
  const { result } = await ended(reading)
  expect(result).toMatchObject({ status: 'cancelled', steps: 1 })
  const { result: final } = await ended(collect(agent.resume(stored(result?.checkpoint))))
  expect(final).toMatchObject({ stopReason: 'early-stop', text: 'This.' })
  expect(model.requests).toHaveLength(2)
})
