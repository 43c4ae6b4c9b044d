import { fail, respond, say } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import { askingAgent } from '../../test/asking-agent.ts'
import { played } from '../../test/played-runs.ts'
import { answersTo, checkpointOf, idsOf, textsOf } from '../../test/results.ts'
import { interrupt, type Middleware } from '../index.ts'

const { did, agentOf } = askingAgent()

test('a wrapAgent that asks after the answer finds it again, without a model call, hook or gate (L8, L11)', async () => {
  const sign: Middleware = {
    name: 'sign',
    async *wrapAgent(setup, next, run) {
      const result = yield* next(setup)
      if (run.answers.length === 0) throw interrupt(result.text)
      return result
    },
    beforeFinalAnswer: () => void did.push('gate'),
    beforeModel: () => void did.push('beforeModel'),
  }
  const { agent, model } = agentOf([respond(say('Done'))], { middleware: [sign] })
  const first = await played(agent.stream('Go'))
  expect(first.result.interrupts).toMatchObject([{ payload: 'Done' }])
  const { result, events } = await played(agent.resume(checkpointOf(first.result), answersTo(first.result)))
  expect(result).toMatchObject({ status: 'completed', stopReason: 'answer', text: 'Done', steps: 1 })
  expect(events.map(({ type }) => type)).toEqual(['run-start', 'run-end'])
  expect(did).toEqual(['beforeModel', 'gate'])
  expect(model.requests).toHaveLength(1)
})

test('a wrapModel that asks after its model call makes another attempt of the same step (L8, J10)', async () => {
  const review: Middleware = {
    name: 'review',
    async *wrapModel(request, next, run) {
      const message = yield* next(request)
      if (run.answers.length === 0) throw interrupt('good?')
      return message
    },
  }
  const { agent } = agentOf([respond(say('One')), respond(say('Two'))], { middleware: [review] })
  const first = await played(agent.stream('Go'))
  const { result, events } = await played(agent.resume(checkpointOf(first.result), answersTo(first.result)))
  expect(events.flatMap((event) => (event.type === 'attempt-start' ? [[event.step, event.attempt]] : []))).toEqual([
    [1, 2],
  ])
  expect(result).toMatchObject({ text: 'Two', steps: 1 })
})

test('finished hooks are not repeated, beforeAgent runs on every resume, and does not change the history (L8, C6)', async () => {
  const noting = (name: string): Middleware => ({
    name,
    beforeAgent: (setup) => {
      did.push(`beforeAgent ${name}`)
      return { ...setup, instructions: `${setup.instructions}${name}` }
    },
    beforeModel: (state) => {
      did.push(`beforeModel ${name}`)
      return { messages: [...state.messages, { role: 'user', content: name, origin: name }] }
    },
    async *wrapModel(request, next) {
      did.push(`wrapModel ${name}`)
      return yield* next(request)
    },
    afterModel: () => void did.push(`afterModel ${name}`),
  })
  const asking: Middleware = {
    name: 'asking',
    beforeModel: (_, run) => {
      if (run.answers.length === 0) throw interrupt()
    },
    afterModel: (_, run) => {
      if (run.answers.length === 0) throw interrupt()
    },
  }
  const { agent, model } = agentOf([respond(say('Done'))], { middleware: [noting('A'), asking, noting('B')] })
  let { result } = await played(agent.stream('Go'))
  for (const _ of [1, 2]) ({ result } = await played(agent.resume(checkpointOf(result), answersTo(result))))
  expect(did).toEqual([
    'beforeAgent A',
    'beforeAgent B',
    'beforeModel A',
    'beforeAgent A',
    'beforeAgent B',
    'beforeModel B',
    'wrapModel A',
    'wrapModel B',
    'afterModel B',
    'beforeAgent A',
    'beforeAgent B',
    'afterModel A',
  ])
  expect(textsOf(result)).toEqual(['Go', 'A', 'B', 'Done'])
  expect(model.requests).toMatchObject([{ instructions: 'AB' }])
})

test('the count of attempts continues after an interrupt between two of them (J10, L11)', async () => {
  const retry: Middleware = {
    name: 'retry',
    async *wrapModel(request, next, run) {
      if (run.answers.length > 0) return yield* next(request)
      try {
        return yield* next(request)
      } catch {
        throw interrupt('again?')
      }
    },
  }
  const { agent } = agentOf([respond(fail({ code: 'x' })), respond(say('Done'))], { middleware: [retry] })
  const first = await played(agent.stream('Go'))
  const second = await played(agent.resume(checkpointOf(first.result), answersTo(first.result)))
  const attempts = [...first.events, ...second.events].flatMap((event) =>
    event.type === 'attempt-start' || event.type === 'attempt-failed' || event.type === 'step-end'
      ? [`${event.type} ${event.attempt}`]
      : [],
  )
  expect(attempts).toEqual(['attempt-start 1', 'attempt-failed 1', 'attempt-start 2', 'step-end 2'])
})

test('the hook that made a side call that asks makes it again (L4, L8)', async () => {
  const aside: Middleware = {
    name: 'aside',
    async beforeModel(_, run) {
      const { output } = await run.callTool({ type: 'tool-call', id: 'side', name: 'book', input: {} })
      did.push(`aside ${String(output)}`)
    },
  }
  const { agent } = agentOf([respond(say('Done'))], { middleware: [aside] })
  const first = await played(agent.stream('Go'))
  expect(first.result.interrupts).toMatchObject([{ address: [{ agent: 'travel' }, { tool: 'book', callId: 'side' }] }])
  const none = await played(agent.resume(checkpointOf(first.result)))
  expect(idsOf(none.result)).toEqual(idsOf(first.result))
  const { result } = await played(agent.resume(checkpointOf(none.result), answersTo(first.result)))
  expect(did).toEqual(['book it 1 []', 'book it 2 ["yes"]', 'aside booked it: yes'])
  expect(result.text).toBe('Done')
})
