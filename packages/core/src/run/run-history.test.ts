import {
  call,
  collect,
  fail,
  respond,
  type ScriptResponse,
  say,
  scriptedModel,
  wait,
} from '@meanwhile/assemble/testing'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { beforeEach, expect, test, vi } from 'vitest'
import { askAgain as again } from '../../test/again.ts'
import { sleep } from '../../test/clock.ts'
import { anything, asking, bare, failure, result, said, working } from '../../test/conversation.ts'
import { early } from '../../test/early-calls.ts'
import { user } from '../../test/messages.ts'
import { settled as played } from '../../test/played-runs.ts'
import { answersTo } from '../../test/results.ts'
import {
  AgentError,
  type AgentEvent,
  type AgentRun,
  createAgent,
  type Message,
  type Middleware,
  memoryStore,
  type Tool,
  textOf,
  tool,
} from '../index.ts'

// What enters the history of a run, and the events about that.

beforeEach(() => {
  vi.useFakeTimers({ now: 0 })
  return () => vi.useRealTimers()
})

/** The history as a reader reconstructs it from the beginning and the events. */
function historyOf(events: readonly AgentEvent[], beginning: readonly Message[]): readonly Message[] {
  let history = [...beginning]
  for (const event of events) {
    if (event.path) continue
    if (event.type === 'message') history.push(event.message)
    if (event.type === 'history-replaced') history = [...event.messages]
  }
  return history
}

test('a cancel is reported as attempt-cancelled, and not as a failed attempt; the partial response is kept (CC1, P8)', async () => {
  const model = scriptedModel([
    respond(say('Lost', { deltas: 1 }), fail()),
    respond(say('One', { deltas: 1 }), wait(50), say('two')),
  ])
  const run = createAgent({ model, middleware: [again] }).stream('Go')
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(20)
  const cancelled = run.cancel()
  await vi.runAllTimersAsync()
  expect(await cancelled).toEqual({ status: 'cancelled' })
  const { events, result } = await reading
  const step = 1
  const partial = said('One', { finishReason: 'other', cutOff: true })
  const at = { provider: 'scripted', id: 'scripted-1' }
  expect(bare(events)).toEqual([
    { type: 'run-start' },
    { type: 'step-start', step },
    { type: 'attempt-start', step, attempt: 1, model: at },
    { type: 'text-delta', step, attempt: 1, delta: 'Lost' },
    { type: 'attempt-failed', step, attempt: 1, error: expect.any(AgentError), next: 'retry' },
    { type: 'attempt-start', step, attempt: 2, model: at },
    { type: 'text-delta', step, attempt: 2, delta: 'One' },
    { type: 'attempt-cancelled', step, attempt: 2 },
    { type: 'message', step, message: partial },
    { type: 'run-end', result },
  ])
  expect(result?.messages).toEqual([user('Go'), partial])
})

test('a run that has completed accepts no message, and neither does a resume of it (CC1, P8)', async () => {
  const agent = createAgent({ model: scriptedModel([respond(say('Hi'))]), checkpoints: memoryStore() })
  const run = agent.stream('Go', { id: 'r' })
  const { result } = await played(run)
  expect(run.send('Wait!')).toBe(false)
  const resumed = agent.resume('r')
  const { result: same } = await played(resumed)
  expect(resumed.send('Wait!')).toBe(false)
  expect(same).toEqual({ ...result, steps: 1 })
})

test('each appended message has an event when it enters the history: responses, results, feedback, and sent messages (CC2, B1)', async () => {
  const model = scriptedModel([
    respond(call('look', {}, { id: 'a' }), call('look', {}, { id: 'b' })),
    respond(say('Draft', { deltas: 1 })),
    respond(say('Answer', { deltas: 1 })),
  ])
  const gate: Middleware = {
    name: 'gate',
    beforeFinalAnswer: ({ messages }) =>
      textOf(messages.at(-1) ?? user('')) === 'Draft' ? { accept: false, feedback: 'No draft' } : { accept: true },
  }
  const run = createAgent({ model, tools: [working('look', 10)], middleware: [gate] }).stream('Go')
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(5)
  run.send('Be quick')
  await vi.runAllTimersAsync()
  const { events, result: outcome } = await reading
  const called = { role: 'assistant', content: [expect.anything(), expect.anything()], finishReason: 'tool-calls' }
  const feedback = { ...user('No draft'), origin: 'gate' }
  const story = bare(events).filter(
    ({ type }) => type === 'message' || type.startsWith('step-') || type === 'answer-rejected',
  )
  expect(story).toEqual([
    { type: 'step-start', step: 1 },
    { type: 'message', step: 1, message: called },
    { type: 'message', step: 1, message: result('a', 'look') },
    { type: 'message', step: 1, message: result('b', 'look') },
    { type: 'step-end', step: 1, attempt: 1, messages: [called, result('a', 'look'), result('b', 'look')] },
    { type: 'step-start', step: 2 },
    { type: 'message', step: 2, message: user('Be quick') },
    { type: 'message', step: 2, message: said('Draft') },
    { type: 'answer-rejected', step: 2, middleware: 'gate', feedback: 'No draft' },
    { type: 'message', step: 2, message: feedback },
    { type: 'step-end', step: 2, attempt: 1, messages: [user('Be quick'), said('Draft'), feedback] },
    { type: 'step-start', step: 3 },
    { type: 'message', step: 3, message: said('Answer') },
    { type: 'step-end', step: 3, attempt: 1, messages: [said('Answer')] },
  ])
  expect(historyOf(events, [user('Go')])).toEqual(outcome?.messages)
})

