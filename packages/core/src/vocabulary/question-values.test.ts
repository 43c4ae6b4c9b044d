import { call, respond, say } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import { askingAgent } from '../../test/asking-agent.ts'
import { played } from '../../test/played-runs.ts'
import { answersTo, checkpointOf, idsOf, textsOf } from '../../test/results.ts'
import { type AgentRun, ConfigError, interrupt, type Json, tool } from '../index.ts'

const { did, book, agentOf } = askingAgent()

const nested = (depth: number): Json => (depth === 0 ? 0 : [nested(depth - 1)])

test.each<[string, () => unknown]>([
  ['undefined in a list', () => [undefined]],
  ['a function', () => () => 1],
  ['a symbol', () => Symbol('s')],
  ['a bigint', () => 1n],
  ['NaN', () => Number.NaN],
  ['a date', () => new Date(0)],
  ['a map', () => new Map()],
  ['a toJSON', () => ({ toJSON: () => 1 })],
  ['a list with a toJSON', () => Object.assign([], { toJSON: () => 1 })],
  ['513 levels', () => nested(513)],
  [
    'itself',
    () => {
      const self: unknown[] = []
      self.push(self)
      return self
    },
  ],
])('a payload or answer of %s throws where it is set (L10)', async (_, make) => {
  expect(() => interrupt(make())).toThrow(ConfigError)
  const { agent } = agentOf([respond(call('book'))])
  const { result } = await played(agent.stream('Go'))
  const answers = Object.fromEntries(idsOf(result).map((id) => [id, make()]))
  const run: AgentRun = Reflect.apply(agent.resume, agent, [result.checkpoint, answers])
  await expect(run.result).rejects.toThrow(TypeError)
  expect(did).toHaveLength(1)
})

test('512 levels are JSON, in a payload and in an answer; a key named __proto__ is a key (L10)', async () => {
  const echo = tool({ ...book, execute: (_, { answers }) => answers[0] ?? interrupt(nested(512)) })
  for (const answer of [nested(512), JSON.parse('{"__proto__":{"a":1}}') as Json]) {
    const { agent } = agentOf([respond(call('book')), respond(say('Done'))], { tools: [echo] })
    const { result } = await played(agent.stream('Go'))
    expect(result.interrupts?.[0]?.payload).toEqual(nested(512))
    const resumed = await played(agent.resume(checkpointOf(result), answersTo(result, answer)))
    expect(textsOf(resumed.result)[1]).toBe(JSON.stringify(answer))
  }
})

test('an invalid question ends the run, and does not become an error result for the model (L10)', async () => {
  const when = tool({ ...book, execute: () => interrupt({ when: new Date(0) }) })
  const { agent } = agentOf([respond(call('book'))], { tools: [when] })
  await expect(agent.run('Go')).rejects.toMatchObject({
    name: 'ConfigError',
    option: 'interrupt',
    message: 'interrupt: payload.when is not JSON: it has a toJSON',
  })
})

test('changes of the caller to an answer after the resume have no effect (L7)', async () => {
  const { agent } = agentOf([respond(call('book')), respond(say('Done'))])
  const { result } = await played(agent.stream('Go'))
  const answer = ['yes']
  const answers = answersTo(result, answer)
  const run = agent.resume(checkpointOf(result), answers)
  answer[0] = 'no'
  expect(textsOf((await played(run)).result)).toEqual(['Go', 'booked it: yes', 'Done'])
  expect(Object.isFrozen(answer)).toBe(false)
})
