import { call, collect, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { beforeEach, expect, test, vi } from 'vitest'
import { earlyAndAgain, Fatal, forever, heeds, quick, settled, toolOf, watch } from '../../test/aborted-runs.ts'
import { sleep } from '../../test/clock.ts'
import { CUT_OFF, NOT_STARTED, resultsIn } from '../../test/results.ts'
import { createAgent, type Middleware, type Model } from '../index.ts'

unhandledRejections()

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

test('a tool that throws an AgentError ends the run with it once the other calls were aborted and have settled (A12)', async () => {
  const fatal = new Fatal('that was it')
  const reasons: unknown[] = []
  const tools = [
    toolOf('fatal', async () => {
      await sleep(100)
      throw fatal
    }),
    toolOf('sibling', async ({ signal }) => {
      await heeds(signal, 50).catch((reason: unknown) => reasons.push(reason))
      return 'tidied up'
    }),
    toolOf('work', ({ signal }) => heeds(signal, 20)),
    quick,
  ]
  const calls = ['sibling', 'quick', 'fatal', 'work'].map((name) => call(name, {}, { id: name }))
  const model = scriptedModel([respond(...calls), respond(say('never'))])
  const run = createAgent({ model, tools }).stream('Go')
  const seen = watch(run.result)
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(149)
  expect(seen).toEqual({})
  await vi.advanceTimersByTimeAsync(1)
  expect(seen).toMatchObject({ at: 150 })
  expect(seen.error).toBe(fatal)
  expect(reasons).toEqual([fatal])
  expect(resultsIn(fatal.messages)).toEqual([
    ['sibling', 'tidied up'],
    ['quick', 'done'],
    ['fatal', CUT_OFF],
    ['work', CUT_OFF],
  ])
  expect(fatal.abandoned).toBeUndefined()
  expect((await reading).error).toBe(fatal)
  expect(model.requests).toHaveLength(1)
})

test('other calls that ignore the abort are abandoned after the grace time, and queued ones never start (A12, K12)', async () => {
  const fatal = new Fatal('that was it')
  const started: string[] = []
  const tools = [
    toolOf('deaf', ({ callId }) => {
      started.push(callId)
      return forever()
    }),
    toolOf('fatal', async () => {
      await sleep(100)
      throw fatal
    }),
  ]
  const calls = ['one', 'two', 'three'].map((id) => call(id === 'two' ? 'fatal' : 'deaf', {}, { id }))
  const agent = createAgent({ model: scriptedModel([respond(...calls)]), tools, toolConcurrency: 2 })
  const seen = watch(agent.run('Go'))
  await vi.advanceTimersByTimeAsync(1_099)
  expect(seen).toEqual({})
  await vi.advanceTimersByTimeAsync(1)
  expect(seen.error).toBe(fatal)
  expect(fatal.abandoned).toEqual(['one'])
  expect(started).toEqual(['one'])
  expect(resultsIn(fatal.messages)).toEqual([
    ['one', CUT_OFF],
    ['two', CUT_OFF],
    ['three', NOT_STARTED],
  ])
})

test('an error that ends a run reaches its wraps when all other calls have settled (A12)', async () => {
  const fatal = new Fatal('that was it')
  const log: unknown[] = []
  const tools = [
    toolOf('fatal', () => {
      throw fatal
    }),
    toolOf('work', ({ signal }) => heeds(signal, 40).finally(() => log.push('settled'))),
  ]
  const wrap: Middleware = {
    name: 'wrap',
    async *wrapAgent(setup, next) {
      try {
        return yield* next(setup)
      } catch (error) {
        log.push(error)
        throw error
      }
    },
  }
  const model = scriptedModel([respond(call('fatal'), call('work'))])
  const { error } = await settled(createAgent({ model, tools, middleware: [wrap] }).stream('Go'), 2_000)
  expect(error).toBe(fatal)
  expect(log).toEqual(['settled', fatal])
})

test('a call that failed fatally before its model call succeeded ends the run when that succeeds (A12)', async () => {
  const fatal = new Fatal('that was it')
  const tools = [
    toolOf('fatal', () => {
      throw fatal
    }),
    toolOf('work', ({ signal }) => heeds(signal)),
  ]
  const model = scriptedModel([respond(call('fatal', {}, { id: 'one' }), call('work', {}, { id: 'two' }), wait(500))])
  const agent = createAgent({ model, tools, middleware: [earlyAndAgain] })
  const seen = watch(agent.run('Go'))
  await vi.advanceTimersByTimeAsync(499)
  expect(seen).toEqual({})
  await vi.advanceTimersByTimeAsync(1)
  expect(seen.error).toBe(fatal)
  expect(resultsIn(fatal.messages)).toEqual([
    ['one', CUT_OFF],
    ['two', CUT_OFF],
  ])
})

test('side calls are aborted, too, when a tool ends the run (A12)', async () => {
  const fatal = new Fatal('that was it')
  const tools = [
    toolOf('fatal', () => {
      throw fatal
    }),
    toolOf('work', ({ signal }) => heeds(signal)),
  ]
  const aside: Middleware = {
    name: 'aside',
    beforeModel(_, run) {
      run.callTool({ type: 'tool-call', id: 'aside', name: 'work', input: {} }).catch(() => undefined)
    },
  }
  const agent = createAgent({ model: scriptedModel([respond(call('fatal'))]), tools, middleware: [aside] })
  const { error } = await settled(agent.stream('Go'), 2_000)
  expect(error).toBe(fatal)
})

test('the run ends with the thrown object, or with an error that has it as its cause (A24)', async () => {
  const thrown = new RangeError('no')
  const model: Model = {
    provider: 'own',
    id: 'own-1',
    stream: () => {
      throw thrown
    },
  }
  const byModel = await createAgent({ model })
    .run('Go')
    .catch((error: unknown) => error)
  expect(byModel).toMatchObject({ name: 'ModelError', messages: [{ content: 'Go' }], usage: {} })
  expect((byModel as Error).cause).toBe(thrown)

  const hook: Middleware = {
    name: 'hook',
    beforeModel: () => {
      throw thrown
    },
  }
  const agent = createAgent({ model, middleware: [hook] })
  const byHook = await agent.run('Go').catch((error: unknown) => error)
  expect(byHook).toMatchObject({ name: 'MiddlewareError', messages: [{ content: 'Go' }], usage: {} })
  expect((byHook as Error).cause).toBe(thrown)
})