test('a hook that rewrites the history causes history-replaced, and one that returns it unchanged does not (CC2)', async () => {
  const shortening: Middleware = {
    name: 'shortening',
    beforeModel: ({ messages }) => ({ messages: messages.slice(-1) }),
    afterModel: (state) => state,
    beforeFinalAnswer: () => ({
      accept: true,
      message: { role: 'assistant', content: [{ type: 'text', text: 'Rewritten' }], finishReason: 'stop' },
    }),
  }
  const model = scriptedModel([respond(say('Answer', { deltas: 1 }))])
  const input = [user('Old'), user('Go')]
  const { events, result } = await played(createAgent({ model, middleware: [shortening] }).stream(input))
  const step = 1
  expect(bare(events).filter(({ type }) => type === 'message' || type === 'history-replaced')).toEqual([
    { type: 'history-replaced', step, messages: [user('Go')] },
    { type: 'message', step, message: said('Answer') },
    { type: 'history-replaced', step, messages: [user('Go'), said('Rewritten')] },
  ])
  expect(result?.messages).toEqual([user('Go'), said('Rewritten')])
})

test('the results that close the calls of a failed or cancelled run have events, and so have sent messages that were not read (CC2, K14, A24)', async () => {
  const broken = tool({
    name: 'broken',
    description: 'b',
    input: anything,
    async execute() {
      await sleep(20)
      throw new AgentError('No more')
    },
  }) as Tool
  const model = () => scriptedModel([respond(call('broken', {}, { id: 'a' }), call('look', {}, { id: 'b' }))])
  const ended = async (act: (run: AgentRun) => void) => {
    const run = createAgent({ model: model(), tools: [broken, working('look', 50)] }).stream('Go')
    const reading = collect(run)
    await vi.advanceTimersByTimeAsync(10)
    act(run)
    await vi.runAllTimersAsync()
    return await reading
  }
  const failed = await ended((run) => run.send('Hurry'))
  expect(failed.error).toBeInstanceOf(AgentError)
  const { messages } = failed.error as AgentError
  const cutOff = 'The run ended while this call was running. The call was cut off, and its effect may have happened.'
  expect(messages?.slice(2)).toEqual([failure('a', 'broken', cutOff), result('b', 'look'), user('Hurry')])
  expect(historyOf(failed.events, [user('Go')])).toEqual(messages)
  const cancelled = await ended((run) => void run.cancel())
  expect(cancelled.result?.messages).toHaveLength(4)
  expect(historyOf(cancelled.events, [user('Go')])).toEqual(cancelled.result?.messages)
})

interface Life {
  readonly ms: number
  readonly act: 'none' | 'send' | 'abort' | 'now' | 'after-model' | 'after-tools'
}

test('whatever stops a run, and however often it continues, its events reproduce its messages (CC2, CC6, K14, A24, B18)', async () => {
  const parts = fc.array(fc.constantFrom('say', 'look', 'ask', 'fail'), { minLength: 1, maxLength: 3 })
  const life: fc.Arbitrary<Life> = fc.record({
    ms: fc.integer({ min: 0, max: 60 }),
    act: fc.constantFrom('none', 'send', 'abort', 'now', 'after-model', 'after-tools'),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(parts, { maxLength: 3 }),
      fc.array(life, { minLength: 1, maxLength: 4 }),
      fc.record({ isEager: fc.boolean(), rewrites: fc.boolean(), rejects: fc.boolean() }),
      async (scripts, lives, { isEager, rewrites, rejects }) => {
        const responses = scripts.map(
          (names, n): ScriptResponse =>
            respond(
              ...names.map((name, at) =>
                name === 'say' ? say('Well') : name === 'fail' ? fail() : call(name, {}, { id: `c${n}_${at}` }),
              ),
            ),
        )
        const hooks: Middleware = {
          name: 'hooks',
          ...(rewrites && { beforeModel: ({ messages }) => ({ messages: [...messages, user('Mind the gap')] }) }),
          ...(rejects && { beforeFinalAnswer: (_, { step }) => ({ accept: step > 2, feedback: 'Again' }) as const }),
        }
        const pace = { firstToken: 5, betweenTokens: 5 }
        const agent = createAgent({
          model: scriptedModel([...responses, ...Array.from({ length: 20 }, () => respond(say('Done')))], { pace }),
          tools: [working('look', 15), asking('ask')],
          middleware: [hooks, again, ...(isEager ? [early] : [])],
        })
        let controller = new AbortController()
        let run = agent.stream('Go', { signal: controller.signal })
        let beginning: readonly Message[] = [user('Go')]
        const open = new Set<string>()
        for (const { ms, act } of [...lives, { ms: 0, act: 'none' } as const]) {
          const reading = collect(run)
          await vi.advanceTimersByTimeAsync(ms)
          if (act === 'send') run.send('And?')
          else if (act === 'abort') controller.abort()
          else if (act !== 'none') void run.cancel({ at: act })
          await vi.runAllTimersAsync()
          const { events, result, error } = await reading
          const ended = result?.messages ?? (error as AgentError).messages
          expect(historyOf(events, beginning)).toEqual(ended)
          // Each question is asked once, in the run in which it comes up.
          const asked = events.flatMap((event) => (event.type === 'question' ? [event.id] : []))
          for (const id of asked) expect(open.has(id)).toBe(false)
          for (const id of asked) open.add(id)
          expect((result?.interrupts ?? []).filter(({ id }) => !open.has(id))).toEqual([])
          if (!result?.checkpoint) return
          beginning = result.checkpoint.messages
          controller = new AbortController()
          run = agent.resume(result.checkpoint, answersTo(result), { signal: controller.signal })
        }
        await vi.runAllTimersAsync()
      },
    ),
    propertyRuns({ small: 12, middle: 19, whole: 10_000 }),
  )
})
