import { call, respond, say } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import { anything, askingAgent } from '../../test/asking-agent.ts'
import { played } from '../../test/played-runs.ts'
import { answersTo, checkpointOf, idsOf, textsOf } from '../../test/results.ts'
import { agentTool, type Middleware, map, type Run, tool } from '../index.ts'

const { did, book, agentOf } = askingAgent()

test('a question in the run of a tool belongs only to that run: a wrapAgent of the calling run only passes it on (L4, L9)', async () => {
  const passing: Middleware = { name: 'passing', wrapAgent: (setup, next) => map(next(setup), (event) => event) }
  const agents = agentOf([respond(call('book'), call('look')), respond(say('Booked'))], { description: 'Books trips' })
  const { agent } = agentOf([respond(call('travel', { request: 'Book' })), respond(say('Done'))], {
    name: 'desk',
    tools: [agentTool(agents.agent)],
    middleware: [passing],
  })
  const first = await played(agent.stream('Go'))
  const path = [{ agent: 'desk' }, { tool: 'travel', callId: 'call_1_1' }, { agent: 'travel' }]
  expect(first.result.interrupts).toMatchObject([{ address: [...path, { tool: 'book', callId: 'call_1_1' }] }])
  const { result } = await played(agent.resume(checkpointOf(first.result), answersTo(first.result)))
  expect(textsOf(result)).toEqual(['Go', 'Booked', 'Done'])
})

test('an inner call asks; its maker starts again from the beginning and finds the answer (L4, L7)', async () => {
  const plan = tool({
    name: 'plan',
    description: 'p',
    input: anything,
    async execute(_, { run, callId, attempt }) {
      did.push(`plan ${attempt}`)
      const [a, b] = await Promise.all(
        ['a', 'b'].map((what) =>
          (run as Run).callTool({ type: 'tool-call', id: `${callId}-${what}`, name: 'book', input: { what } }),
        ),
      )
      return [a?.output, b?.output]
    },
  })
  const { agent } = agentOf([respond(call('plan')), respond(say('Done'))], { tools: [plan, book] })
  const first = await played(agent.stream('Go'))
  const outer = [{ agent: 'travel' }, { tool: 'plan', callId: 'call_1_1' }]
  expect(first.result.interrupts).toMatchObject([
    { address: [...outer, { tool: 'book', callId: 'call_1_1-a' }], payload: { book: 'a' } },
    { address: [...outer, { tool: 'book', callId: 'call_1_1-b' }], payload: { book: 'b' } },
  ])
  const [a = '', b = ''] = idsOf(first.result)
  const second = await played(agent.resume(checkpointOf(first.result), { [a]: 'A' }))
  expect(idsOf(second.result)).toEqual([b])
  const third = await played(agent.resume(checkpointOf(second.result), { [b]: 'B' }))
  expect(did.toSorted()).toEqual([
    'book a 1 []',
    'book a 2 ["A"]',
    'book b 1 []',
    'book b 2 ["B"]',
    'plan 1',
    'plan 2',
    'plan 3',
  ])
  expect(textsOf(third.result)).toEqual(['Go', '["booked a: A","booked b: B"]', 'Done'])
})

test('a question of an inner call that its maker has caught is dropped (L1)', async () => {
  const calm = tool({
    name: 'calm',
    description: 'c',
    input: anything,
    async execute(_, { run, callId }) {
      const asked = run?.callTool({ type: 'tool-call', id: `${callId}-inner`, name: 'book', input: {} })
      return await asked?.catch(() => 'never mind')
    },
  })
  const { agent } = agentOf([respond(call('calm'), call('book', { what: 'b' })), respond(say('Done'))], {
    tools: [calm, book],
  })
  const first = await played(agent.stream('Go'))
  expect(first.result.interrupts).toMatchObject([{ payload: { book: 'b' } }])
  const { result } = await played(agent.resume(checkpointOf(first.result), answersTo(first.result)))
  expect(textsOf(result)).toEqual(['Go', 'never mind', 'booked b: yes', 'Done'])
})
