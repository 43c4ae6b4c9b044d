/** The state of a run's middleware is kept over a resume. */

import {
  call,
  fail,
  respond,
  type ScriptResponse,
  say,
  scriptedModel,
  wait as silence,
} from '@meanwhile/assemble/testing'
import { type AgentResult, createAgent, interrupt, type Middleware, type Tool, textOf, tool } from '@meanwhile/core'
import { played } from '@meanwhile/tests/clock'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { goneOn } from '../test/asking.ts'
import { answerGuard } from './answer-guard.ts'
import { wait } from './backoff.ts'
import { callLimits } from './call-limits.ts'
import { fallbackModel } from './fallback-model.ts'
import { filesystem } from './filesystem.ts'
import { memoryBackend } from './memory-backend.ts'
import { patchToolCalls } from './patch-tool-calls.ts'
import { retryModel } from './retry-model.ts'
import { timeout } from './timeout.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** `ask` interrupts the run, `look` takes as long as its input states. */
function agentOf(responses: readonly ScriptResponse[], middleware: readonly Middleware[]) {
  const ran: string[] = []
  const ask = tool({
    name: 'ask',
    description: 'Asks.',
    input: z.object({}),
    execute(_, { answers }) {
      if (answers.length === 0) throw interrupt('Well?')
      ran.push('ask')
      return 'Well.'
    },
  }) as Tool
  const look = tool({
    name: 'look',
    description: 'Looks.',
    input: z.object({ ms: z.number().default(0) }),
    async execute({ ms }, { signal }) {
      ran.push('look')
      await wait(ms, signal)
      return 'Seen.'
    },
  }) as Tool
  const model = scriptedModel(responses)
  return { agent: createAgent({ model, tools: [ask, look], middleware }), model, ran }
}

const asking = respond(call('ask'))
const done = respond(say('Done.'))
const results = ({ messages }: AgentResult) =>
  messages.flatMap((message) => (message.role === 'tool' ? [textOf(message)] : []))

test('the model that succeeded is called first also after a resume (J15)', async () => {
  const other = scriptedModel([asking, done], { provider: 'other' })
  const { agent, model } = agentOf([respond(fail()), respond(say('No.'))], [fallbackModel({ models: [other] })])
  const first = await played(agent.run('Go'))
  expect((await played(goneOn(agent, first))).text).toBe('Done.')
  expect([model.requests.length, other.requests.length]).toEqual([1, 2])
})

test('calls that were made count after a resume, and a call that interrupted counts once (N13, N15, L11)', async () => {
  const looking = respond(call('look'))
  const limits = { toolCalls: 2, onLimit: 'answer' } as const
  const { agent, ran } = agentOf([looking, asking, looking, done], [callLimits(limits)])
  const last = await played(goneOn(agent, await played(agent.run('Go'))))
  expect(ran).toEqual(['look', 'ask'])
  expect(results(last)).toEqual(['Seen.', 'Well.', 'Not run: the limit of tool calls is reached (2).'])

  const few = agentOf([looking, asking, done], [callLimits({ modelCalls: 2 })])
  const interrupted = await played(few.agent.run('Go'))
  await expect(played(goneOn(few.agent, interrupted))).rejects.toMatchObject({ limit: 'modelCalls' })
})

test('the last model call that was cut off is made again on resume, once (N13, L11)', async () => {
  const limits = callLimits({ modelCalls: 1, onLimit: 'answer' })
  const { agent, model } = agentOf([respond(call('look')), respond(silence(1_000), say('Cut off.')), done], [limits])
  const run = agent.stream('Go')
  setTimeout(() => void run.cancel(), 500)
  const cancelled = await played(run.result)
  expect(cancelled.status).toBe('cancelled')
  const last = await played(goneOn(agent, cancelled))
  expect(last).toMatchObject({ text: 'Done.', stopReason: 'early-stop' })
  expect(model.requests).toHaveLength(3)
  expect(model.requests[2]?.messages).toEqual(model.requests[1]?.messages)
})

