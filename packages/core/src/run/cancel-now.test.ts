import { respond, say } from '@meanwhile/assemble/testing'
import { sleep } from '@meanwhile/tests/clock'
import { expect, test } from 'vitest'
import {
  answer,
  at,
  brief,
  briefly,
  cancelledRuns,
  ended,
  named,
  resumed,
  start,
  toolOf,
  undisturbed,
} from '../../test/cancelled-runs.ts'
import { CUT_OFF, NOT_STARTED, resultsIn } from '../../test/results.ts'

const { log, work } = cancelledRuns()

const MAY_HAVE_HAPPENED =
  'This call had started when the run was cancelled. Its result is unknown: it may have happened. It was not run again.'

test('cancel() stops in the middle of a stream, and the resumed step calls the model again (K4, K15, B20, J10, P8)', async () => {
  const responses = [respond(say('One two three', { deltas: 3 }))]
  const started = start(responses)
  await at(25)
  const cancelled = started.run.cancel()
  const { events, result } = await ended(started)
  expect(await cancelled).toEqual({ status: 'cancelled' })
  expect(brief(events)).toEqual([
    'run-start',
    'step-start 1',
    'attempt-start 1',
    'text-delta 1',
    'text-delta 1',
    'attempt-cancelled',
    'message',
    'run-end cancelled',
  ])
  expect(events.at(-1)).toEqual({ runId: started.run.id, type: 'run-end', result })
  expect(result).toEqual({
    status: 'cancelled',
    text: '',
    messages: [
      { role: 'user', content: 'Go' },
      { role: 'assistant', content: [{ type: 'text', text: 'One two t' }], finishReason: 'other', cutOff: true },
    ],
    steps: 1,
    usage: {},
    warnings: [],
    cancelled: { at: 'now' },
    checkpoint: expect.objectContaining({ status: 'cancelled', runId: started.run.id }),
  })
  const { events: later, result: final } = await resumed(started, result)
  expect(brief(later)).toEqual([
    'run-start resumed',
    'step-start 1 resumed',
    'attempt-start 2',
    'text-delta 2',
    'text-delta 2',
    'text-delta 2',
    'message',
    'step-end 1',
    'run-end completed',
  ])
  expect(final?.messages).toEqual(await undisturbed(responses))
  expect(started.model.requests).toEqual([0, 0])
})

test('the checkpoint of now is taken before anything is stopped; each call has a result in the messages and is open in it (K4, K14, K15, L20, L21)', async () => {
  const responses = [respond(...named('quick', 'look', 'send', 'late')), answer]
  const seen: boolean[] = []
  const look = toolOf('look', 'read', async ({ signal, attempt }) => {
    log.push(`look ${attempt}`)
    await sleep(100, signal).catch(() => seen.push(true))
    return attempt === 1 ? 'tidied up' : 'looked'
  })
  const tools = [work('quick', 10), look, work('send', 100), work('late', 10)]
  const options = { tools, toolConcurrency: 3 }
  // With three slots `quick` makes room for `late`, which the cancel holds back.
  const started = start(responses, options)
  await at(85)
  expect(log).toEqual(['quick 1 quick', 'look 1', 'send 1 send'])
  const cancelled = started.run.cancel()
  const { events, result } = await ended(started)
  expect(await cancelled).toEqual({ status: 'cancelled' })
  expect(seen).toEqual([true])
  expect(resultsIn(result?.messages)).toEqual([
    ['quick', CUT_OFF],
    ['look', 'tidied up'],
    ['send', CUT_OFF],
    ['late', NOT_STARTED],
  ])
  expect(result?.checkpoint?.messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
  expect(result?.checkpoint?.calls.map(({ id, effect, message }) => [id, effect, message])).toEqual([
    ['quick', 'external', undefined],
    ['look', 'read', undefined],
    ['send', 'external', undefined],
    ['late', undefined, undefined],
  ])
  expect(briefly(events)).not.toContainEqual(expect.stringMatching(/tool-end|step-end/))

  log.length = 0
  const { events: later, result: final } = await resumed(started, result)
  expect(log).toEqual(['look 2', 'late 1 late'])
  expect(final?.unknown).toEqual(['quick', 'send'])
  expect(resultsIn(final?.messages)).toEqual([
    ['quick', MAY_HAVE_HAPPENED],
    ['look', 'looked'],
    ['send', MAY_HAVE_HAPPENED],
    ['late', 'late done'],
  ])
  expect(briefly(later)).toEqual([
    'run-start resumed',
    'step-start 1 resumed',
    'tool-end quick',
    'tool-start look rerun',
    'tool-end send',
    'tool-start late',
    'tool-entered look',
    'tool-entered late',
    'tool-end late',
    'tool-end look',
    'message',
    'message',
    'message',
    'message',
    'step-end 1',
    'step-start 2',
    'attempt-start 1',
    'message',
    'step-end 2',
    'run-end completed',
  ])
})

test('a call that would start in the turn in which another one cancels does not start: a resume makes it, once (K4, L20, H26)', async () => {
  const stop = toolOf('stop', 'external', () => {
    log.push('stop')
    void started.run.cancel()
  })
  const tools = [stop, work('send', 100)]
  const started = start([respond(...named('stop', 'send')), respond(say('Done.'))], { tools })
  const { result } = await ended(started)
  expect(result?.status).toBe('cancelled')
  expect(log).toEqual(['stop'])
  const { result: final } = await resumed(started, result)
  expect(final?.status).toBe('completed')
  expect(log).toEqual(['stop', expect.stringMatching(/^send/)])
})

test('a tool that ignores the cancel has the grace time, then is abandoned; the resume does not trust it (K12, K13)', async () => {
  const deaf = toolOf('deaf', 'external', async ({ run }) => {
    log.push('deaf')
    await sleep(10_000)
    run?.emit({ name: 'too late', data: 1 })
    return 'too late'
  })
  const responses = [respond(...named('deaf')), answer]
  const started = start(responses, { tools: [deaf], grace: 300 })
  await at(50)
  const begun = performance.now()
  let took: number | undefined
  void started.run.result.then(() => {
    took = performance.now() - begun
  })
  void started.run.cancel()
  const { events, result } = await ended(started)
  expect(took).toBe(300)
  expect(result).toMatchObject({ status: 'cancelled', abandoned: ['deaf'] })
  expect(resultsIn(result?.messages)).toEqual([['deaf', CUT_OFF]])
  expect(events.some(({ type }) => type === 'custom')).toBe(false)
  const { result: final } = await resumed(started, result)
  expect(final).toMatchObject({ status: 'completed', unknown: ['deaf'] })
  expect(log).toEqual(['deaf'])
})
