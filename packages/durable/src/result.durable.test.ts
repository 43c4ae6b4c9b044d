import { respond, say, wait } from '@meanwhile/assemble/testing'
import { expect, test, vi } from 'vitest'
import { recordedRuns } from '../test/recorded-runs.ts'
import type { Engine } from './index.ts'

const { here, runsOf, work, agentOf } = recordedRuns()

test('the result is stored once, in the checkpoint: the engine does not receive it (DU17)', async () => {
  const outcomes: unknown[] = []
  const telling: Engine = {
    ...here.engine,
    work: (advance, options) =>
      here.engine.work(async (id, call) => {
        const outcome: unknown = await advance(id, call)
        outcomes.push(outcome)
      }, options),
  }
  const runs = runsOf(agentOf([respond(say('A result that is told apart.'))]), { engine: telling, events: false })
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  await runs.result('run')
  await vi.waitFor(() => expect(outcomes).toEqual([undefined]), { timeout: 60_000 })
  const { rows } = await here.pool.query(`SELECT * FROM ${here.schema}.runs`)
  expect(JSON.stringify(rows)).not.toContain('told apart')
})

test('result and events throw the reason of their signal', async () => {
  const runs = runsOf(agentOf([respond(wait(0), say('x'))]))
  await runs.start('clerk', 'Go', { id: 'run' })
  const end = new AbortController()
  const result = runs.result('run', { signal: end.signal })
  const reading = (async () => {
    for await (const _ of runs.events('run', { signal: end.signal }));
  })()
  setTimeout(() => end.abort(new Error('enough')), 50)
  await expect(result).rejects.toThrow('enough')
  await expect(reading).rejects.toThrow('enough')
})

test('reading a result is not another run: no context is made, and a process that cannot make it can read (W32)', async () => {
  const made: string[] = []
  const agent = agentOf([respond(say('Done.'))])
  const runs = runsOf(agent, { context: ({ id }) => void made.push(id) })
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  const first = await runs.result('run')
  const reading = runsOf(agent, {
    context: () => {
      throw new Error('only workers have it')
    },
  })
  for (let read = 0; read < 3; read++) expect(await reading.result('run')).toEqual(first)
  expect(first).toMatchObject({ status: 'completed', text: 'Done.', steps: 1 })
  expect(made).toEqual(['run'])
})

test('a notification about an earlier run with the id, which was deleted, does not end the wait for the result (W61)', async () => {
  const runs = runsOf(agentOf([respond(say('Done.'))]))
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  expect(await runs.result('run')).toMatchObject({ text: 'Done.' })
  await runs.delete('run')
  const engine: Engine = { ...here.engine, wake: async () => undefined }
  const sleeping = runsOf(agentOf([]), { engine })
  await sleeping.start('clerk', 'Go', { id: 'run' })
  const settled: unknown[] = []
  const result = sleeping.result('run')
  void result.then((one) => settled.push(one.text))
  const told = () => here.pool.query('SELECT pg_notify($1, $2)', ['meanwhile', `${here.schema}.completed run`])
  await told()
  await new Promise((resolve) => setTimeout(resolve, 200))
  await told()
  expect(settled).toEqual([])
  await runs.start('clerk', 'Go', { id: 'run' })
  expect(await result).toMatchObject({ text: 'Done.' })
})