test('rejected answers count after a resume (N21, L11)', async () => {
  const guard = answerGuard({ maxRejections: 1, check: () => 'No.' })
  const { agent } = agentOf([respond(say('One.')), asking, respond(say('Two.'))], [guard])
  const last = await played(goneOn(agent, await played(agent.run('Go'))))
  expect(last).toMatchObject({ text: 'Two.', warnings: [{ code: 'answer-accepted', message: 'No.' }] })
})

test('the clock of the run stops while it is interrupted and continues after a resume (N12)', async () => {
  for (const [ms, error] of [
    [599, undefined],
    [601, { name: 'TimeoutError', limit: 'run' }],
  ] as const) {
    const responses = [respond(call('look', { ms: 400 })), asking, respond(call('look', { ms })), done]
    const { agent } = agentOf(responses, [timeout({ run: 1_000 })])
    const first = await played(agent.run('Go'))
    await vi.advanceTimersByTimeAsync(60_000)
    const begin = performance.now()
    const settled = goneOn(agent, first).catch((thrown: unknown) => thrown)
    const took = settled.then(() => Math.round(performance.now() - begin))
    expect(await played(settled)).toMatchObject(error ?? { text: 'Done.' })
    expect(await took).toBe(error ? 600 : 599)
    expect(vi.getTimerCount()).toBe(0)
  }
})

test('the clock of a run that was cancelled also continues from its last step (N12)', async () => {
  const responses = [
    respond(call('look', { ms: 700 })),
    respond(call('look', { ms: 5_000 })),
    respond(silence(400), say('.')),
  ]
  const { agent } = agentOf(responses, [timeout({ run: 1_000 })])
  const run = agent.stream('Go')
  setTimeout(() => void run.cancel(), 800)
  const cancelled = await played(run.result)
  await expect(played(goneOn(agent, cancelled))).rejects.toMatchObject({ name: 'TimeoutError', limit: 'run' })
})

test('a file that was read before an interrupt may be changed after it (N37, L11)', async () => {
  vi.useRealTimers()
  const backend = memoryBackend({ 'a.txt': 'one' })
  const edit = respond(call('edit_file', { path: 'a.txt', oldText: 'one', newText: 'two' }))
  const { agent } = agentOf(
    [respond(call('read_file', { path: 'a.txt' })), asking, edit, done],
    [filesystem({ backend })],
  )
  const last = await goneOn(agent, await agent.run('Go'))
  expect(results(last).at(-1)).toBe('Edited a.txt: 1 replacement.')
})

test('open calls of a checkpoint are answered by their tools, not patched (O16)', async () => {
  const both = respond(call('look'), call('ask'))
  const { agent, ran } = agentOf([both, done], [patchToolCalls()])
  const last = await played(goneOn(agent, await played(agent.run('Go'))))
  expect(results(last)).toEqual(['Seen.', 'Well.'])
  expect(ran).toEqual(['look', 'ask'])

  const cancelling = agentOf([respond(call('look', { ms: 1_000 }), call('ask')), done], [patchToolCalls()])
  const run = cancelling.agent.stream('Go')
  setTimeout(() => void run.cancel({ at: 'after-model' }))
  const cancelled = await played(run.result)
  expect(cancelled.status).toBe('cancelled')
  expect(results(await played(goneOn(cancelling.agent, cancelled)))).not.toContain(
    'The result of this call is not available.',
  )
})

test('a user’s when function is never called for errors that stop the run (L2)', async () => {
  const when = vi.fn(() => true)
  const stopping: Middleware = {
    name: 'stopping',
    async *wrapModel(request, next, run) {
      if (run.answers.length === 0) throw interrupt('May I ask the model?')
      return yield* next(request)
    },
  }
  const other = scriptedModel([], { provider: 'other' })
  for (const wrap of [retryModel({ when }), fallbackModel({ models: [other], when })]) {
    const { agent, model } = agentOf([done], [wrap, stopping])
    const first = await played(agent.run('Go'))
    expect(first.interrupts).toMatchObject([{ payload: 'May I ask the model?' }])
    expect((await played(goneOn(agent, first))).text).toBe('Done.')
    expect([model.requests.length, other.requests.length]).toEqual([1, 0])
  }
  expect(when).not.toHaveBeenCalled()
})
