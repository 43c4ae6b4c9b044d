import { call, respond, say } from '@meanwhile/assemble/testing'
import { expect, test, vi } from 'vitest'
import { askingAgent } from '../../test/asking-agent.ts'
import { played } from '../../test/played-runs.ts'
import { answersTo, checkpointOf, idsOf, textsOf } from '../../test/results.ts'
import { Interrupt, interrupt, type Json, type Middleware, type Tool, tool } from '../index.ts'

const { did, book, agentOf } = askingAgent()

test('an interrupt ends the run with its question and a checkpoint, without a store, message or further model call (L1, B20)', async () => {
  const { agent, model } = agentOf([respond(call('book', { what: 'a room' }, { deltas: 1 }))])
  const { events, result } = await played(agent.stream('Go'))
  const runId = events[0]?.runId
  const id = expect.stringMatching(/^interrupt_\w+$/)
  const address = [{ agent: 'travel' }, { tool: 'book', callId: 'call_1_1' }]
  expect(result).toEqual({
    status: 'interrupted',
    text: '',
    messages: [
      { role: 'user', content: 'Go' },
      expect.objectContaining({ role: 'assistant', finishReason: 'tool-calls' }),
    ],
    steps: 1,
    usage: {},
    warnings: [],
    interrupts: [{ id, address, payload: { book: 'a room' } }],
    settled: [],
    checkpoint: expect.objectContaining({ format: 1, runId, agent: 'travel', status: 'interrupted' }),
  })
  expect(events.map(({ type }) => type)).toEqual([
    'run-start',
    'step-start',
    'attempt-start',
    'tool-input-start',
    'tool-input-delta',
    'tool-input-closed',
    'tool-call',
    'message',
    'tool-start',
    'tool-entered',
    'question',
    'run-end',
  ])
  expect(events.at(-1)).toEqual({ type: 'run-end', runId, step: undefined, result })
  expect(model.requests).toHaveLength(1)
  expect(vi.getTimerCount()).toBe(0)
})

test('the events of an interrupted and of a resumed run are JSON (B2)', async () => {
  const { agent } = agentOf([respond(call('book')), respond(say('Done'))])
  const { events, result } = await played(agent.stream('Go'))
  const resumed = await played(agent.resume(checkpointOf(result), answersTo(result)))
  for (const event of [...events, ...resumed.events]) expect(JSON.parse(JSON.stringify(event))).toEqual(event)
})

test.each(['beforeAgent', 'beforeModel', 'afterModel', 'beforeFinalAnswer', 'wrapAgent', 'wrapModel', 'wrapToolCall'])(
  '%s asks, and finds its answer; its address is its own (L1, L4, L8)',
  async (hook) => {
    const asks = (run: { readonly answers: readonly Json[] }) => {
      did.push(`${hook} ${JSON.stringify(run.answers)}`)
      if (run.answers.length === 0) throw interrupt(hook)
    }
    const asking: Middleware = {
      name: 'asking',
      ...(hook.startsWith('before') || hook === 'afterModel'
        ? { [hook]: (_: unknown, run: never) => asks(run) }
        : {
            async *[hook](
              request: never,
              next: (request: never) => AsyncGenerator<never, never, undefined>,
              run: never,
            ) {
              asks(run)
              return yield* next(request)
            },
          }),
    }
    const { agent, model } = agentOf([respond(call('look')), respond(say('Done'))], { middleware: [asking] })
    const first = await played(agent.stream('Go'))
    const place = { middleware: 'asking', hook }
    expect(first.result).toMatchObject({
      status: 'interrupted',
      interrupts: [
        {
          address:
            hook === 'wrapToolCall'
              ? [{ agent: 'travel' }, { tool: 'look', callId: 'call_1_1' }, place]
              : [{ agent: 'travel' }, place],
          payload: hook,
        },
      ],
    })
    // Without an answer, it asks the same.
    const requests = model.requests.length
    const again = await played(agent.resume(checkpointOf(first.result)))
    expect(again.result.interrupts).toEqual(first.result.interrupts)
    expect(model.requests).toHaveLength(requests)
    // Later steps ask again, with a new id.
    const seen = new Set(idsOf(first.result))
    let { result } = await played(agent.resume(checkpointOf(again.result), answersTo(again.result)))
    for (let n = 0; n < 5 && result.status === 'interrupted'; n++) {
      for (const id of idsOf(result)) expect(seen).not.toContain(id)
      for (const id of idsOf(result)) seen.add(id)
      ;({ result } = await played(agent.resume(checkpointOf(result), answersTo(result))))
    }
    expect(result).toMatchObject({ status: 'completed', text: 'Done', steps: 2 })
    const times = ['beforeModel', 'afterModel', 'wrapModel'].includes(hook) ? 2 : 1
    expect(seen.size).toBe(times)
    expect(did.filter((word) => word.startsWith('look '))).toEqual(['look 1'])
    expect(model.requests).toHaveLength(2)
  },
)

test('a call without an answer stays pending with its id, and does not run; the model is called when all have answers (L6, L5)', async () => {
  const { agent, model } = agentOf([
    respond(call('book', { what: 'a' }), call('book', { what: 'b' })),
    respond(say('Done')),
  ])
  const first = await played(agent.stream('Go'))
  const [a, b] = idsOf(first.result)
  const second = await played(agent.resume(checkpointOf(first.result), { [b ?? '']: 'B' }))
  expect(did.slice(2)).toEqual(['book b 2 ["B"]'])
  expect(idsOf(second.result)).toEqual([a])
  expect(second.result.status).toBe('interrupted')
  expect(model.requests).toHaveLength(1)

  const none = await played(agent.resume(checkpointOf(second.result)))
  expect(idsOf(none.result)).toEqual([a])
  expect(did).toHaveLength(3)

  const third = await played(agent.resume(checkpointOf(none.result), { [a ?? '']: 'A' }))
  expect(did.slice(3)).toEqual(['book a 2 ["A"]'])
  expect(textsOf(third.result)).toEqual(['Go', 'booked a: A', 'booked b: B', 'Done'])
})

test('one Interrupt thrown by two tools is two questions (L3, L5)', async () => {
  const shared = new Interrupt('both')
  const one: Tool = { ...book, name: 'one', execute: (_, { answers }) => answers[0] ?? raise(shared) }
  const two: Tool = { ...one, name: 'two' }
  const { agent } = agentOf([respond(call('one'), call('two')), respond(say('Done'))], { tools: [one, two] })
  const { result } = await played(agent.stream('Go'))
  expect(new Set(idsOf(result)).size).toBe(2)
  const [first = '', second = ''] = idsOf(result)
  const resumed = await played(agent.resume(checkpointOf(result), { [first]: 1, [second]: 2 }))
  expect(textsOf(resumed.result)).toEqual(['Go', '1', '2', 'Done'])
})

function raise(error: unknown): never {
  throw error
}

test('interrupt asks by itself, with throw or without, awaited or not (L1)', async () => {
  const executes: readonly (() => unknown)[] = [
    () => interrupt('?'),
    async () => {
      const answer: unknown = await Promise.resolve(interrupt('?'))
      return answer ? 'deleted' : 'kept'
    },
    async () => {
      throw interrupt('?')
    },
  ]
  for (const execute of executes) {
    const { agent } = agentOf([respond(call('book'))], { tools: [tool({ ...book, execute })] })
    const { result } = await played(agent.stream('Go'))
    expect(result).toMatchObject({ status: 'interrupted', interrupts: [{ payload: '?' }] })
  }
})
