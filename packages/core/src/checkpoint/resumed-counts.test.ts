import { call, collect, end, respond, say } from '@meanwhile/assemble/testing'
import { expect, test, vi } from 'vitest'
import { sleep } from '../../test/clock.ts'
import { played, settled } from '../../test/played-runs.ts'
import { answersTo, textsOf } from '../../test/results.ts'
import { anything, travelAgent } from '../../test/travel-agent.ts'
import { AgentError, type Checkpoint, interrupt, type Middleware, tool } from '../index.ts'

const { did, worker, agentOf, interrupted, killed } = travelAgent()

test('usage, warnings and steps continue after a resume; the limit counts them (L11)', async () => {
  const { result, checkpoint } = await interrupted({
    maxSteps: 2,
    middleware: [{ name: 'warner', beforeModel: (_, run) => run.warn({ code: 'w', message: String(run.step) }) }],
  })
  const { agent } = agentOf([respond(call('read'), end({ usage: { inputTokens: 4, outputTokens: 1 } }))], {
    maxSteps: 2,
    middleware: [{ name: 'warner', beforeModel: (_, run) => run.warn({ code: 'w', message: String(run.step) }) }],
  })
  const { error } = await settled(agent.resume(checkpoint, answersTo(result)))
  expect(error).toMatchObject({ name: 'MaxStepsError', maxSteps: 2, usage: { inputTokens: 7, outputTokens: 1 } })
  const other = agentOf([respond(say('Done'))])
  const done = await played(other.agent.resume(checkpoint, answersTo(result)))
  expect(done.result).toMatchObject({
    steps: 2,
    usage: { inputTokens: 3 },
    warnings: [{ code: 'w', message: '1', source: 'warner' }],
  })
})

test('ids of calls stay taken after a resume, also those of side calls (G10)', async () => {
  const aside: Middleware = {
    name: 'aside',
    beforeModel: async (_, run) => {
      if (run.step === 1) await run.callTool({ type: 'tool-call', id: 'side', name: 'read', input: {} })
    },
  }
  const { result, checkpoint } = await interrupted({ middleware: [aside] })
  const { agent } = agentOf([respond(call('read', {}, { id: 'side' })), respond(say('Done'))], { middleware: [aside] })
  const done = await played(agent.resume(checkpoint, answersTo(result)))
  const ids = done.result.messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : []))
  expect(ids).toHaveLength(2)
  expect(ids).not.toContain('side')
  expect(did).toEqual(['read 1', 'book 1 []', 'book 2 ["yes"]', 'read 1'])
})

test('a second next after a resume continues the count of attempts (C14)', async () => {
  let failures = 0
  const flaky = tool({
    ...worker('flaky', 'external'),
    execute: (_, { attempt, answers, idempotencyKey }) => {
      did.push(`flaky ${attempt} ${idempotencyKey.split('/').at(-1)}`)
      if (answers.length === 0) throw interrupt()
      if (failures++ === 0) throw new Error('busy')
      return 'ok'
    },
  })
  const again: Middleware = {
    name: 'again',
    async *wrapToolCall(one, next) {
      try {
        return yield* next(one)
      } catch (error) {
        if (error instanceof AgentError) throw error
        return yield* next(one)
      }
    },
  }
  const { agent } = agentOf([respond(call('flaky')), respond(say('Done'))], { tools: [flaky], middleware: [again] })
  const first = await played(agent.stream('Go'))
  const { result } = await played(agent.resume(first.checkpoint as Checkpoint, answersTo(first.result)))
  expect(did).toEqual(['flaky 1 0', 'flaky 2 0', 'flaky 3 0'])
  expect(textsOf(result)).toEqual(['Go', 'ok', 'Done'])
})

test('the first execution of a call is attempt 1, although the call had waited for its turn when the process was killed (L20, C14)', async () => {
  const tools = [worker('put', 'idempotent', { writes: () => ['one'] })]
  const responses = [respond(call('put', { ms: 500, n: 1 }), call('put', { n: 2 })), respond(say('Done'))]
  const { stored, id, checkpoints } = await killed(responses, 200, { tools })
  expect(stored.calls.map(({ attempts }) => attempts)).toEqual([1, 0])
  await played(agentOf([respond(say('Done'))], { tools, checkpoints }).agent.resume(id))
  expect(did).toEqual(['put 1'])
})

test('the same holds if its input was being checked when its run was cancelled (K15, C14)', async () => {
  const input = anything.refine(() => sleep(100).then(() => true))
  const tools = [worker('look', 'read', { input })]
  const run = agentOf([respond(call('look')), respond(say('Done'))], { tools }).agent.stream('Go')
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(50)
  void run.cancel()
  await vi.runAllTimersAsync()
  const { checkpoint } = (await reading).result ?? {}
  expect(checkpoint?.calls.map(({ attempts }) => attempts)).toEqual([0])
  await played(agentOf([respond(say('Done'))], { tools }).agent.resume(checkpoint as Checkpoint))
  expect(did).toEqual(['look 1'])
})
