import { collect, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { again, pause, ran, talking } from '../../test/left-flows.ts'
import { answer } from '../../test/messages.ts'
import { createAgent, type Middleware, map, settle } from '../index.ts'

beforeEach(() => void vi.useFakeTimers())

afterEach(() => void vi.useRealTimers())

/** Logs when it has ended. */
const inside = (seen: string[]): Middleware => ({
  name: 'inside',
  async *wrapModel(request, next) {
    try {
      return yield* next(request)
    } finally {
      seen.push('inside finally')
    }
  },
})

/** Wraps that leave after the first event, each in another way. */
const leaving: readonly (readonly [string, NonNullable<Middleware['wrapModel']>])[] = [
  [
    'by break',
    async function* (request, next) {
      for await (const event of next(request)) {
        yield event
        break
      }
      return answer('enough')
    },
  ],
  [
    'by a return out of its loop',
    async function* (request, next) {
      for await (const event of next(request)) {
        yield event
        return answer('enough')
      }
      return answer('nothing')
    },
  ],
  [
    'and just stops reading',
    async function* (request, next) {
      const flow = next(request)
      await flow.next()
      return answer('enough')
    },
  ],
  [
    'while it waits for an event',
    async function* (request, next) {
      const flow = next(request)
      await flow.next()
      await Promise.race([flow.next(), pause(50)])
      return answer('enough')
    },
  ],
]

test.for(leaving)(
  'a wrap that leaves %s closes what is inside: request and finally blocks (C15)',
  async ([, wrapModel]) => {
    const seen: string[] = []
    const agent = createAgent({
      model: talking(seen),
      middleware: [
        { name: 'after', afterModel: () => void seen.push('afterModel') },
        {
          name: 'outside',
          async *wrapModel(request, next) {
            const message = yield* next(request)
            seen.push('outside')
            return message
          },
        },
        { name: 'leaves', wrapModel },
        inside(seen),
      ],
    })
    const { events, result } = await ran(collect(agent.stream('Go')))
    const [first, second, ...rest] = seen.filter((line) => line !== 'inside finally')
    expect(new Set([first, second])).toEqual(new Set(['model aborted', 'model finally']))
    expect(rest).toEqual(['outside', 'afterModel'])
    expect(seen.indexOf('inside finally')).toBeLessThan(seen.indexOf('outside'))
    expect(result?.text).toBe('enough')
    expect(events.map(({ type }) => type)).not.toContain('attempt-failed')
  },
)

test('a wrap that throws closes what is inside before the outer wraps see the throw (C15)', async () => {
  const seen: string[] = []
  const agent = createAgent({
    model: talking(seen),
    middleware: [
      {
        name: 'outside',
        async *wrapModel(request, next) {
          try {
            return yield* next(request)
          } catch {
            seen.push('outside')
            return answer('never mind')
          }
        },
      },
      {
        name: 'throws',
        async *wrapModel(request, next) {
          return yield* map(next(request), () => {
            throw new Error('I do not like it')
          })
        },
      },
      inside(seen),
    ],
  })
  const result = await ran(agent.run('Go'))
  expect(result.text).toBe('never mind')
  expect(seen).toEqual(['model aborted', 'model finally', 'inside finally', 'outside'])
})

test('of two parallel attempts the one that is not awaited is cancelled when the wrap has ended (C13, C15)', async () => {
  const seen: string[] = []
  const [slow, quick] = [talking(seen, 'slow'), scriptedModel([respond(wait(150), say('quick'))], { id: 'quick' })]
  const agent = createAgent({
    model: slow,
    middleware: [
      {
        name: 'races',
        async *wrapModel(request, next) {
          return await Promise.race([settle(next(request)), settle(next({ ...request, model: quick }))])
        },
        afterModel: () => void seen.push(`afterModel at ${performance.now() - start}`),
      },
      again,
    ],
  })
  const start = performance.now()
  const { events, result } = await ran(collect(agent.stream('Go')))
  expect(result?.text).toBe('quick')
  expect(seen).toEqual(['slow aborted', 'slow finally', 'afterModel at 150'])
  expect(events.flatMap((event) => ('attempt' in event ? [`${event.type} ${event.attempt}`] : []))).toEqual([
    'attempt-start 1',
    'attempt-start 2',
    'step-end 2',
  ])
})
