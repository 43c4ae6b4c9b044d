import { respond, say } from '@meanwhile/assemble/testing'
import { textOf } from '@meanwhile/core'
import { expect, test } from 'vitest'
import { expectEqual, JSON_BODY, stage } from '../../test/ag-ui-stage.ts'

const answers = Array.from({ length: 5 }, (_, n) => respond(say(`Answer ${n}.`)))

test('a client of AG-UI that asks for another answer gets one, of the message in the thread (W36)', async () => {
  const { client, threads } = await stage(answers)
  const one = client()
  for (const text of ['First', 'Second']) await one.say(text)
  const [...messages] = one.agent.messages
  one.agent.setMessages([...messages.slice(0, 2), { ...messages[2], content: 'Forged' } as (typeof messages)[number]])
  await one.run({ forwardedProps: { regenerate: true } })
  await expectEqual(one, threads)
  const shown = (await threads.read('t')).messages.map(({ message }) => textOf(message))
  expect(shown).toEqual(['First', 'Answer 0.', 'Second', 'Answer 2.'])
})

test('a request that arrives twice, or whose message has later turns, is answered once (W36)', async () => {
  const { url, threads } = await stage(answers)
  const post = async (runId: string, id: string, regenerate: boolean) => {
    const messages = [{ id, role: 'user', content: 'Go' }]
    const body = JSON.stringify({ threadId: 't', runId, messages, forwardedProps: { regenerate } })
    const response = await fetch(`${url}/api/ag-ui`, { method: 'POST', headers: JSON_BODY, body })
    return response.text()
  }
  const shown = async () => (await threads.read('t')).messages.map(({ message }) => textOf(message))
  await post('r0', 'm1', true)
  expect(await shown()).toEqual([])
  await post('r0', 'm1', false)
  for (const _ of [1, 2]) expect(await post('r1', 'm1', true)).toContain('RUN_FINISHED')
  expect(await shown()).toEqual(['Go', 'Answer 1.'])
  await post('r2', 'm2', false)
  await post('r3', 'm1', true)
  expect(await shown()).toEqual(['Go', 'Answer 1.', 'Go', 'Answer 2.'])
})
