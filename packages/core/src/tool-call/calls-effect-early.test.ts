import { call, fail, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { askAgain } from '../../test/again.ts'
import { callOf, callsEffect, first, played } from '../../test/calls-effect.ts'
import { startingEarly, withdrawing } from '../../test/early-calls.ts'
import {
  type CallOptions,
  type CheckpointStore,
  createAgent,
  type Effect,
  type Middleware,
  memoryStore,
  type Tool,
  tool,
} from '../index.ts'

const { log, note, restart, worker, workers, maker, eager } = callsEffect()

test.each<[string, CallOptions | undefined, readonly string[]]>([
  ['not early', undefined, ['100 plan 1', '100 look 1', '110 put 1', '120 move 1', '130 send 1']],
  ['of a read', { ceiling: 'read' }, ['0 plan 1', '0 look 1', '100 put 1', '110 move 1', '120 send 1']],
  ['of calls', { ceiling: 'calls' }, ['0 plan 1', '0 look 1', '100 put 1', '110 move 1', '120 send 1']],
  ['idempotent', { ceiling: 'idempotent' }, ['0 plan 1', '0 look 1', '10 put 1', '100 move 1', '110 send 1']],
  ['reversible', { ceiling: 'reversible' }, ['0 plan 1', '0 look 1', '10 put 1', '20 move 1', '100 send 1']],
  ['none', {}, ['0 plan 1', '0 look 1', '10 put 1', '20 move 1', '30 send 1']],
])(
  'a call with effect calls starts when a read may, and its inner calls start no earlier than the ceiling allows: %s (Q1)',
  async (_, options, made) => {
    const { results } = await played(eager([maker('calls', ['look', 'put', 'move', 'send'])], options))
    expect(log).toEqual(made)
    expect(results).toEqual(['look 1, put 1, move 1, send 1'])
  },
)

test('a call with effect calls that a call with effect calls or a read makes starts at once, and the ceiling applies to its inner calls (Q1)', async () => {
  for (const effect of ['calls', 'read'] as const) {
    restart()
    const outer = worker('plan', effect, { execute: (_, { run }) => callOf(run, 'inner') })
    const inner = worker('inner', 'calls', {
      async execute(_, { run }) {
        note('inner')
        return `${await callOf(run, 'look')}, ${await callOf(run, 'send')}`
      },
    })
    const { results } = await played(eager([outer, inner], { ceiling: 'read' }))
    expect(log).toEqual(['0 inner', '0 look 1', '100 send 1'])
    expect(results).toEqual(['look 1, send 1'])
  }
})

test('an effect that the tool computes may be calls, too (Q1)', async () => {
  const plan = { ...maker('external', ['look', 'send']), effect: () => 'calls' } as Tool
  await played(eager([plan], { ceiling: 'read' }))
  expect(log).toEqual(['0 plan 1', '0 look 1', '100 send 1'])
})

test('inner calls that a discarded call with effect calls has not made do not happen, and those it made are undone (Q1)', async () => {
  const parallel = worker('plan', 'calls', {
    execute: (_, { run }) => Promise.all(['look', 'move', 'put', 'send'].map((name) => callOf(run, name))),
  })
  for (const ceiling of ['read', 'reversible'] as const) {
    restart()
    const { events } = await played(eager([parallel], { ceiling }, [withdrawing()]))
    expect(log).toEqual(ceiling === 'read' ? ['0 look 1'] : ['0 look 1', '0 move 1', '0 put 1', '100 moved back'])
    const ids = events.flatMap((event) => (event.type === 'tool-discarded' ? [event.callId] : []))
    expect(ids).toEqual(['look', 'move', 'put', 'send', 'c1'])
  }
})

/** The model requests a plan, and after a retry a write before the same plan. */
const rewritten = () =>
  scriptedModel([
    respond(call('plan', { n: 1 }, { id: 'a' }), wait(50), fail()),
    respond(call('write', { n: 1 }, { id: 'w' }), call('plan', { n: 1 }, { id: 'b' }), wait(50)),
    respond(say('Done.')),
  ])

test('a call with effect calls that has only read is made again after a write of the next attempt; one that has done more is not (Q2, H26)', async () => {
  const keyed = { writes: () => ['k'] }
  const played1 = async (plan: Tool, options: CallOptions) => {
    restart()
    const tools = [plan, worker('write', 'external', keyed), ...workers]
    await played(createAgent({ model: rewritten(), tools, middleware: [askAgain, startingEarly(options)] }))
    return log.map((line) => line.replace(/^\d+ /, ''))
  }
  const reads = maker('calls', ['look'], keyed)
  const sends = maker('calls', ['look', 'send'], keyed)
  expect(await played1(reads, { ceiling: 'read' })).toEqual(['plan 1', 'look 1', 'write 1', 'plan 1', 'look 1'])
  expect(await played1(sends, { ceiling: 'read' })).toEqual([
    'plan 1',
    'look 1',
    'write 1',
    'plan 1',
    'look 1',
    'send 1',
  ])
  expect(await played1(sends, {})).toEqual(['plan 1', 'look 1', 'send 1', 'write 1'])
  // It is joined if no write comes before it.
  expect(await played1(maker('calls', ['look']), { ceiling: 'read' })).toEqual(['plan 1', 'look 1', 'write 1'])
})

test('a running call with effect calls is made again after a read of the next attempt that must not see its inner calls (Q2, H14)', async () => {
  const played1 = async (toolConcurrency: number, more: Partial<Tool<{ n: number }>>, names: readonly string[]) => {
    restart()
    const model = scriptedModel([
      respond(call('plan', { n: 1 }, { id: 'a' }), wait(50), fail()),
      respond(call('fetch', { n: 1 }, { id: 'f' }), call('plan', { n: 1 }, { id: 'b' }), wait(50)),
      respond(say('Done.')),
    ])
    const tools = [maker('calls', names, more), worker('fetch', 'read', { reads: () => ['k'] }), ...workers]
    const middleware = [askAgain, startingEarly({ ceiling: 'read' })]
    const { results } = await played(createAgent({ model, tools, middleware, toolConcurrency }))
    return [...log.map((line) => line.replace(/^\d+ /, '')), ...(results ?? [])]
  }
  const keyed = { writes: () => ['k'] }
  const anew = ['plan 1', 'look 1', 'fetch 1', 'plan 1', 'look 1', 'send 1', 'fetch 1', 'look 1, send 1']
  const unlimited = Number.POSITIVE_INFINITY
  expect(await played1(unlimited, keyed, ['look', 'send'])).toEqual(anew)
  expect(await played1(1, {}, ['look', 'send'])).toEqual(anew)
  // A call that is over, or that names no key of the read, is joined.
  expect(await played1(unlimited, keyed, ['look'])).toEqual(['plan 1', 'look 1', 'fetch 1', 'fetch 1', 'look 1'])
  expect(await played1(unlimited, {}, ['look', 'send'])).toEqual([
    'plan 1',
    'look 1',
    'fetch 1',
    'send 1',
    'fetch 1',
    'look 1, send 1',
  ])
})

test('a call with effect calls begins without being saved first, as a read does; its inner calls are saved according to their own effects (Q3, L15)', async () => {
  /** How much had been done before each save. */
  const savesOf = async (effect: Effect) => {
    restart()
    const saves: number[] = []
    const store = memoryStore()
    const checkpoints: CheckpointStore = {
      load: (id) => store.load(id),
      delete: (id) => store.delete(id),
      prune: (options) => store.prune(options),
      save(...given) {
        saves.push(log.length)
        return store.save(...given)
      },
    }
    const tools = [maker(effect, ['look', 'send']), ...workers]
    await played(createAgent({ model: scriptedModel([first, respond(say('Done.'))]), tools, checkpoints }))
    return saves
  }
  const saves = await savesOf('calls')
  expect(saves).toEqual(await savesOf('read'))
  expect(saves).toContain(2)
  const beforeAnyCall = (some: readonly number[]) => some.filter((done) => done === 0).length
  expect(beforeAnyCall(await savesOf('external'))).toBe(beforeAnyCall(saves) + 1)
})

test('a tool with effect calls may name the members it needs, and may warm up (Q4, H31, H33)', async () => {
  const plan = tool({
    name: 'plan',
    description: 'p',
    input: z.object({ n: z.number(), then: z.string() }),
    effect: 'calls',
    needs: ['n'],
    warm: () => note('warm'),
    async execute({ n }, { rest, run, warmed }) {
      await warmed
      const looked = await callOf(run, 'look', n)
      const sent = callOf(run, 'send', n)
      note(`then ${(await rest).then}`)
      return `${looked}, ${await sent}`
    },
  }) as Tool
  const input = { n: 1, then: 'stop' }
  const model = scriptedModel(
    [respond(call('plan', input, { id: 'c1', deltas: 3 }), wait(100), say('So.')), respond(say('Done.'))],
    {
      pace: { firstToken: 10, betweenTokens: 10 },
    },
  )
  const starting: Middleware = {
    name: 'starting',
    async *wrapModel(request, next, run) {
      const flow = next(request)
      let whole: ((call: never) => void) | undefined
      for (;;) {
        const step = await flow.next()
        if (step.done) return step.value
        const event = step.value
        if (event.type === 'tool-input-start') run.warm(event.id, event.name)
        if (event.type === 'tool-input-ready') {
          const rest = new Promise<never>((resolve) => (whole = resolve))
          const started = { type: 'tool-call', id: event.id, name: event.name, input: event.input } as const
          void run.callTool(started, { ceiling: 'calls', rest }).catch(() => undefined)
        }
        if (event.type === 'tool-call') whole?.(event.call as never)
        yield event
      }
    },
  }
  const agent = createAgent({ model, tools: [plan, ...workers], middleware: [starting] })
  const { results } = await played(agent)
  const order = log.map((line) => line.replace(/^\d+ /, ''))
  expect(order).toEqual(['warm', 'look 1', 'then stop', 'send 1'])
  expect(results).toEqual(['look 1, send 1'])
  const at = (what: string) => Number.parseInt(log.find((line) => line.endsWith(what)) ?? '', 10)
  expect(at('look 1')).toBeLessThan(at('then stop'))
  expect(at('send 1')).toBeGreaterThan(at('then stop') + 99)
})
