import { call, collect, fail, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { expect, test, vi } from 'vitest'
import { askAgain } from '../../test/again.ts'
import { callOf, callsEffect, input, played } from '../../test/calls-effect.ts'
import { startingEarly, withdrawing } from '../../test/early-calls.ts'
import {
  agentTool,
  type CallOptions,
  createAgent,
  type Effect,
  interrupt,
  type Middleware,
  type ModelRequest,
  type Tool,
} from '../index.ts'

const { log, note, restart, worker, workers, eager } = callsEffect()

/** An agent that calls these tools, one per step, as a tool with the name `plan`. */
function planner(effect: Effect | undefined, tools: readonly Tool[], middleware: readonly Middleware[] = []): Tool {
  const model = scriptedModel([...tools.map(({ name }) => respond(call(name, { n: 1 }))), respond(say('Planned.'))])
  const agent = createAgent({ name: 'plan', description: 'p', model, tools, middleware })
  return agentTool(agent, { input, ...(effect && { effect }) }) as Tool
}

test('an agent as a tool is external; with the effect calls it starts early, and what its tools do waits like its own inner calls (Q4, Q1, M1)', async () => {
  expect(planner(undefined, workers).effect).toBeUndefined()
  const made: Readonly<Record<string, readonly string[]>> = {
    external: ['100 look 1', '110 put 1', '120 send 1'],
    calls: ['0 look 1', '100 put 1', '110 send 1'],
    read: ['0 look 1', '10 put 1', '20 send 1'],
  }
  const tools = workers.filter(({ name }) => name !== 'move')
  for (const [effect, expected] of Object.entries(made)) {
    restart()
    const plan = planner(effect === 'external' ? undefined : (effect as Effect), tools)
    const { results } = await played(eager([plan], { ceiling: 'read' }))
    expect(log).toEqual(expected)
    expect(results).toEqual(['Planned.'])
  }
})

/** The options of an agent, and whether its own calls start early, too. */
interface Inside {
  readonly tools: readonly Tool[]
  readonly isEager?: boolean
}

const relay = worker('relay', 'read', { execute: (_, { run }) => callOf(run, 'send') })

const sendAgentOf = (send: Tool): Tool => ({ ...planner('calls', [send]), name: 'inner' })

const inAgent: Readonly<Record<string, () => Inside>> = {
  'by its tool': () => ({ tools: [worker('send')] }),
  'by an early call of its tool': () => ({ tools: [worker('send')], isEager: true }),
  'by a call of its tool': () => ({ tools: [relay, worker('send')] }),
  'by a call of a tool that starts early in it': () => ({ tools: [relay, worker('send')], isEager: true }),
  'in the background': () => ({ tools: [worker('send', 'external', { background: true })] }),
  'by its own agent': () => ({ tools: [sendAgentOf(worker('send'))] }),
  'by its own agent that starts early in it': () => ({ tools: [sendAgentOf(worker('send'))], isEager: true }),
}

test.each(Object.keys(inAgent))(
  'what an agent does %s waits for the commit of the call that runs it, and never happens if that is discarded (Q1, Q4)',
  async (where) => {
    const make = () => {
      const { tools, isEager } = inAgent[where]?.() ?? { tools: [] }
      const asks = respond(call(tools[0]?.name ?? '', { n: 1 }), wait(5), say('So.'))
      const model = scriptedModel([asks, respond(say('Planned.')), respond(say('Planned.'))])
      const middleware = isEager ? [startingEarly({ ceiling: 'read' })] : []
      const agent = createAgent({ name: 'plan', description: 'p', model, tools, middleware })
      return agentTool(agent, { input, effect: 'calls' }) as Tool
    }
    await played(eager([make()], { ceiling: 'read' }))
    expect(log).toEqual(['100 send 1'])
    restart()
    await played(eager([make()], { ceiling: 'read' }, [withdrawing()]))
    expect(log).toEqual([])
  },
)

test('a call in an agent that waits for the commit of the call that runs it ends at once when that is cancelled (Q1, I4)', async () => {
  const run = eager([planner('calls', [worker('send')])], { ceiling: 'read' }).stream('Go')
  setTimeout(() => run.cancelTool('c1'), 50)
  setTimeout(() => note(String(run.toolStatus('c1')?.state)), 51)
  const reading = collect(run)
  await vi.runAllTimersAsync()
  expect((await reading).result?.status).toBe('completed')
  expect(log).toEqual(['51 cancelled'])
})

/** Asks once, when the first model call has succeeded. */
const asking: Middleware = {
  name: 'asking',
  afterModel(_, run) {
    if (run.step === 1 && run.answers.length === 0) throw interrupt('May I?')
  },
}

/** Plays a run that pauses before its early call is committed, and its resume after the answer. */
async function paused(plan: Tool): Promise<void> {
  const agent = eager([plan], { ceiling: 'read' }, [asking])
  const { result } = await played(agent)
  note('paused')
  const [question] = result?.interrupts ?? []
  if (!result?.checkpoint || !question) throw new Error('nobody asks')
  const resumed = agent.resume(result.checkpoint, { [question.id]: 'Yes' }).result
  await vi.runAllTimersAsync()
  expect((await resumed).status).toBe('completed')
}

test('a call in an agent that waits for the commit of the call that runs it is made as its first attempt after a pause (Q1, P7)', async () => {
  const send = worker('send', 'external', { execute: (_, { attempt }) => note(`attempt ${attempt}`) })
  for (const plan of [planner('calls', [send]), planner('calls', [sendAgentOf(send)])]) {
    restart()
    await paused(plan)
    expect(log.map((line) => line.replace(/^\d+ /, ''))).toEqual(['paused', 'attempt 1'])
  }
})

test('background work of an agent whose caller is not committed before a pause begins after the resume, once (Q1, P7, I15)', async () => {
  for (const atEnd of ['wait', 'detach'] as const) {
    restart()
    const plan = planner('calls', [worker('send', 'external', { background: { atEnd } })])
    await paused(plan)
    expect(log.map((line) => line.replace(/^\d+ /, ''))).toEqual(['paused', 'send 1'])
  }
})

test('an agent that starts early asks no question about a call before its own call is committed (Q1, P7)', async () => {
  const asking: Middleware = {
    name: 'asking',
    async *wrapToolCall(one, next, run) {
      await run.stood(one.id)
      note('asked')
      return yield* next(one)
    },
  }
  await played(eager([planner('calls', [worker('look', 'read')], [asking])], { ceiling: 'read' }))
  expect(log).toEqual(['100 asked', '100 look 1'])
  restart()
  await played(eager([planner('calls', [worker('look', 'read')], [asking])], { ceiling: 'read' }, [withdrawing()]))
  expect(log).toEqual([])
})

/** The model requests a plan, and after a retry a write before the same plan. */
const rewritten = () =>
  scriptedModel([
    respond(call('plan', { n: 1 }, { id: 'a' }), wait(50), fail()),
    respond(call('write', { n: 1 }, { id: 'w' }), call('plan', { n: 1 }, { id: 'b' }), wait(50)),
    respond(say('Done.')),
  ])

test('the ceiling of an agent decides whether it may be made again (Q2, H26)', async () => {
  const played1 = async (options: CallOptions) => {
    restart()
    const said = ({ messages }: ModelRequest) =>
      messages.length === 1 ? respond(call('send', { n: 1 })) : respond(say('Planned.'))
    const model = scriptedModel([said, said, said])
    const agent = createAgent({ name: 'plan', description: 'p', model, tools: [worker('send')] })
    const plan = agentTool(agent, { input, effect: 'calls' }) as Tool
    const tools = [plan, worker('write', 'external')]
    const middleware = [askAgain, startingEarly(options)]
    await played(createAgent({ model: rewritten(), tools, middleware, toolConcurrency: 1 }))
    return log.map((line) => line.replace(/^\d+ /, ''))
  }
  expect(await played1({ ceiling: 'read' })).toEqual(['write 1', 'send 1'])
  expect(await played1({})).toEqual(['send 1', 'write 1'])
})

test('until a call that a retry has joined is accepted, the events of an agent in it have the id with which the call started (B8, M4)', async () => {
  const model = scriptedModel([respond(wait(30), call('look', { n: 1 }, { id: 'i1' })), respond(say('Helped.'))])
  const helper = createAgent({ name: 'helper', description: 'h', model, tools: workers })
  const asked = call('helper', { request: 'Go' }, { id: 'a' })
  const again = call('helper', { request: 'Go' }, { id: 'b' })
  const { events } = await played(
    createAgent({
      model: scriptedModel([
        respond(asked, wait(10), fail()),
        respond(again, wait(25), say('So.')),
        respond(say('Done.')),
      ]),
      tools: [agentTool(helper, { effect: 'calls' }) as Tool],
      middleware: [askAgain, startingEarly()],
    }),
  )
  const told = events.flatMap((event) => {
    const [caller] = event.path ?? []
    if (caller) return event.type.startsWith('tool-input') ? [] : [`${caller.callId} ${event.type}`]
    return event.type === 'tool-committed' ? [`${event.startedAs} is ${event.callId}`] : []
  })
  expect(told).toEqual([
    'a run-start',
    'a step-start',
    'a attempt-start',
    'a tool-call',
    'a message',
    'a tool-start',
    'a tool-entered',
    'a is b',
    'b tool-end',
    'b message',
    'b step-end',
    'b step-start',
    'b attempt-start',
    'b text-delta',
    'b message',
    'b step-end',
    'b run-end',
  ])
})
