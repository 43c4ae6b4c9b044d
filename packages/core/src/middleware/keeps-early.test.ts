import { call, collect, fail, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { early } from '../../test/early-calls.ts'
import { createAgent, interrupt, type Middleware, type Tool, textOf, tool } from '../index.ts'

unhandledRejections()

/** Makes another attempt if one fails. */
const retrying: Middleware = {
  name: 'retrying',
  async *wrapModel(request, next) {
    try {
      return yield* next(request)
    } catch {
      return yield* next(request)
    }
  },
}

async function ran(middleware: readonly Middleware[]) {
  const made: string[] = []
  const look = tool({
    name: 'look',
    description: 'Looks.',
    input: z.object({ q: z.string() }),
    effect: 'read',
    execute({ q }) {
      made.push(q)
      return q
    },
  })
  const model = scriptedModel([
    respond(call('look', { q: 'a' }, { id: '1' }), fail()),
    respond(call('look', { q: 'b' }, { id: '2' }), call('look', { q: 'a' }, { id: '3' })),
    respond(say('Done.')),
  ])
  const agent = createAgent({ model, tools: [look as Tool], middleware: [retrying, ...middleware, early] })
  const { events, result, error } = await collect(agent.stream('Go'))
  const discarded = events.flatMap((event) => (event.type === 'tool-discarded' ? [[event.callId, event.cause]] : []))
  const texts = result?.messages.flatMap((message) => (message.role === 'tool' ? [textOf(message)] : []))
  return { made, discarded, texts, error }
}

test('keepsEarly judges each early call of the accepted response by its new and its first id (W3)', async () => {
  const asked: unknown[] = []
  const judge: Middleware = {
    name: 'judge',
    keepsEarly(call, early, run) {
      asked.push([call.id, early.id, early.input, run.step])
      return true
    },
  }
  expect(await ran([judge])).toMatchObject({ made: ['a', 'b'], texts: ['b', 'a'], discarded: [] })
  expect(asked).toEqual([
    ['2', '2', { q: 'b' }, 1],
    ['3', '1', { q: 'a' }, 1],
  ])
})

test('an early call that is not kept is discarded, and the call passes all wraps again (W3)', async () => {
  const wrapped: string[] = []
  const judge: Middleware = {
    name: 'judge',
    keepsEarly: (call) => call.id !== '3',
    async *wrapToolCall(call, next) {
      wrapped.push(call.id)
      if (call.id !== '3') return yield* next(call)
      return { role: 'tool', callId: call.id, name: call.name, content: [{ type: 'text', text: 'No.' }], isError: true }
    },
  }
  const { made, texts, discarded } = await ran([judge])
  expect({ made, texts, discarded }).toEqual({
    made: ['a', 'b'],
    texts: ['b', 'No.'],
    discarded: [['1', 'call_withdrawn']],
  })
  expect(wrapped).toEqual(['1', '2', '3'])
})

test('a call of a checkpoint that was committed before its resume is not judged by keepsEarly (W3)', async () => {
  const made: string[] = []
  const asked: string[] = []
  const work = tool({
    name: 'work',
    description: 'Works.',
    input: z.object({ ask: z.boolean().optional() }),
    effect: 'external',
    execute({ ask }, { callId, answers }) {
      if (ask && answers.length === 0) throw interrupt('Well?')
      made.push(callId)
    },
  }) as Tool
  const judge: Middleware = {
    name: 'judge',
    keepsEarly(call) {
      asked.push(call.id)
      return false
    },
  }
  const model = scriptedModel([
    respond(call('work', {}, { id: '1' }), call('work', { ask: true }, { id: '2' })),
    respond(say('Done.')),
  ])
  const agent = createAgent({ model, tools: [work], middleware: [judge] })
  const { checkpoint, interrupts = [] } = await agent.run('Go')
  const answers = Object.fromEntries(interrupts.map(({ id }) => [id, 'yes']))
  expect((await agent.resume(checkpoint ?? '', answers).result).text).toBe('Done.')
  expect([made, asked]).toEqual([['1', '2'], []])
})

test.for<readonly [string, Middleware['keepsEarly']]>([
  ['throws', () => expect.fail('no order')],
  ['returns a promise', (() => Promise.reject(new Error('late'))) as never],
])('a keepsEarly that %s ends the run with a MiddlewareError that names it (W3, P16)', async ([, keepsEarly]) => {
  const { error } = await ran([{ name: 'faulty', ...(keepsEarly && { keepsEarly }) }])
  expect(error).toMatchObject({
    name: 'MiddlewareError',
    message: expect.stringMatching(/faulty, keepsEarly: /) as string,
  })
})
