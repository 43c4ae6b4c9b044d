import { call, respond, say } from '@meanwhile/assemble/testing'
import { createAgent, interrupt, type Message, textOf, tool } from '@meanwhile/core'
import { postgresStore } from '@meanwhile/stores/postgres'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { recordedRuns, TWO_STEPS } from '../test/recorded-runs.ts'
import { scripted, status } from '../test/runs.ts'
import { type Engine, RunIdError, RunIdTakenError, UnknownAgentError } from './index.ts'

const { here, runsOf, work, executed, agentOf } = recordedRuns()

test('a run that one process starts is advanced by another, and any process gets its result', async () => {
  const starter = runsOf(agentOf(TWO_STEPS))
  await work(runsOf(agentOf(TWO_STEPS)))
  expect(await starter.start('clerk', 'Go', { id: 'run' })).toEqual({ id: 'run' })
  const result = await starter.result('run')
  expect([result.status, result.text, executed]).toEqual(['completed', 'Done.', ['look', 'post']])
  expect(await starter.get('run')).toEqual({
    id: 'run',
    agent: 'clerk',
    status: 'completed',
    attempts: 1,
    interrupts: [],
    unread: [],
    startedAt: expect.any(Date),
    endedAt: expect.any(Date),
  })
})

test('starting a run twice keeps the first input and wakes the one run (DU1, DU4)', async () => {
  const runs = runsOf(agentOf(TWO_STEPS))
  await Promise.all(['First', 'Second', 'Third'].map((input) => runs.start('clerk', input, { id: 'run' })))
  await work(runs)
  const first = await runs.result('run')
  await runs.start('clerk', 'Fourth', { id: 'run' })
  const again = await runs.result('run')
  expect(again.messages).toEqual(first.messages)
  expect(first.messages.filter(({ role }) => role === 'user')).toHaveLength(1)
  expect(executed).toEqual(['look', 'post'])
})

test('when a process dies before the engine is notified of its start, another start completes it (DU1)', async () => {
  const deaf: Engine = { ...here.engine, wake: () => Promise.reject(new Error('died')) }
  await expect(runsOf(agentOf(TWO_STEPS), { engine: deaf }).start('clerk', 'Go', { id: 'run' })).rejects.toThrow('died')
  // This start did not even store its row.
  await agentOf(TWO_STEPS).begin('Go', { id: 'rowless', checkpoints: postgresStore(here) })
  const runs = runsOf(agentOf(TWO_STEPS))
  await work(runs)
  for (const id of ['run', 'rowless']) {
    await runs.start('clerk', 'Anew', { id })
    expect(textOf((await runs.result(id)).messages[0] as Message)).toBe('Go')
  }
})

test('a start that is not needed any more when the run is stored notifies no worker, and deletes the run if no worker has taken it (DU1)', async () => {
  const runs = runsOf(agentOf(TWO_STEPS))
  await work(runs)
  const stored: unknown[] = []
  const isNeeded = async () => {
    stored.push((await runs.get('run'))?.status)
    return stored.length === 2
  }
  await runs.start('clerk', 'Go', { id: 'run', isNeeded })
  expect(await runs.get('run')).toBeUndefined()
  await runs.start('clerk', 'Anew', { id: 'run', isNeeded })
  const result = await runs.result('run')
  await runs.start('clerk', 'Again', { id: 'run', isNeeded })
  expect(stored).toEqual(['running', 'running', 'completed'])
  expect(await runs.result('run')).toEqual(result)
  expect([textOf(result.messages[0] as Message), executed]).toEqual(['Anew', ['look', 'post']])
  const wrong = { id: 'other', isNeeded: true } as object
  await expect(runs.start('clerk', 'Go', wrong)).rejects.toMatchObject({ name: 'ConfigError', option: 'isNeeded' })
})

test('an id that is not valid, or is already used, is refused (DU16)', async () => {
  const store = postgresStore(here)
  const other = createAgent({ name: 'other', model: scripted() })
  const runs = runsOf(other, { agents: [agentOf(TWO_STEPS), other] })
  for (const id of ['', 'x'.repeat(256), 'a\0b', '\ud800']) {
    await expect(runs.start('clerk', 'Go', { id })).rejects.toThrow(RunIdError)
  }
  for (const id of ['x'.repeat(255), 'ä/\u{1f9ea}"\\', ' ']) {
    await runs.start('clerk', 'Go', { id })
    expect((await runs.get(id))?.id).toBe(id)
  }
  await runs.start('clerk', 'Go', { id: 'run' })
  await expect(runs.start('other', 'Go', { id: 'run' })).rejects.toThrow(RunIdTakenError)
  await agentOf(TWO_STEPS).run('Go', { id: 'elsewhere', checkpoints: store })
  await expect(runs.start('clerk', 'Go', { id: 'elsewhere' })).rejects.toThrow(RunIdTakenError)
  await expect(runs.start('nobody', 'Go')).rejects.toThrow(UnknownAgentError)
})

test('text that PostgreSQL cannot store as it is, is stored: NUL and unpaired surrogates (DU16)', async () => {
  const odd = 'a\0b \ud800 \u{1f9ea}'
  const runs = runsOf(
    agentOf([respond(call('ask')), respond(say(odd))], {
      tools: [
        tool({
          name: 'ask',
          description: 'Asks.',
          input: z.object({}),
          execute: (_, { answers: [said] }) => (typeof said === 'string' ? said : interrupt(odd)),
        }),
      ],
    }),
  )
  await work(runs)
  await runs.start('clerk', odd, { id: 'run', data: odd })
  await status(runs, 'run', 'interrupted')
  const [question] = (await runs.get('run'))?.interrupts ?? []
  expect(question?.payload).toBe(odd)
  await runs.send('run', odd)
  await runs.answer('run', { [question?.id ?? '']: odd })
  const { messages } = await runs.result('run')
  expect(messages.map(textOf)).toEqual([odd, '', odd, odd, odd])
})
