import { sleep } from '@meanwhile/tests/clock'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { Agent, handoff, type InputGuardrail, RunState, tool } from '@openai/agents'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import {
  answer,
  type Case,
  compared,
  consumed,
  done,
  executed,
  guarded,
  one,
  Q,
  raw,
  requested,
  sealed,
  streamed,
} from '../../test/agents.ts'

unhandledRejections()
beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const B = '{"q":"b"}'
const responses = [one(), answer]
/** The executions of one call of `look`, if nothing keeps it from starting early. */
const early = [['100 look 1 a'], ['0 look 1 a']]
const late = [['100 look 1 a'], ['100 look 1 a']]

test('a read starts while the response is streaming, and is joined once (R2)', async () => {
  expect(await executed({ responses })).toEqual(early)
})

test('an idempotent call starts when the Responses wire has sealed it (R2)', async () => {
  const responses = [[...streamed('1'), 50, ...sealed('1').slice(-1), 50, done(requested('1'))], answer]
  expect(await executed({ responses, effects: { look: 'idempotent' } })).toEqual([['100 look 1 a'], ['50 look 1 a']])
})

test('Chat Completions: a read starts when its arguments have closed, the SDK makes an idempotent call (R2)', async () => {
  const chunk = (call: object) => raw({ choices: [{ index: 0, delta: { tool_calls: [{ index: 0, ...call }] } }] })
  const responses = [
    [
      chunk({ id: '1', type: 'function', function: { name: 'look', arguments: '' } }),
      raw({ choices: [] }),
      chunk({ function: { arguments: '{"q":' } }),
      10,
      chunk({ function: { arguments: '"a"}' } }),
      90,
      done(requested('1')),
    ],
    answer,
  ]
  expect(await executed({ responses })).toEqual([['100 look 1 a'], ['10 look 1 a']])
  expect(await executed({ responses, effects: { look: 'idempotent' } })).toEqual([['100 look 1 a'], ['100 look 1 a']])
})

test('an undeclared tool executes as in the plain loop, and delays the reads after it (R1)', async () => {
  const responses = [
    [
      ...sealed('1', 'send'),
      ...sealed('2', 'look', B, 1),
      100,
      done(requested('1', 'send'), requested('2', 'look', B)),
    ],
    answer,
  ]
  const plainly = ['100 send 1 a', '100 look 2 b']
  expect(await executed({ responses })).toEqual([plainly, plainly])
  expect(await executed({ responses, effects: { look: 'read', send: 'external' } })).toEqual([plainly, plainly])
  expect(await executed({ responses, settings: { independent: ['send'] } })).toEqual([
    plainly,
    ['0 look 2 b', '100 send 1 a'],
  ])
})

test('if the stream is truncated after the call, nothing is joined, and the read is aborted (R4)', async () => {
  const cut = new Error('socket hang up')
  expect(await executed({ ms: 200, responses: [[...streamed('1'), 50, cut], answer] })).toEqual([
    [],
    ['0 look 1 a aborted'],
  ])
  expect(await executed({ ms: 200, responses: [[...streamed('1'), 50], answer] })).toEqual([[], ['0 look 1 a aborted']])
})

test('if the SDK requests a response again, the calls of the accepted one execute once (R4)', async () => {
  const retry = { maxRetries: 2, policy: () => true, backoff: { initialDelayMs: 10, jitter: false } }
  const responses = [[new Error('busy')], one(), answer]
  expect(await executed({ responses, agent: { modelSettings: { retry } } })).toEqual([
    ['110 look 1 a'],
    ['10 look 1 a'],
  ])
})

test('a call is not joined if the final response has changed its arguments (R3)', async () => {
  const responses = [[...streamed('1'), 50, done(requested('1', 'look', B))], answer]
  expect(await executed({ ms: 150, responses })).toEqual([['50 look 1 b'], ['0 look 1 a aborted', '50 look 1 b']])
})

test('white space and the order of keys are not a change (R2)', async () => {
  const responses = [[...streamed('1'), 50, done(requested('1', 'look', '{ "q" : "a" }'))], answer]
  expect(await executed({ responses })).toEqual([['50 look 1 a'], ['0 look 1 a']])
})

