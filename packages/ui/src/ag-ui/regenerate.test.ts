import { textOf } from '@meanwhile/core'
import { respond, say } from '@meanwhile/core/testing'
import { expect, test } from 'vitest'
import { expectEqual, JSON_BODY, stage } from '../../test/ag-ui-stage.ts'

const answers = Array.from({ length: 5 }, (_, n) => respond(say(`Answer ${n}.`)))

test('a client of AG-UI that cuts off the last answer and runs gets another one, of the message in the thread (W36)', async () => {
  const { client, threads } = await stage(answers)
  const one = client()
  for (const text of ['First', 'Second']) await one.say(text)
  const [...messages] = one.agent.messages
  one.agent.setMessages([...messages.slice(0, 2), { ...messages[2], content: 'Forged' } as (typeof messages)[number]])
  await one.run()
  await expectEqual(one, threads)
  const shown = (await threads.read('t')).messages.map(({ message }) => textOf(message))
  expect(shown).toEqual(['First', 'Answer 0.', 'Second', 'Answer 2.'])
})

test('a request that arrives twice, or whose message has later turns, is answered once (W36)', async () => {
  const { url, threads } = await stage(answers)
  const post = async (runId: string, id: string) => {
    const body = { threadId: 't', runId, messages: [{ id, role: 'user', content: 'Go' }] }
    const response = await fetch(`${url}/api/ag-ui`, { method: 'POST', headers: JSON_BODY, body: JSON.stringify(body) })
    return response.text()
  }
  for (const runId of ['r1', 'r1']) await post(runId, 'm1')
  const first = (await threads.read('t')).turns
  expect(await post('r1', 'm1')).toContain('RUN_FINISHED')
  expect((await threads.read('t')).turns).toEqual(first)
  await post('r2', 'm2')
  await post('r3', 'm1')
  expect((await threads.read('t')).messages.map(({ message }) => textOf(message))).toEqual([
    'Go',
    'Answer 0.',
    'Go',
    'Answer 1.',
  ])
})

test('a page that has lost its connection empties its list, and gets the answer, which is not made again (W36)', async () => {
  const { client, threads } = await stage(answers)
  const one = client()
  await one.say('Go')
  const { turns } = await threads.read('t')
  one.agent.setMessages([])
  await one.run()
  await expectEqual(one, threads)
  expect((await threads.read('t')).turns).toEqual(turns)
})
