import { call, collect, respond, say } from '@meanwhile/assemble/testing'
import { expect, test, vi } from 'vitest'
import { played, settled } from '../../test/played-runs.ts'
import { answersTo, textsOf } from '../../test/results.ts'
import { travelAgent } from '../../test/travel-agent.ts'
import { type Checkpoint, tool } from '../index.ts'

const { did, worker, book, agentOf, interrupted } = travelAgent()

test('a checkpoint equals its JSON, and names format, agent and run (L13)', async () => {
  const { result } = await interrupted()
  const { checkpoint } = result
  expect(JSON.parse(JSON.stringify(checkpoint))).toEqual(checkpoint)
  expect(JSON.parse(JSON.stringify(checkpoint))).toStrictEqual(checkpoint)
  expect(checkpoint).toMatchObject({ format: 1, agent: 'travel', runId: expect.any(String), status: 'interrupted' })
  expect(Object.isFrozen(checkpoint?.messages[0])).toBe(true)
})

test('messages with undefined members, dates and such are saved as JSON has them (L13)', async () => {
  const odd = { p: { gone: undefined, at: new Date(0), list: [undefined] } }
  const { agent } = agentOf([respond(call('book'))])
  const part = { type: 'text' as const, text: 'Go', providerMetadata: odd }
  const { checkpoint } = await played(agent.stream([{ role: 'user', content: [part] }]))
  expect(JSON.parse(JSON.stringify(checkpoint))).toStrictEqual(checkpoint)
  const next = agentOf([respond(say('Done'))])
  const id = checkpoint?.interrupts[0]?.id ?? ''
  const { result } = await played(next.agent.resume(JSON.parse(JSON.stringify(checkpoint)), { [id]: 1 }))
  expect(result.text).toBe('Done')
})

test('a value that is not JSON makes the checkpoint fail with a typed error, and does not end the process (L13, L16)', async () => {
  const big = tool({
    ...worker('big', 'read'),
    toContent: () => [{ type: 'text', text: 'x', providerMetadata: { p: { n: 1n } } }],
  })
  const { agent } = agentOf([respond(call('big'), call('book'))], { tools: [big, book] })
  expect((await settled(agent.stream('Go'))).error).toMatchObject({ name: 'CheckpointStoreError' })
})

test('a checkpoint of the caller is neither changed nor frozen (L13)', async () => {
  const { result, checkpoint } = await interrupted()
  const before = structuredClone(checkpoint)
  await played(agentOf([respond(say('Done'))]).agent.resume(checkpoint, answersTo(result)))
  expect(checkpoint).toEqual(before)
  expect(Object.isFrozen(checkpoint.messages)).toBe(false)
})

test('a checkpoint with its members in another order, as a database may return them, is the same (L13, L18)', async () => {
  const { result, checkpoint } = await interrupted()
  const turned = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(turned)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value)
        .toReversed()
        .map(([key, member]) => [key, turned(member)]),
    )
  }
  const { agent } = agentOf([respond(say('Done'))])
  const none = await played(agent.resume(turned(checkpoint) as Checkpoint))
  expect(none.result.interrupts).toEqual(result.interrupts)
  expect(did).toEqual(['book 1 []'])
  const done = await played(agent.resume(turned(checkpoint) as Checkpoint, answersTo(result)))
  expect(textsOf(done.result)).toEqual(['Go', 'booked: yes', 'Done'])
})

test('a run lists calls that it abandoned before it was interrupted also after its resume (K12, L13)', async () => {
  const deaf = worker('deaf', 'read', { timeout: 50 })
  const { agent } = agentOf([respond(call('deaf', { ms: 10_000 })), respond(call('book')), respond(say('Done'))], {
    tools: [deaf, book],
    grace: 10,
  })
  const first = await played(agent.stream('Go'))
  expect(first.result).toMatchObject({ status: 'interrupted', abandoned: ['call_1_1'] })
  const stored = JSON.parse(JSON.stringify(first.checkpoint)) as Checkpoint
  const last = await played(agent.resume(stored, answersTo(first.result)))
  expect(last.result).toMatchObject({ status: 'completed', abandoned: ['call_1_1'] })
})

test('custom events are not part of a checkpoint (D6)', async () => {
  const { checkpoint } = await interrupted({
    middleware: [{ name: 'm', beforeModel: (_, run) => run.emit({ name: 'secret-event', data: 'secret-data' }) }],
  })
  expect(JSON.stringify(checkpoint)).not.toContain('secret')
})

test('sent messages that no step has read wait in the checkpoint (L11, K19)', async () => {
  const { agent } = agentOf([respond(call('book'), call('read', { ms: 50 })), respond(say('Done'))])
  const run = agent.stream('Go')
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(10)
  expect(run.send('And hurry')).toBe(true)
  await vi.runAllTimersAsync()
  const { result } = await reading
  expect(result?.checkpoint?.sent).toEqual([{ role: 'user', content: 'And hurry' }])
  const second = await played(agent.resume(result?.checkpoint as Checkpoint, result && answersTo(result)))
  expect(textsOf(second.result)).toEqual(['Go', 'booked: yes', 'read done', 'And hurry', 'Done'])
})