test('the tool gets the arguments as the model wrote them (R2)', async () => {
  const written = '{ "q" : "a" }'
  const texts: unknown[] = []
  const times: number[] = []
  const go: Case['go'] = async (runner, agent) => {
    const began = performance.now()
    const look = tool({
      name: 'look',
      description: 'l',
      parameters: z.object({ q: z.string() }),
      execute: (_, __, details) => {
        texts.push(details?.toolCall?.arguments)
        times.push(performance.now() - began)
        return 'ok'
      },
    })
    return consumed(await runner.run(agent.clone({ tools: [look] }), 'go', { stream: true }))
  }
  await compared({ responses: [one('1', written), answer], go })
  expect([texts, times]).toEqual([
    [written, written],
    [100, 0],
  ])
})

test('a tool that may need an approval is never early (R6)', async () => {
  expect(await executed({ responses })).toEqual(early)
  expect(await executed({ responses, look: { needsApproval: true } })).toEqual([[], []])
  const asked: string[] = []
  const needsApproval = async (_: unknown, input: { q: string }) => {
    asked.push(input.q)
    return false
  }
  expect(await executed({ responses, look: { needsApproval } })).toEqual(late)
  expect(asked).toEqual(['a', 'a'])
  expect(await executed({ responses, settings: { approval: ['look'] } })).toEqual(late)
})

test('a tool with input guardrails is never early (R6)', async () => {
  const run = async () => ({ behavior: { type: 'rejectContent', message: 'no' } })
  const inputGuardrails = [{ type: 'tool_input', name: 'g', run }]
  expect(await executed({ responses })).toEqual(early)
  expect(await executed({ responses, look: { inputGuardrails } })).toEqual([[], []])
})

test('output guardrails of a tool receive the joined result (R2)', async () => {
  const run = async ({ output }: { output: unknown }) => ({
    behavior: { type: 'rejectContent', message: `not ${JSON.stringify(output)}` },
  })
  const outputGuardrails = [{ type: 'tool_output', name: 'g', run }]
  expect(await executed({ responses: [one(), answer], look: { outputGuardrails } })).toEqual([
    ['100 look 1 a'],
    ['0 look 1 a'],
  ])
})

test('tools whose output is checked or reported with the SDK’s own details are never early (R6)', async () => {
  const customDataExtractor = ({ input }: { input: unknown }) => ({ input })
  expect(await executed({ responses })).toEqual(early)
  expect(await executed({ responses, look: { customDataExtractor } })).toEqual(late)
  expect(await executed({ responses, look: { outputSchema: z.string() } })).toEqual(late)
})

const guard = (isWrong: boolean, ms: number, runInParallel = true): InputGuardrail => ({
  name: 'g',
  runInParallel,
  execute: async () => {
    await sleep(ms)
    return { tripwireTriggered: isWrong, outputInfo: {} }
  },
})

test('the first turn is never early if parallel guardrails may reject the run (R6)', async () => {
  const inputGuardrails = [guard(true, 60)]
  const refused = [[], []]
  expect(await executed({ responses })).toEqual(early)
  expect(await executed({ responses, agent: { inputGuardrails } })).toEqual(refused)
  expect(await executed({ responses, runner: { inputGuardrails } })).toEqual(refused)
})

test('guardrails that have passed, or run before the model, prevent no early start (R6)', async () => {
  const responses = [one('1'), one('2'), answer]
  expect(await executed({ responses, agent: { inputGuardrails: [guard(false, 10)] } })).toEqual([
    ['100 look 1 a', '220 look 2 a'],
    ['100 look 1 a', '120 look 2 a'],
  ])
  expect(await executed({ responses, agent: { inputGuardrails: [guard(false, 10, false)] } })).toEqual([
    ['110 look 1 a', '230 look 2 a'],
    ['10 look 1 a', '110 look 2 a'],
  ])
})

test('an abort ends the run and its early calls (R12)', async () => {
  const run = () => {
    const controller = new AbortController()
    setTimeout(() => controller.abort(new Error('stop')), 80)
    return { signal: controller.signal }
  }
  expect(await executed({ ms: 300, run, responses: [one('1', Q, 200), answer] })).toEqual([[], ['0 look 1 a aborted']])
  // While the SDK waits for the call.
  expect(await executed({ ms: 300, run, responses: [one('1', Q, 50), answer] })).toEqual([
    ['50 look 1 a aborted'],
    ['0 look 1 a aborted'],
  ])
})

