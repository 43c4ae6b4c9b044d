/** Answers that arrive while the turn of an earlier answer runs. */

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, type Tool, tool } from '@meanwhile/core'
import { approve } from '@meanwhile/middleware'
import { createThreads, memoryThreads } from '@meanwhile/threads'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { gate } from '../test/gate.ts'
import { history, post } from '../test/page.ts'
import { told } from '../test/told.ts'
import { agUiHandler } from './ag-ui/index.ts'
import { chatHandler } from './ai-sdk/index.ts'

const ALLOW = { decision: 'allow' } as const

/** A turn with two questions, the first of which was answered: its call waits until `go` is called. */
async function halfAnswered() {
  const paid: string[] = []
  const { opened: going, open: go } = gate()
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    input: z.object({ to: z.string() }),
    async execute({ to }) {
      await going
      paid.push(to)
      return 'Paid.'
    },
  })
  const model = scriptedModel([respond(call('pay', { to: 'ada' }), call('pay', { to: 'bob' })), respond(say('Done.'))])
  const agent = createAgent({ model, tools: [pay as Tool], middleware: [approve({ tools: ['pay'] })] })
  const threads = createThreads({ agent, store: memoryThreads() })
  const given = { threads, open: () => undefined }
  const [chat, agUi] = [chatHandler(given), agUiHandler(given)]
  await (await threads.send('t', 'Pay both.')).result
  const [first, second] = (await threads.read('t')).interrupts.map(({ id }) => id)
  const asked = (await history(chat, 't')).at(-1)
  const turn = await threads.answer('t', { [first ?? '']: ALLOW })
  return { threads, chat, agUi, turn, go, paid, second: second ?? '', asked }
}

test.for(['card', 'id'] as const)(
  'an answer by its %s while the turn runs is 409 in chat, and the question can be answered when it waits (W51)',
  async (by) => {
    const { threads, chat, turn, go, paid, second, asked } = await halfAnswered()
    const cards = asked?.parts.map((part) =>
      'approval' in part && part.approval?.id === second
        ? { ...part, state: 'approval-responded', approval: { id: second, approved: true } }
        : part,
    )
    const body =
      by === 'card' ? { messages: [{ ...asked, parts: cards }] } : { messages: [asked], answers: { [second]: ALLOW } }
    const answer = () => post(chat, '', { id: 't', ...body })
    const early = await answer()
    expect([early.status, await told(early)]).toEqual([
      409,
      ['ThreadBusyError', expect.stringContaining('this answer, or another one, has arrived')],
    ])
    go()
    expect(await turn.result).toMatchObject({ status: 'waiting', interrupts: [{ id: second }] })
    expect(paid).toEqual(['ada'])
    const late = await answer()
    await late.text()
    expect([late.status, paid]).toEqual([200, ['ada', 'bob']])
    expect((await threads.read('t')).status).toBe('idle')
  },
)

test('a page that denies what another page has allowed is 409, and its other answers count for nothing either (W49, W51)', async () => {
  const { threads, chat, turn, go, paid, asked } = await halfAnswered()
  go()
  await turn.result
  const [first] = asked?.parts.flatMap((part) => ('approval' in part ? [part.approval?.id] : [])) ?? []
  const send = async (denied: boolean) => {
    const parts = asked?.parts.map((part) => {
      if (!('approval' in part)) return part
      const approved = part.approval?.id !== first || !denied
      return { ...part, state: 'approval-responded', approval: { ...part.approval, approved } }
    })
    const response = await post(chat, '', { id: 't', messages: [{ ...asked, parts }] })
    return [response.status, response.ok ? (await response.text()) && '' : await told(response)]
  }
  expect(await send(true)).toEqual([409, ['UnknownInterruptError', 'This question is no longer open.']])
  expect([(await threads.read('t')).status, paid]).toEqual(['waiting', ['ada']])
  // Also a page that was not loaded again may allow what the other one has allowed.
  expect(await send(false)).toEqual([200, ''])
  expect([(await threads.read('t')).status, paid]).toEqual(['idle', ['ada', 'bob']])
})

test('an answer while the turn runs has no effect in ag-ui: the run ends with the question, which can be answered (W51)', async () => {
  const { threads, agUi, go, paid, second } = await halfAnswered()
  const answer = () => {
    const resume = [{ interruptId: second, status: 'resolved', payload: { approved: true } }]
    const body = JSON.stringify({ threadId: 't', runId: 'r', messages: [], resume })
    const headers = { 'content-type': 'application/json' }
    return agUi(new Request('http://chat.test/api/ag-ui', { method: 'POST', headers, body }))
  }
  const early = await answer()
  go()
  const events = await early.text()
  expect([events.includes('"outcome":{"type":"interrupt"'), events.includes(second), paid]).toEqual([
    true,
    true,
    ['ada'],
  ])
  await (await answer()).text()
  expect(paid).toEqual(['ada', 'bob'])
  expect((await threads.read('t')).status).toBe('idle')
})
