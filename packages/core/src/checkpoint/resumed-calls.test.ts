import { call, collect, respond, say } from '@meanwhile/assemble/testing'
import { expect, test, vi } from 'vitest'
import { sleep } from '../../test/clock.ts'
import { played } from '../../test/played-runs.ts'
import { textsOf } from '../../test/results.ts'
import { anything, travelAgent } from '../../test/travel-agent.ts'
import { type AgentRun, type Checkpoint, ConfigError, type Effect, type Run, tool } from '../index.ts'

const { did, keys, worker, all, agentOf, killed } = travelAgent()

test('a read that was cut off is made again with its key, and reports that; a settled call is not repeated (L20, B6, I6)', async () => {
  keys.clear()
  const responses = [
    respond(call('read', { ms: 100 }), call('send', { n: 1 }), call('put', { ms: 20 })),
    respond(say('Done')),
  ]
  const { checkpoints, id, stored } = await killed(responses, 50)
  expect(stored.status).toBe('running')
  const { agent, model } = agentOf([respond(say('Done'))], { checkpoints })
  const run = agent.resume(id)
  const { result, events } = await played(run)
  expect([run.toolStatus('call_1_2'), run.cancelTool('call_1_2')]).toMatchObject([{ state: 'ok' }, false])
  expect(did).toEqual(['read 2'])
  expect(new Set(keys.get('read')).size).toBe(1)
  expect(events.filter(({ type }) => type === 'tool-start')).toMatchObject([{ callId: 'call_1_1', rerun: true }])
  expect(textsOf(result)).toEqual(['Go', 'read done', 'send done', 'put done', 'Done'])
  expect(result.unknown).toBeUndefined()
  expect(model.requests).toHaveLength(1)
})

test.each<[Effect, readonly Effect[] | undefined]>([
  ['idempotent', undefined],
  ['reversible', undefined],
  ['external', undefined],
  ['read', []],
  ['external', ['read', 'idempotent']],
])('a %s call that was cut off may have happened: with rerun %j it is not made again (L21)', async (effect, rerun) => {
  const name = all.slice(1).find((one) => one.effect === effect)?.name ?? ''
  const { checkpoints, id } = await killed([respond(call(name, { ms: 100 }), call('read', { ms: 20 }))], 50)
  const { agent } = agentOf([respond(say('Done'))], { checkpoints })
  const { result, events } = await played(agent.resume(id, {}, rerun && { rerun }))
  expect(did).toEqual([])
  expect(result.unknown).toEqual(['call_1_1'])
  expect(result.messages[2]).toMatchObject({ role: 'tool', callId: 'call_1_1', isError: true })
  expect(textsOf(result)[1]).toBe(
    'This call had started when the run was cut off. Its result is unknown: it may have happened. It was not run again.',
  )
  expect(events.filter(({ type }) => type === 'tool-end')).toMatchObject([{ callId: 'call_1_1' }])
})

test('rerun extends what is made again (L20)', async () => {
  const { checkpoints, id } = await killed([respond(call('put', { ms: 100 }), call('send', { ms: 20 }))], 50)
  const { agent } = agentOf([respond(say('Done'))], { checkpoints })
  const { result, events } = await played(agent.resume(id, {}, { rerun: ['read', 'idempotent'] }))
  expect(did).toEqual(['put 2'])
  expect(result.unknown).toBeUndefined()
  expect(events.filter(({ type }) => type === 'tool-start')).toMatchObject([{ rerun: true }])
  const wrong = Reflect.apply(agent.resume, agent, [id, {}, { rerun: ['all'] }]) as AgentRun
  await expect(wrong.result).rejects.toBeInstanceOf(ConfigError)
})

test('a call that had not started when the process ended is made, with the key it would have had (L20, H25)', async () => {
  keys.clear()
  const response = respond(call('send', { ms: 100 }), call('send', { ms: 100 }), call('put'))
  const { checkpoints, id } = await killed([response], 50, { toolConcurrency: 1 })
  const { agent } = agentOf([respond(say('Done'))], { checkpoints, toolConcurrency: 1 })
  const { result } = await played(agent.resume(id))
  expect(did).toEqual(['send 1', 'put 1'])
  expect(result.unknown).toEqual(['call_1_1'])
  expect(new Set(keys.get('send')).size).toBe(2)
})

test('an inner call follows the same rule: cut off, the read starts again and its write stays unknown (L20, L21)', async () => {
  const plan = tool({
    ...worker('plan', 'read'),
    async execute(_, { run, attempt }) {
      did.push(`plan ${attempt}`)
      const { isError } = await (run as Run).callTool({
        type: 'tool-call',
        id: 'inner',
        name: 'send',
        input: { ms: 100 },
      })
      return isError ? 'unknown' : 'sent'
    },
  })
  const { checkpoints, id } = await killed([respond(call('plan'))], 50, { tools: [plan, ...all] })
  const { agent } = agentOf([respond(say('Done'))], { checkpoints, tools: [plan, ...all] })
  const { result } = await played(agent.resume(id))
  expect(did).toEqual(['plan 2'])
  expect(result.unknown).toEqual(['inner'])
  expect(textsOf(result)).toEqual(['Go', 'unknown', 'Done'])
})

test('a call during a cancel after the model makes its inner calls, and is not repeated (K5, L7, H26)', async () => {
  const plan = tool({
    ...worker('plan', 'external'),
    async execute(_, { run }) {
      did.push('plan')
      await sleep(100)
      const { output } = await (run as Run).callTool({ type: 'tool-call', id: 'inner', name: 'send', input: {} })
      return output
    },
  })
  const tools = [plan, ...all]
  const { agent } = agentOf([respond(call('plan'), call('read', { ms: 300 }))], { tools })
  const run = agent.stream('Go')
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(50)
  void run.cancel({ at: 'after-model' })
  await vi.runAllTimersAsync()
  const { result } = await reading
  expect(result?.status).toBe('cancelled')
  const next = agentOf([respond(say('Done'))], { tools })
  const done = await played(next.agent.resume(result?.checkpoint as Checkpoint))
  expect(did).toEqual(['plan', 'read 1', 'send 1'])
  expect(textsOf(done.result)).toEqual(['Go', 'send done', 'read done', 'Done'])
})

test('a call that is still running although an inner call asks is cut off like any other, and not made again (L21, H26)', async () => {
  const plan = tool({
    name: 'plan',
    description: 'Plans, with or without a booking',
    input: anything,
    async execute(_, { run }) {
      did.push('plan')
      await run?.callTool({ type: 'tool-call', id: 'side', name: 'book', input: {} }).catch(() => undefined)
      await sleep(500)
    },
  })
  const tools = [plan, ...all]
  const run = agentOf([respond(call('plan'))], { tools }).agent.stream('Go')
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(50)
  void run.cancel()
  await vi.runAllTimersAsync()
  const { result } = await reading
  expect(result).toMatchObject({ status: 'cancelled' })
  const next = agentOf([respond(say('Done'))], { tools })
  const done = await played(next.agent.resume(result?.checkpoint as Checkpoint))
  expect(did).toEqual(['plan', 'book 1 []'])
  expect(done.result.unknown).toEqual(['call_1_1'])
})