test('a tool’s timeout counts from its early start and gives the model the same text (R12)', async () => {
  expect(await executed({ ms: 300, look: { timeoutMs: 60 }, responses: [one('1', Q, 30), answer] })).toEqual([
    ['30 look 1 a aborted'],
    ['0 look 1 a aborted'],
  ])
  const look = { timeoutMs: 60, timeoutBehavior: 'raise_exception' }
  expect(await executed({ ms: 300, look, responses: [one('1', Q, 30), answer] })).toEqual([
    ['30 look 1 a aborted'],
    ['0 look 1 a aborted'],
  ])
})

test('a tool that throws gives the same text or the same error, and executes once (R12)', async () => {
  const body = () => {
    throw new Error('broken')
  }
  for (const look of [
    {},
    { errorFunction: null },
    { errorFunction: (_: unknown, error: Error) => `sorry: ${error.message}` },
  ])
    expect(await executed({ body, look, responses: [one(), answer] })).toEqual([['100 look 1 a'], ['0 look 1 a']])
})

test('two equal calls are two (R2)', async () => {
  const responses = [[...sealed('1'), ...sealed('2', 'look', Q, 1), 50, done(requested('1'), requested('2'))], answer]
  expect(await executed({ responses })).toEqual([
    ['50 look 1 a', '50 look 2 a'],
    ['0 look 1 a', '0 look 2 a'],
  ])
})

test('if an id occurs twice in a response, the SDK refuses the response, and nothing is joined (R3)', async () => {
  const responses = [
    [...sealed('1'), ...sealed('1', 'look', B, 1), 5, done(requested('1'), requested('1', 'look', B))],
    answer,
  ]
  expect(await executed({ responses })).toEqual([[], ['0 look 1 a aborted', '0 look 1 b aborted']])
})

test('neither the SDK nor the engine makes a call again whose id has occurred before (R1)', async () => {
  expect(await executed({ responses: [one(), one(), answer] })).toEqual([['100 look 1 a'], ['0 look 1 a']])
})

test('input that the tool’s schema rejects gives the same text (R12)', async () => {
  for (const args of ['{"q":1}', '{"q":1'])
    expect(await executed({ responses: [one('1', args), one('2'), answer] })).toEqual([
      ['200 look 2 a'],
      ['100 look 2 a'],
    ])
})

test('a tool that is not enabled is never early (R6)', async () => {
  expect(await executed({ responses })).toEqual(early)
  expect(await executed({ responses, look: { isEnabled: false } })).toEqual([[], []])
})

test('the tool gets the context of the run (R2)', async () => {
  const run = () => ({ context: { user: 'ann' } })
  const body: Case['body'] = (_, { context }) => `user ${JSON.stringify(context)}`
  const { result, ...executions } = await compared({ responses, run, body })
  expect(JSON.stringify(result)).toContain('ann')
  expect([executions.plain, executions.early]).toEqual(early)
})

test('a call that fails cancels the others, early or not (R12)', async () => {
  const body: Case['body'] = async ({ q }, { signal }) => {
    if (q === 'a') throw new Error('broken')
    await sleep(200, signal)
  }
  const responses = [
    [...sealed('1'), ...sealed('2', 'look', B, 1), 20, done(requested('1'), requested('2', 'look', B))],
    answer,
  ]
  expect(await executed({ responses, look: { errorFunction: null }, ms: 60, body })).toEqual([
    ['20 look 1 a', '20 look 2 b aborted'],
    ['0 look 1 a', '0 look 2 b aborted'],
  ])
})

test('a run that pauses for the approval of another tool continues from its state (R6)', async () => {
  const go: Case['go'] = async (runner, agent) => {
    agent.tools.push(guarded)
    const first = await runner.run(agent, 'go', { stream: true })
    const paused = await consumed(first)
    const state = await RunState.fromString(agent, first.state.toString())
    for (const interruption of state.getInterruptions()) state.approve(interruption)
    return [paused, await consumed(await runner.run(agent, state, { stream: true }))]
  }
  const responses = [[...sealed('1'), 50, done(requested('1'), requested('2', 'guarded'))], one('3'), answer]
  expect(await executed({ responses, go })).toEqual([
    ['50 look 1 a', '170 look 3 a'],
    ['0 look 1 a', '50 look 3 a'],
  ])
})

