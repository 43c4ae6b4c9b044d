import { collect, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import { createAgent, type Flow, type Middleware, map, type Run, settle } from '../index.ts'

/** Yields 1, 2, 3 and logs how it ended. */
async function* counting(log: string[] = [], fails = false): Flow<number, string> {
  try {
    for (let n = 1; n <= 3; n++) {
      log.push(`yields ${n}`)
      yield n
    }
    if (fails) throw new Error('miscounted')
    return 'counted'
  } finally {
    log.push('ended')
  }
}

async function read<Event, Result>(flow: Flow<Event, Result>): Promise<{ events: Event[]; result: Result }> {
  const events: Event[] = []
  for (;;) {
    const step = await flow.next()
    if (step.done) return { events, result: step.value }
    events.push(step.value)
  }
}

test('settle returns the outcome of a flow and drops its events', async () => {
  const log: string[] = []
  expect(await settle(counting(log))).toBe('counted')
  expect(log).toEqual(['yields 1', 'yields 2', 'yields 3', 'ended'])
  await expect(settle(counting([], true))).rejects.toThrow('miscounted')
})

test('map changes the events one by one and leaves the outcome', async () => {
  expect(await read(map(counting(), (n) => `no. ${n}`))).toEqual({
    events: ['no. 1', 'no. 2', 'no. 3'],
    result: 'counted',
  })
  await expect(read(map(counting([], true), (n) => n))).rejects.toThrow('miscounted')
})

test('map reads nothing before it is read, and one event at a time', async () => {
  const log: string[] = []
  const flow = map(counting(log), (n) => n)
  expect(log).toEqual([])
  await flow.next()
  expect(log).toEqual(['yields 1'])
})

test('map, left early or broken by its own function, closes the flow it reads', async () => {
  const log: string[] = []
  const left = map(counting(log), (n) => n)
  await left.next()
  expect(await left.return('enough')).toEqual({ done: true, value: 'enough' })
  expect(log).toEqual(['yields 1', 'ended'])
  const broken = map(counting(log), () => {
    throw new Error('no')
  })
  await expect(read(broken)).rejects.toThrow('no')
  expect(log).toEqual(['yields 1', 'ended', 'yields 1', 'ended'])
})

test('a flow that is not a generator is disposed of like one', async () => {
  const log: string[] = []
  const source = counting(log)
  {
    await using doubled = map(source, (n) => n * 2)
    expect(await doubled.next()).toEqual({ done: false, value: 2 })
  }
  expect(log).toEqual(['yields 1', 'ended'])
})

test('a slow wrap is not overrun: the model is read further when its last event is taken', async () => {
  const log: string[] = []
  const slow: Middleware = {
    name: 'slow',
    async *wrapAgent(setup, next) {
      return yield* map(next(setup), (event) => {
        if (event.type === 'text-delta') log.push(`took ${event.delta}`)
        return event
      })
    },
    async *wrapModel(request, next) {
      return yield* map(next(request), (event) => {
        if (event.type === 'text-delta') log.push(`said ${event.delta}`)
        return event
      })
    },
  }
  const model = scriptedModel([respond(say('abc', { deltas: 3 }))])
  await createAgent({ model, middleware: [slow] }).run('go')
  expect(log).toEqual(['said a', 'took a', 'said b', 'took b', 'said c', 'took c'])
})

test('events that arrive all at once are all delivered, once and in order', async () => {
  const numbers = Array.from({ length: 5_000 }, (_, index) => index)
  const emitAll = (run: Run) => {
    for (const data of numbers) run.emit({ name: 'number', data })
  }
  const flooding: Middleware = { name: 'flooding', beforeModel: (_, run) => emitAll(run) }
  const model = scriptedModel([respond(say('Hi'))])
  const run = createAgent({ model, middleware: [flooding] }).stream('go', { eventBuffer: 10_000 })
  const { events } = await collect(run)
  expect(events.flatMap((event) => (event.type === 'custom' ? [event.data] : []))).toEqual(numbers)
})
