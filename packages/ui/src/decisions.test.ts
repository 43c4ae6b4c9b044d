import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, type Tool, tool } from '@meanwhile/core'
import { approve } from '@meanwhile/middleware'
import { createThreads, memoryThreads } from '@meanwhile/threads'
import { type UIMessage, validateUIMessages } from 'ai'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { compared, history, Page, post, settled } from '../test/page.ts'
import { chatHandler } from './ai-sdk/index.ts'

type Card = Extract<UIMessage['parts'][number], { type: 'dynamic-tool' }>

const cardsOf = (message: UIMessage | undefined): readonly Card[] =>
  (message?.parts ?? []).filter((part) => part.type === 'dynamic-tool')

/** A page whose turn asks about payments to these, and the handler. */
async function asking(to: readonly string[] = ['ada'], version: 6 | 7 = 7) {
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    input: z.object({ to: z.string() }),
    execute({ to }) {
      if (to === 'nobody') throw new Error('There is no such person.')
      return { paid: to }
    },
  }) as Tool
  const calls = to.map((name) => call('pay', { to: name }))
  const model = scriptedModel([respond(...calls), respond(say('Done.')), respond(say('Well.'))])
  const agent = createAgent({ model, tools: [pay], middleware: [approve({ tools: ['pay'] })] })
  const threads = createThreads({ agent, store: memoryThreads() })
  const handler = chatHandler({ threads, open: () => undefined, version })
  const page = new Page(handler, 't')
  await page.sendMessage({ text: 'Pay.' })
  const answer = (place: number, approved: boolean, reason?: string) =>
    page.addToolApprovalResponse({
      id: cardsOf(page.messages.at(-1))[place]?.approval?.id ?? '',
      approved,
      ...(reason !== undefined && { reason }),
    })
  return { page, handler, threads, answer }
}

const DECISIONS = [
  ['ada', true, undefined, { state: 'output-available', approval: { approved: true } }],
  ['nobody', true, undefined, { state: 'output-error', approval: { approved: true } }],
  ['ada', false, 'Too expensive.', { state: 'output-denied', approval: { approved: false, reason: 'Too expensive.' } }],
  ['ada', false, undefined, { state: 'output-denied', approval: { approved: false } }],
] as const

test.for(DECISIONS)(
  'a page and the history show the decision about a call to %s, allowed: %s, because of %s (W34)',
  async ([to, approved, reason, shown]) => {
    const { page, handler, threads, answer } = await asking([to])
    await answer(0, approved, reason)
    await settled(page)
    const loaded = await history(handler, 't')
    expect(compared(page.messages)).toEqual(compared(loaded))
    for (const messages of [page.messages, loaded]) {
      expect(cardsOf(messages.at(-1))).toMatchObject([shown])
      await validateUIMessages({ messages })
    }
    const late = new Page(handler, 't', loaded)
    await late.resumeStream()
    expect(compared(late.messages)).toEqual(compared(loaded))
    expect((await threads.read('t')).decisions).toHaveLength(1)
  },
)

test('of two calls each card shows its own decision, also while the other one waits (W34)', async () => {
  const { page, handler } = await asking(['ada', 'bob'])
  const [first, second] = cardsOf(page.messages.at(-1)).map(({ approval }) => approval?.id ?? '')
  const send = (id: string | undefined, answer: object) =>
    page.sendMessage(undefined, { body: { answers: { [id ?? '']: answer } } })
  await send(second, { decision: 'deny', reason: 'Not him.' })
  const denied = { state: 'output-denied', approval: { id: second, approved: false, reason: 'Not him.' } }
  expect(cardsOf(page.messages.at(-1))).toMatchObject([
    { state: 'approval-requested', approval: { id: first } },
    denied,
  ])
  expect(compared(page.messages)).toEqual(compared(await history(handler, 't')))
  await send(first, { decision: 'allow' })
  const allowed = { state: 'output-available', approval: { id: first, approved: true } }
  expect(cardsOf(page.messages.at(-1))).toMatchObject([allowed, denied])
  expect(compared(page.messages)).toEqual(compared(await history(handler, 't')))
})

test.for([6, 7] as const)(
  'an approval that nobody answers counts as denied when the user stops the turn, in version %i (W34)',
  async (version) => {
    const { handler } = await asking(['ada'], version)
    await post(handler, '/t/stop', {})
    const messages = await history(handler, 't')
    const approval = { approved: false, reason: 'The user stopped this.' }
    expect(cardsOf(messages.at(-1))).toMatchObject([{ state: 'output-denied', approval }])
    await validateUIMessages({ messages })
  },
)
