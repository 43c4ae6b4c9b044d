import {
  call,
  collect,
  cut,
  end,
  respond,
  type ScriptedResponse,
  say,
  scriptedModel,
} from '@meanwhile/assemble/testing'
import {
  type AgentResult,
  type Checkpoint,
  createAgent,
  type Effect,
  interrupt,
  type Middleware,
  tool,
} from '@meanwhile/core'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { retrying } from '../test/retrying.ts'
import { eagerTools } from './index.ts'

// What happens to early calls when a run is interrupted, cancelled or killed, and continues.

let did: string[] = []
beforeEach(() => {
  did = []
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const pace = { firstToken: 10, betweenTokens: 10 }
const anything = z.record(z.string(), z.unknown())
const keys: string[] = []

const worker = (name: string, effect: Effect) =>
  tool({
    name,
    description: name,
    input: anything,
    effect,
    ...(effect === 'reversible' && { compensate: () => void did.push(`undid ${name}`) }),
    async execute({ ms = 0, ask }, { attempt, answers, idempotencyKey }) {
      did.push(`${name} ${attempt}`)
      keys.push(idempotencyKey)
      if (ask && answers.length === 0) throw interrupt(`${name}?`)
      if (Number(ms) > 0) await new Promise((resolve) => setTimeout(resolve, Number(ms)))
      return `${name} done`
    },
  })

function agentOf(
  responses: readonly ScriptedResponse[],
  middleware: readonly Middleware[] = [],
  toolConcurrency?: number,
) {
  return createAgent({
    model: scriptedModel(responses, { pace }),
    tools: [
      worker('look', 'read'),
      worker('put', 'idempotent'),
      worker('hold', 'reversible'),
      worker('send', 'external'),
    ],
    middleware: [...middleware, eagerTools({ independent: ['hold', 'put'] })],
    ...(toolConcurrency !== undefined && { toolConcurrency }),
  })
}

async function played(run: ReturnType<ReturnType<typeof agentOf>['stream']>) {
  const reading = collect(run)
  await vi.runAllTimersAsync()
  const { events, result, error } = await reading
  if (!result) throw error
  return { events, result, checkpoint: result.checkpoint as Checkpoint }
}

const answersTo = ({ interrupts = [] }: AgentResult) => Object.fromEntries(interrupts.map(({ id }) => [id, 'yes']))
const outputs = ({ messages }: AgentResult) => messages.flatMap((one) => (one.role === 'tool' ? [one.output] : []))

test('the question of an early call counts when the loop executes it; the others are kept, and none is made again (O7, H27, L3)', async () => {
  const agent = agentOf([
    respond(call('look', { ask: true }), call('look', {}), call('put', {}), say('one two three')),
    respond(say('Done')),
  ])
  const first = await played(agent.stream('Go'))
  expect(did).toEqual(['look 1', 'look 1', 'put 1'])
  const at = (type: string, callId?: string) =>
    first.events.findIndex(
      (event) => event.type === type && (!callId || ('callId' in event && event.callId === callId)),
    )
  expect(first.events[at('tool-start', 'call_1_1')]).toMatchObject({ provisional: true })
  expect(at('tool-start', 'call_1_1')).toBeLessThan(at('text-delta'))
  expect(at('tool-committed', 'call_1_1')).toBeGreaterThan(at('text-delta'))
  expect(first.result.interrupts).toMatchObject([
    { address: [{ agent: null }, { tool: 'look', callId: 'call_1_1' }], payload: 'look?' },
  ])
  const { result } = await played(agent.resume(first.checkpoint, answersTo(first.result)))
  expect(did.slice(3)).toEqual(['look 2'])
  expect(outputs(result)).toEqual(['look done', 'look done', 'put done'])
  // Two equal calls have different keys, and each keeps its key over the resume.
  expect(new Set(keys).size).toBe(3)
})

test('if the response is not accepted, the question is dropped; the next attempt’s equal call asks once (O7, H22)', async () => {
  const nobody = agentOf([
    respond(call('look', { ask: true }), say('a b'), end({ finishReason: 'length' })),
    respond(say('Done')),
  ])
  expect((await played(nobody.stream('Go'))).result).toMatchObject({ status: 'completed', text: 'Done' })
  expect(did).toEqual(['look 1'])

  const retried = agentOf(
    [respond(call('look', { ask: true }), say('a'), cut()), respond(call('look', { ask: true })), respond(say('Done'))],
    [retrying()],
  )
  const first = await played(retried.stream('Go'))
  expect(did).toEqual(['look 1', 'look 1'])
  expect(first.result.interrupts).toMatchObject([{ payload: 'look?' }])
  const { result } = await played(retried.resume(first.checkpoint, answersTo(first.result)))
  expect(did).toEqual(['look 1', 'look 1', 'look 2'])
  expect(result.text).toBe('Done')
})

test('with one slot, the calls after an early call that asks start after the resume (O7, A22, H12)', async () => {
  const agent = agentOf([respond(call('look', { ask: true }), call('look'), say('a b c')), respond(say('Done'))], [], 1)
  const first = await played(agent.stream('Go'))
  expect(did).toEqual(['look 1'])
  const { result } = await played(agent.resume(first.checkpoint, answersTo(first.result)))
  expect(did).toEqual(['look 1', 'look 2', 'look 1'])
  expect(outputs(result)).toEqual(['look done', 'look done'])
})

test('a run stopped while the model is streaming keeps its early calls: settled ones are joined, a read is made again, another is unknown (O9, H27, H39)', async () => {
  const says = [
    call('look', {}),
    call('hold', {}),
    call('look', { ms: 900 }, { deltas: 1 }),
    call('put', { ms: 900 }, { deltas: 1 }),
  ]
  const agent = agentOf([respond(...says, say('a b c d e f g h i j k l m n')), respond(...says), respond(say('Done'))])
  const run = agent.stream('Go')
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(200)
  expect(did).toEqual(['look 1', 'hold 1', 'look 1', 'put 1'])
  void run.cancel()
  await vi.runAllTimersAsync()
  const { result, events } = await reading
  expect(events.filter(({ type }) => type === 'tool-discarded')).toMatchObject(
    [1, 2, 3, 4].map((n) => ({ callId: `call_1_${n}`, cause: 'run_aborted' })),
  )
  expect(did).toHaveLength(4)
  const resumed = await played(agent.resume(result?.checkpoint as Checkpoint))
  expect(did.slice(4)).toEqual(['look 2'])
  expect(resumed.events.filter(({ type }) => type === 'tool-start')).toMatchObject([{ provisional: true, rerun: true }])
  expect(outputs(resumed.result)).toEqual(['look done', 'hold done', 'look done', undefined])
  expect(resumed.result.unknown).toHaveLength(1)
  expect(resumed.result.text).toBe('Done')
})

test('an early reversible call of a checkpoint that the resumed response does not contain is undone (H23, H27)', async () => {
  const agent = agentOf([respond(call('hold'), say('a b c d e f g h i j k l m n')), respond(say('Done'))])
  const run = agent.stream('Go')
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(100)
  void run.cancel()
  await vi.runAllTimersAsync()
  const { result } = await reading
  expect(did).toEqual(['hold 1'])
  await played(agent.resume(result?.checkpoint as Checkpoint))
  expect(did).toEqual(['hold 1', 'undid hold'])
})

test('a cancel after the model gives early calls the grace time: settled ones are kept, others may have happened (O8, K15)', async () => {
  const says = [call('look', { ms: 300 }, { deltas: 1 }), call('put', { ms: 90_000 }, { deltas: 1 }), call('send', {})]
  const agent = agentOf([respond(...says, say('a b c')), respond(say('Done'))])
  const run = agent.stream('Go')
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(50)
  void run.cancel({ at: 'after-model' })
  await vi.runAllTimersAsync()
  const { result } = await reading
  expect(result).toMatchObject({ status: 'cancelled', cancelled: { at: 'after-model' } })
  expect(did).toEqual(['look 1', 'put 1'])
  const resumed = await played(agent.resume(result?.checkpoint as Checkpoint))
  expect(did.slice(2)).toEqual(['send 1'])
  expect(outputs(resumed.result)).toEqual(['look done', undefined, 'send done'])
  expect(resumed.result).toMatchObject({ text: 'Done', unknown: ['call_1_2'], steps: 2 })
})

test('keys do not depend on the history: after a summary and a resume no started call runs again (O15, H25)', async () => {
  const fold: Middleware = {
    name: 'fold',
    beforeModel: ({ messages }) =>
      messages.length < 3
        ? undefined
        : { messages: [{ role: 'user', content: 'What was said so far.', origin: 'fold' }] },
  }
  const says = [call('look', {}), call('put', {}), call('look', { ask: true })]
  const agent = agentOf([respond(call('send')), respond(...says), respond(say('Done'))], [fold])
  const first = await played(agent.stream('Go'))
  expect(first.result.messages).toHaveLength(2)
  const { result } = await played(agent.resume(first.checkpoint, answersTo(first.result)))
  expect(did).toEqual(['send 1', 'look 1', 'put 1', 'look 1', 'look 2'])
  expect(new Set(keys.slice(-2)).size).toBe(1)
  expect(result.text).toBe('Done')
})

test.each([true, false])(
  'an early read that waits for an earlier call with a stronger effect does not delay a run whose afterModel asks, with eager tools: %s (P7)',
  async (isEager) => {
    const send = worker('send', 'external')
    const look = tool({
      name: 'look',
      description: 'l',
      input: anything,
      effect: 'read',
      async execute(_, { run, callId, attempt }) {
        did.push(`look ${attempt}`)
        const sent = await run?.callTool({ type: 'tool-call', id: `${callId} sends`, name: 'send', input: {} })
        return sent?.output
      },
    })
    const asks: Middleware = {
      name: 'asks',
      afterModel(_, run) {
        if (run.step === 1 && run.answers.length === 0) throw interrupt('Go on?')
      },
    }
    const agent = createAgent({
      model: scriptedModel([respond(call('look', {}), say('one two three')), respond(say('Done'))], { pace }),
      tools: [look, send],
      middleware: isEager ? [asks, eagerTools()] : [asks],
    })
    const first = await played(agent.stream('Go'))
    expect(first.result.status).toBe('interrupted')
    expect(did).toEqual(isEager ? ['look 1'] : [])
    const { result } = await played(agent.resume(first.checkpoint, answersTo(first.result)))
    expect(outputs(result)).toEqual(['send done'])
    expect(did).toEqual(isEager ? ['look 1', 'look 2', 'send 1'] : ['look 1', 'send 1'])
  },
)
