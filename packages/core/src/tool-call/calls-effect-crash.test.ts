import { call, collect, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { expect, test, vi } from 'vitest'
import { callOf, callsEffect, first, input, NEVER, played } from '../../test/calls-effect.ts'
import { startingEarly } from '../../test/early-calls.ts'
import {
  agentTool,
  type CallOptions,
  createAgent,
  type Model,
  memoryStore,
  type ResumeOptions,
  type Tool,
  type ToolContext,
} from '../index.ts'

const { log, note, worker, workers } = callsEffect()

/** A process that ends while this call is running, and the next one. */
interface Lives {
  readonly inner: readonly string[]
  /** Whether it waits for each inner call before it makes the next. Default true. */
  readonly inTurn?: boolean
  /** The process ends in the function of this tool; for `plan`, when its inner calls have ended. */
  readonly endsIn: string
  readonly resume?: ResumeOptions
  readonly options?: CallOptions
}

async function lives({ inner, inTurn = true, endsIn, resume, options }: Lives) {
  const checkpoints = memoryStore()
  let isFirst = true
  const contexts: ToolContext[] = []
  const tools = ['look', 'put', 'send'].map((name) =>
    worker(name, name === 'look' ? 'read' : name === 'put' ? 'idempotent' : 'external', {
      async execute({ n }) {
        note(`${name} ${n}`)
        return isFirst && name === endsIn ? await NEVER : `${name} ${n}`
      },
    }),
  )
  tools.push(
    worker('plan', 'calls', {
      async execute({ n }, context) {
        contexts.push(context)
        note(`plan ${n}`)
        const given: Promise<string>[] = []
        for (const name of inner) {
          given.push(callOf(context.run, name, n))
          if (inTurn) await given.at(-1)
        }
        const results = await Promise.all(given)
        return isFirst && endsIn === 'plan' ? await NEVER : results.join(', ')
      },
    }),
  )
  const middleware = options ? [startingEarly(options)] : []
  const agentOf = (model: Model) => createAgent({ model, tools, checkpoints, middleware })
  const run = agentOf(scriptedModel([first])).stream('Go')
  void collect(run)
  await vi.advanceTimersByTimeAsync(options ? 50 : 500)
  isFirst = false
  const before = log.splice(0).map((line) => line.replace(/^\d+ /, ''))
  const script = options ? [first, respond(say('Done.'))] : [respond(say('Done.'))]
  const { events, result, results } = await played(agentOf(scriptedModel(script)), resume ? [run.id, resume] : [run.id])
  const after = log.map((line) => line.replace(/^\d+ /, ''))
  const reruns = events.flatMap((event) => (event.type === 'tool-start' && event.rerun ? [event.call.name] : []))
  return { before, after, results, reruns, contexts, unknown: result?.unknown }
}

test('after a crash a call with effect calls is made again, and finds the calls it had made (Q3, L20)', async () => {
  const { before, after, results, reruns, contexts, unknown } = await lives({
    inner: ['look', 'put', 'send'],
    endsIn: 'plan',
    resume: { rerun: [] },
  })
  expect(before).toEqual(['plan 1', 'look 1', 'put 1', 'send 1'])
  expect(after).toEqual(['plan 1'])
  expect(results).toEqual(['look 1, put 1, send 1'])
  expect(reruns).toEqual(['plan'])
  expect(unknown).toBeUndefined()
  const [one, other] = contexts
  expect([one?.attempt, other?.attempt]).toEqual([1, 2])
  expect(other?.idempotencyKey).toBe(one?.idempotencyKey)
})

test.each<[string, string, ResumeOptions | undefined, readonly string[], string]>([
  ['a read', 'look', undefined, ['plan 1', 'look 1'], 'look 1, put 1, send 1'],
  [
    'a read, if rerun does not contain read',
    'look',
    { rerun: ['idempotent'] },
    ['plan 1'],
    'look failed, put 1, send 1',
  ],
  ['an idempotent one', 'put', undefined, ['plan 1'], 'look 1, put failed, send 1'],
  ['an idempotent one in rerun', 'put', { rerun: ['idempotent'] }, ['plan 1', 'put 1'], 'look 1, put 1, send 1'],
  ['an external one', 'send', undefined, ['plan 1'], 'look 1, put 1, send failed'],
  [
    'an external one, if rerun contains only calls',
    'send',
    { rerun: ['calls'] },
    ['plan 1'],
    'look 1, put 1, send failed',
  ],
])(
  'an inner call that a crash cuts off is handled according to its own effect: %s (Q3, L20, L21)',
  async (_, endsIn, resume, made, text) => {
    const inner = ['look', 'put', 'send']
    const { after, unknown, results } = await lives({ inner, inTurn: false, endsIn, ...(resume && { resume }) })
    expect(after).toEqual(made)
    expect(results).toEqual([text])
    expect(unknown).toEqual(text.includes('failed') ? [endsIn] : undefined)
  },
)

test('a call with effect calls that a crash cut off before its response was accepted is joined and made again, and its finished reads are not repeated (Q3, O9)', async () => {
  const { before, after, results, reruns } = await lives({
    inner: ['look', 'send'],
    endsIn: 'plan',
    options: { ceiling: 'read' },
  })
  expect(before).toEqual(['plan 1', 'look 1'])
  expect(after).toEqual(['plan 1', 'send 1'])
  expect(results).toEqual(['look 1, send 1'])
  expect(reruns).toEqual(['plan'])
})

test('after a crash inside an agent with effect calls the agent continues, and an effect that may have happened is not repeated (Q3, L21)', async () => {
  const checkpoints = memoryStore()
  let isFirst = true
  const send = worker('send', 'external', {
    async execute({ n }) {
      note(`send ${n}`)
      return isFirst ? await NEVER : 'sent'
    },
  })
  const inner = scriptedModel([
    respond(call('look', { n: 1 })),
    respond(call('send', { n: 1 }, { id: 's' })),
    respond(say('Planned.')),
  ])
  const agent = createAgent({ name: 'plan', description: 'p', model: inner, tools: [send, ...workers.slice(0, 1)] })
  const tools = [agentTool(agent, { input, effect: 'calls' }) as Tool]
  const run = createAgent({ model: scriptedModel([first]), tools, checkpoints }).stream('Go')
  void collect(run)
  await vi.advanceTimersByTimeAsync(500)
  isFirst = false
  expect(log.splice(0)).toEqual(['100 look 1', '110 send 1'])
  const { results, result } = await played(
    createAgent({ model: scriptedModel([respond(say('Done.'))]), tools, checkpoints }),
    [run.id],
  )
  expect(log).toEqual([])
  expect(results).toEqual(['Planned.'])
  expect(result?.unknown).toEqual(['c1/s'])
})
