import { contextOf } from '@meanwhile/core'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { QUESTION, recordedRuns, TWO_STEPS } from '../test/recorded-runs.ts'
import { status } from '../test/runs.ts'

const { runsOf, work, executed, agentOf } = recordedRuns()

test('the context of a run is made in the process that advances it, from the options of start', async () => {
  const tenant = contextOf(z.object({ tenant: z.string() }))
  const agent = agentOf(QUESTION, {
    middleware: [
      {
        name: 'tenants',
        context: tenant,
        beforeModel(_state, run) {
          executed.push(tenant(run).tenant)
        },
      },
    ],
  })
  const asked: unknown[] = []
  const context = (run: unknown) => {
    asked.push(run)
    return { tenant: Object(Object(run).data).tenant }
  }
  const runs = runsOf(agent, { context })
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run', conversationId: 'thread', data: { tenant: 'acme' } })
  await status(runs, 'run', 'interrupted')
  const id = (await runs.get('run'))?.interrupts[0]?.id ?? ''
  await runs.answer('run', { [id]: 'yes' })
  await runs.result('run')
  expect(executed).toEqual(['acme', 'ask yes', 'acme'])
  expect(new Set(asked.map((one) => JSON.stringify(one)))).toEqual(
    new Set([JSON.stringify({ id: 'run', agent: 'clerk', conversationId: 'thread', data: { tenant: 'acme' } })]),
  )
})

test('a context that cannot be made fails the run with a ContextError', async () => {
  let isDown = false
  const runs = runsOf(agentOf(TWO_STEPS), {
    context() {
      if (isDown) throw new Error('no such user')
    },
  })
  await runs.start('clerk', 'Go', { id: 'run' })
  isDown = true
  await work(runs)
  await expect(runs.result('run')).rejects.toMatchObject({
    error: { name: 'ContextError', message: expect.stringContaining('no such user') },
  })
})
