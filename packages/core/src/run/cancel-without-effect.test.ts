import { fail, respond } from '@meanwhile/assemble/testing'
import { sleep } from '@meanwhile/tests/clock'
import { expect, test } from 'vitest'
import { answer, at, cancelledRuns, ended, named, start, toolOf } from '../../test/cancelled-runs.ts'
import { type CancelMode, type Checkpoint, memoryStore } from '../index.ts'

const { work } = cancelledRuns()

test('invalid options are refused, and stop nothing (K9)', async () => {
  const started = start([answer])
  const bad: readonly (readonly [option: string, options: unknown])[] = [
    ['at', { at: 'soon' }],
    ['escalateAfter', { escalateAfter: -1 }],
    ['escalateAfter', { escalateAfter: Number.NaN }],
    ['options', 'now'],
    ['options', null],
  ]
  for (const [option, options] of bad) {
    const refused = started.run.cancel(options as { at: 'now' })
    await expect(refused).rejects.toMatchObject({ name: 'ConfigError', option })
  }
  expect((await ended(started)).result?.status).toBe('completed')
})

test('any number of cancels lead to one stop, one checkpoint and one result (K10)', async () => {
  const saved: Checkpoint[] = []
  const store = memoryStore()
  const save = store.save.bind(store)
  store.save = async (id, checkpoint, expected) => {
    const whole = checkpoint as Checkpoint
    if (whole.status === 'cancelled') saved.push(whole)
    await save(id, checkpoint, expected)
  }
  const started = start([respond(...named('a')), answer], { tools: [work('a', 100)], checkpoints: store })
  await at(50)
  const given = Array.from({ length: 50 }, (_, index) =>
    started.run.cancel({ at: (['after-tools', 'after-model', 'now'] as const)[index % 3] as CancelMode }),
  )
  const { result } = await ended(started)
  expect(await Promise.all(given)).toEqual(Array(50).fill({ status: 'cancelled' }))
  expect(saved).toHaveLength(1)
  expect(saved[0]).toEqual(result?.checkpoint)
  expect(await store.load(started.run.id)).toEqual(result?.checkpoint)
})

test('after the end cancel returns ended and changes nothing, also for a failed run (K11)', async () => {
  const done = start([answer])
  const { result } = await ended(done)
  expect(await done.run.cancel()).toEqual({ status: 'ended' })
  expect(await done.run.result).toBe(result)
  const failed = start([respond(fail({ status: 400 }))])
  const { error } = await ended(failed)
  expect(await failed.run.cancel({ at: 'after-tools', escalateAfter: 10 })).toEqual({ status: 'ended' })
  await expect(failed.run.result).rejects.toBe(error)
})

test('a cancel during an abort changes nothing (K11)', async () => {
  const stubborn = toolOf('stubborn', 'read', () => sleep(700))
  const started = start([respond(...named('stubborn')), answer], { tools: [stubborn] })
  await at(50)
  started.controller.abort('enough')
  await at(100)
  const cancelled = [started.run.cancel(), started.run.cancel({ at: 'after-tools', escalateAfter: 10 })]
  const { error } = await ended(started)
  expect(error).toMatchObject({ name: 'AbortError', cause: 'enough' })
  expect(await Promise.all(cancelled)).toEqual([{ status: 'aborted' }, { status: 'aborted' }])
})
