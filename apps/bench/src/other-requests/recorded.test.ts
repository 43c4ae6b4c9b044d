import { everyNth } from '@meanwhile/tests/size'
import { expect, test } from 'vitest'
import { DRIVERS } from '../peers/drivers.ts'
import { INPUTS } from './inputs.ts'
import { OldRecordingError, recordingOf, replayed } from './recorded.ts'
import { sentBy } from './sent.ts'

const PACKAGES = ['ai 1.2.3']

test('recorded requests, played again, break the same rules and end with the same errors as those of the library (W23)', async () => {
  const run = await DRIVERS['@openai/agents']((specifier) => import(specifier))
  const sent = await sentBy(run, 'openai-chat', everyNth(INPUTS, 3))
  const again = await replayed(recordingOf(PACKAGES, sent), PACKAGES)
  const judged = (all: typeof sent) => all.map(({ requests, ...rest }) => [rest, requests.map(({ body }) => body)])
  expect(judged(again)).toEqual(judged(sent))
  expect(sent.filter(({ refusals }) => refusals.length > 0).length).toBeGreaterThan(1)
  expect(sent.filter(({ error }) => error !== undefined).length).toBeGreaterThan(0)
})

test('a recording of other inputs or of another version is refused', async () => {
  const recording = recordingOf(PACKAGES, [])
  await expect(replayed(recording, ['ai 1.2.4'])).rejects.toThrow(new OldRecordingError('packages'))
  const others = recording.replace(/"inputs":"\w+"/, '"inputs":"0"')
  await expect(replayed(others, PACKAGES)).rejects.toThrow(new OldRecordingError('inputs'))
})
