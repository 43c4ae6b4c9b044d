import { call, respond, say } from '@meanwhile/assemble/testing'
import { textOf } from '@meanwhile/core'
import { expect, test, vi } from 'vitest'
import { recordedRuns } from '../test/recorded-runs.ts'

const { here, runsOf, work, gate, agentOf } = recordedRuns()

test('a message from another process comes before the next model call, once, in the order of the sends', async () => {
  const held = gate('hold')
  const script = [respond(call('hold')), respond(say('Done.'))]
  const starter = runsOf(agentOf(script, { tools: [held.tool] }))
  await starter.start('clerk', 'Go', { id: 'run' })
  await starter.send('run', 'While it waits')
  await work(runsOf(agentOf(script, { tools: [held.tool] })))
  await held.entered
  expect(await starter.send('run', 'First')).toBe(true)
  expect(await starter.send('run', { role: 'user', content: 'Second' })).toBe(true)
  // A sent message is part of the run when the run has stored it.
  await vi.waitFor(
    async () => {
      const { rows } = await here.pool.query(`SELECT checkpoint FROM ${here.schema}.checkpoints`)
      expect(JSON.parse(rows[0].checkpoint).sent).toHaveLength(2)
    },
    { timeout: 60_000 },
  )
  held.open()
  const { messages } = await starter.result('run')
  const said = messages.filter(({ role }) => role === 'user').map(textOf)
  expect(said).toEqual(['Go', 'While it waits', 'First', 'Second'])
  expect(await starter.send('run', 'Too late')).toBe(false)
  expect((await starter.get('run'))?.unread).toEqual([])
})

test('a message that arrives just as the run ends is kept as unread', async () => {
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  let offered = () => {}
  const offer = new Promise<void>((resolve) => {
    offered = resolve
  })
  const runs = runsOf(
    agentOf([respond(say('Done.'))], {
      middleware: [
        {
          name: 'slow-end',
          async *wrapAgent(setup, next) {
            const result = yield* next(setup)
            offered()
            await held
            return result
          },
        },
      ],
    }),
  )
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  await offer
  expect(await runs.send('run', 'And this?')).toBe(true)
  release()
  await runs.result('run')
  expect((await runs.get('run'))?.unread).toEqual([{ role: 'user', content: 'And this?' }])
})
