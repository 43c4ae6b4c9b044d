import { call, respond, say } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import { QUESTION, recordedRuns, TWO_STEPS } from '../test/recorded-runs.ts'
import { scripted, status } from '../test/runs.ts'
import { NothingToRetryError, type PostgresPool, RunCancelledError } from './index.ts'

const { here, runsOf, work, executed, post, gate, agentOf } = recordedRuns()

test.each(['now', 'after-tools', 'after-model'] as const)(
  'a running run is cancelled %s from another process, and retry continues it',
  async (at) => {
    const held = gate('hold')
    const script = [respond(call('hold')), respond(call('post')), respond(say('Done.'))]
    const starter = runsOf(agentOf(script, { tools: [held.tool, post] }))
    let reads = () => {}
    const isRead = new Promise<void>((resolve) => {
      reads = resolve
    })
    const pool: PostgresPool = {
      connect: () => here.pool.connect(),
      async query(text, values) {
        const result = await here.pool.query(text, values)
        if (text.includes('SELECT cancel') && result.rows[0]?.cancel) setImmediate(reads)
        return result
      },
    }
    await work(runsOf(agentOf(script, { tools: [held.tool, post] }), { pool }))
    await starter.start('clerk', 'Go', { id: 'run' })
    await held.entered
    await starter.cancel('run', { at })
    if (at !== 'now') {
      // The run has received the cancel, and waits for its tool.
      await isRead
      held.open()
    }
    await expect(starter.result('run')).rejects.toThrow(RunCancelledError)
    expect((await starter.get('run'))?.status).toBe('cancelled')
    held.open()
    await starter.retry('run')
    const result = await starter.result('run')
    expect([result.text, executed]).toEqual(['Done.', at === 'now' ? ['post'] : ['hold', 'post']])
    expect(result.unknown).toEqual(at === 'now' ? [expect.any(String)] : undefined)
  },
)

test('a run that waits for a worker or for an answer is cancelled without a call', async () => {
  const runs = runsOf(agentOf(QUESTION))
  await runs.start('clerk', 'Go', { id: 'queued' })
  await runs.cancel('queued')
  await work(runs)
  await expect(runs.result('queued')).rejects.toThrow(RunCancelledError)
  await runs.start('clerk', 'Go', { id: 'asking' })
  await status(runs, 'asking', 'interrupted')
  await runs.cancel('asking')
  expect((await runs.get('asking'))?.status).toBe('cancelled')
  await expect(runs.result('asking')).rejects.toThrow(RunCancelledError)
})

test('a failed run keeps its error and its checkpoint, and retry continues from there', async () => {
  let isBroken = true
  const script = [respond(call('post')), respond(call('look')), respond(say('Done.'))]
  const model = scripted(...script)
  const runs = runsOf(
    agentOf([], {
      model: {
        ...model,
        stream(request) {
          if (isBroken && request.messages.length > 3) throw new TypeError('the model is broken')
          return model.stream(request)
        },
      },
    }),
  )
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  await expect(runs.result('run')).rejects.toMatchObject({
    name: 'RunFailedError',
    id: 'run',
    error: { message: expect.stringContaining('the model is broken') },
  })
  expect((await runs.get('run'))?.status).toBe('failed')
  isBroken = false
  await runs.retry('run')
  expect((await runs.result('run')).text).toBe('Done.')
  expect(executed).toEqual(['post', 'look'])
  await expect(runs.retry('run')).rejects.toThrow(NothingToRetryError)
})

test('a run that every worker leaves unfinished fails as poisoned, and retry gives it another chance (DU9)', async () => {
  const agent = agentOf(TWO_STEPS)
  const runs = runsOf(agent, { maxAttempts: 3 })
  await runs.start('clerk', 'Go', { id: 'run' })
  // As if three processes had died.
  await here.pool.query(`UPDATE ${here.schema}.runs SET attempts = 3`)
  await work(runs)
  await expect(runs.result('run')).rejects.toMatchObject({ error: { name: 'RunPoisonedError' } })
  expect(executed).toEqual([])
  await runs.retry('run')
  expect((await runs.result('run')).text).toBe('Done.')
})