test('an agent that the run is handed off to is eager, and stays the same object (R2)', async () => {
  const go: Case['go'] = async (runner, agent) => {
    const named = new Agent({ name: 'b', instructions: 'i', model: 'scripted', tools: agent.tools })
    const told = new Agent({ name: 'c', instructions: 'i', model: 'scripted', tools: agent.tools, handoffs: [named] })
    const first = new Agent({ name: 'a', instructions: 'i', model: 'scripted', handoffs: [handoff(told)] })
    const stream = await runner.run(first, 'go', { stream: true })
    return { ...(await consumed(stream)), isLast: stream.lastAgent === named }
  }
  const responses = [
    [done(requested('h', 'transfer_to_c', '{}'))],
    one('1'),
    [done(requested('i', 'transfer_to_b', '{}'))],
    one('2'),
    answer,
  ]
  expect(await executed({ responses, go })).toEqual([
    ['100 look 1 a', '220 look 2 a'],
    ['0 look 1 a', '100 look 2 a'],
  ])
})

test('simultaneous runs of one agent do not join each other’s calls (R2)', async () => {
  const go: Case['go'] = async (runner, agent) =>
    Promise.all(['a', 'b'].map(async (input) => consumed(await runner.run(agent, input, { stream: true }))))
  expect(await executed({ ms: 60, go, responses: [one('1', Q, 50), one('1', Q, 90), answer] })).toEqual([
    ['50 look 1 a', '90 look 1 a'],
    ['0 look 1 a', '0 look 1 a'],
  ])
})

test('a run that does not stream is eager if the user sets alwaysStream (R2)', async () => {
  const go: Case['go'] = async (runner, agent) => {
    const { finalOutput, history, rawResponses } = await runner.run(agent, 'go')
    return { finalOutput, history, rawResponses }
  }
  const responses = [one(), answer]
  expect(await executed({ responses, go })).toEqual([['100 look 1 a'], ['100 look 1 a']])
  expect(await executed({ responses, go, settings: { alwaysStream: true } })).toEqual([
    ['100 look 1 a'],
    ['0 look 1 a'],
  ])
})

test('a reader that stops reading aborts the early call (R7)', async () => {
  const go: Case['go'] = async (runner, agent) => {
    for await (const event of await runner.run(agent, 'go', { stream: true }))
      if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta') break
    return 'left'
  }
  const responses = [
    [...streamed('1'), 50, { type: 'output_text_delta' as const, delta: 'x' }, 200, done(requested('1'))],
    answer,
  ]
  expect(await executed({ ms: 300, responses, go })).toEqual([[], ['0 look 1 a aborted']])
})

const item = (item: unknown) => ({ type: 'response.output_item.added', output_index: 0, item })
const calls = (...tool_calls: unknown[]) => ({ choices: [{ index: 0, delta: { tool_calls } }] })
const delta = (delta: unknown) => ({ type: 'response.function_call_arguments.delta', output_index: 0, delta })
test.each([
  ['no object', [null, 5, 'text', []]],
  ['choices that are no list', [{ choices: {} }, { choices: 5 }]],
  ['a choice that is no object', [{ choices: [null] }]],
  ['no list of calls', [{ choices: [{ index: 0, delta: { tool_calls: {} } }] }]],
  ['a call that is no object', [calls(null), calls(5)]],
  ['an id and a name that are no strings', [calls({ index: 0, id: {}, function: { name: {}, arguments: Q } })]],
  ['arguments that are no string', [calls({ index: 0, id: '1', function: { name: 'look', arguments: { q: 'a' } } })]],
  ['a type that is no string', [{ type: 5 }]],
  ['an item that is no object', [item(null), item(5)]],
  ['an item without members', [item({ type: 'function_call' }), delta(Q)]],
  ['deltas that are no strings', [item({ type: 'function_call', call_id: '1', name: 'look' }), delta({}), delta(5)]],
  [
    'an item that ends with other arguments',
    [
      item({ type: 'function_call', call_id: '1', name: 'look' }),
      {
        ...item({ type: 'function_call', call_id: '1', name: 'look', arguments: {} }),
        type: 'response.output_item.done',
      },
    ],
  ],
])('events with %s change nothing for the caller, and the next response is read (R4)', async (_, events) => {
  const responses = [[...events.map(raw), 10, done(requested('1'))], one('2'), answer]
  expect(await executed({ responses })).toEqual([
    ['10 look 1 a', '130 look 2 a'],
    ['10 look 1 a', '30 look 2 a'],
  ])
})
