import { collect, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import { AgentError, createAgent, type Middleware } from '../index.ts'

const agentOf = (...middleware: readonly Middleware[]) =>
  createAgent({ model: scriptedModel([respond(say('Hello.'))]), middleware })

test('onRun is called before every beforeAgent, and what it returns after the run (W12)', async () => {
  const log: string[] = []
  const noting = (name: string): Middleware => ({
    name,
    onRun(run) {
      log.push(`${name} begins at step ${run.step}`)
      return () => void log.push(`${name} ends at step ${run.step}`)
    },
    beforeAgent: () => void log.push(`${name} is set up`),
  })
  await agentOf(noting('a'), noting('b')).run('Go')
  expect(log).toEqual([
    'a begins at step 0',
    'b begins at step 0',
    'a is set up',
    'b is set up',
    'a ends at step 1',
    'b ends at step 1',
  ])
})

test('fail ends the run with its error during the set-up, and does nothing after the run (W12)', async () => {
  const error = new AgentError('too late')
  let ends = 0
  const failing: Middleware = {
    name: 'failing',
    onRun(_, fail) {
      queueMicrotask(() => fail(error))
      return () => {
        ends++
        fail(new AgentError('after the end'))
      }
    },
    beforeAgent: (_, { signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  }
  expect((await collect(agentOf(failing).stream('Go'))).error).toBe(error)
  expect(ends).toBe(1)
})

test('an onRun that throws ends the run with a MiddlewareError that names it (W12, P16)', async () => {
  const onRun = () => {
    throw new TypeError('no clock')
  }
  await expect(agentOf({ name: 'faulty', onRun }).run('Go')).rejects.toMatchObject({
    name: 'MiddlewareError',
    message: expect.stringMatching(/faulty, onRun: .*no clock/) as string,
  })
})

test('each end of onRun is called, although another onRun or end throws, and changes no result (W12, A25)', async () => {
  const log: string[] = []
  const noting = (name: string, onRun: NonNullable<Middleware['onRun']>): Middleware => ({ name, onRun })
  const ends = (name: string) => () => void log.push(name)
  const throwing = () => () => {
    throw new Error('no end')
  }
  const result = await agentOf(
    noting('a', throwing),
    noting('b', () => ends('b')),
  ).run('Go')
  expect(result.status).toBe('completed')
  const refusing = noting('d', () => {
    throw new Error('no begin')
  })
  const late = noting('e', (async () => ends('e')) as never)
  await expect(
    agentOf(
      noting('c', () => ends('c')),
      refusing,
    ).run('Go'),
  ).rejects.toMatchObject({ middleware: 'd' })
  await expect(
    agentOf(
      noting('c', () => ends('c')),
      late,
    ).run('Go'),
  ).rejects.toMatchObject({ middleware: 'e' })
  expect(log).toEqual(['b', 'c', 'c'])
})
