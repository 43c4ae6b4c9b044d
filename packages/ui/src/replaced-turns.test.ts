import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, type Tool, tool } from '@meanwhile/core'
import { approve } from '@meanwhile/middleware'
import { createThreads, memoryThreads, type Threads } from '@meanwhile/threads'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { history, post } from '../test/page.ts'
import { told } from '../test/told.ts'
import { type AgUiMessage, agUiHandler, toAgUiMessages } from './ag-ui/index.ts'
import { chatHandler } from './ai-sdk/index.ts'

const amount = z.object({ amount: z.number() })
/** The page runs it. */
const confirm = tool({ name: 'confirm', description: 'Asks.', input: amount, output: z.object({ yes: z.boolean() }) })

/** Every turn asks with the same call ids, as a host may do. */
function setup() {
  const paid: unknown[] = []
  const pay = tool({ name: 'pay', description: 'Pays.', input: amount, execute: (input) => paid.push(input) })
  const asks = (sum: number) =>
    respond(call('confirm', { amount: 5 }, { id: 'a' }), call('pay', { amount: sum }, { id: 'b' }))
  const script = [asks(5), asks(99_999), respond(say('Done.'))]
  const agent = createAgent({
    model: scriptedModel(script),
    tools: [confirm, pay] as Tool[],
    middleware: [approve({ tools: ['pay'] })],
  })
  const threads = createThreads({ agent, store: memoryThreads() })
  return { threads, paid }
}

const message = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Again' }], content: 'Again' } as const

const open = () => undefined

const postRun = (threads: Threads, run: object): Promise<Response> =>
  agUiHandler({ threads, open })(
    new Request('http://chat.test/api/ag-ui', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ threadId: 't', runId: 'r', ...run }),
    }),
  )

/** The ways to replace the turn that waits. */
const REPLACED = {
  'an edit': (threads) => post(chatHandler({ threads, open }), '', { id: 't', messages: [message], messageId: 'm1' }),
  'a regeneration': (threads) =>
    post(chatHandler({ threads, open }), '', { id: 't', messages: [message], trigger: 'regenerate-message' }),
  'an edit of AG-UI': (threads) => postRun(threads, { messages: [message], forwardedProps: { rewind: 'm1' } }),
  'a rewind': async (threads) => {
    await threads.rewind('t', { before: 'm1' })
    await threads.send('t', 'Another', { messageId: 'm2' })
  },
} satisfies Readonly<Record<string, (threads: Threads) => Promise<unknown>>>

const WAYS = Object.keys(REPLACED) as (keyof typeof REPLACED)[]

async function replace(threads: Threads, way: keyof typeof REPLACED): Promise<void> {
  await REPLACED[way](threads)
  expect((await (await threads.turn('t'))?.result)?.status).toBe('waiting')
}

test.for(WAYS)('after %s, useChat cannot answer the new turn with cards of the replaced one (W51)', async (way) => {
  const { threads, paid } = setup()
  await (await threads.send('t', 'Pay', { messageId: 'm1' })).result
  const handler = chatHandler({ threads, open })
  const [, shown] = await history(handler, 't')
  await replace(threads, way)
  const before = await threads.read('t')
  for (const card of shown?.parts ?? []) {
    if (card.type !== 'dynamic-tool') continue
    const { approval } = card
    const answer = approval
      ? { state: 'approval-responded', approval: { ...approval, approved: true } }
      : { state: 'output-available', output: { yes: true } }
    const response = await post(handler, '', { id: 't', messages: [{ ...shown, parts: [{ ...card, ...answer }] }] })
    expect([card.toolName, response.status]).toEqual([card.toolName, 409])
  }
  expect([paid, await threads.read('t')]).toEqual([[], before])
  const current = (await history(handler, 't')).at(-1)
  const parts = current?.parts.map((card) =>
    card.type === 'dynamic-tool' && !card.approval
      ? { ...card, state: 'output-available', output: { yes: true } }
      : card,
  )
  expect((await post(handler, '', { id: 't', messages: [{ ...current, parts }] })).status).toBe(200)
})

test.for(WAYS)('after %s, an AG-UI client cannot answer the new turn with its old messages (W51)', async (way) => {
  const { threads, paid } = setup()
  await (await threads.send('t', 'Pay', { messageId: 'm1' })).result
  const first = await threads.read('t')
  const shown = toAgUiMessages(first)
  await replace(threads, way)
  const before = await threads.read('t')
  const result = (messages: readonly AgUiMessage[]) => {
    const calls = messages.flatMap((one) => (one.role === 'assistant' ? (one.toolCalls ?? []) : []))
    const toolCallId = calls.find(({ function: { name } }) => name === 'confirm')?.id
    return { id: 'r1', role: 'tool', toolCallId, content: '{"yes":true}' }
  }
  const renamed = shown.map((one, index) => ({ ...one, id: `own-${index}` }))
  const resume = first.interrupts.map(({ id }) => ({
    interruptId: id,
    status: 'resolved',
    payload: { approved: true },
  }))
  for (const answer of [
    { messages: [...shown, result(shown)] },
    // The messages of a client may have its own ids, and it may send only its result.
    { messages: [...renamed, result(shown)] },
    { messages: [result(shown)] },
    { messages: shown, resume },
  ]) {
    const response = await postRun(threads, answer)
    expect([response.status, await told(response)]).toEqual([
      409,
      ['UnknownInterruptError', 'This question is no longer open.'],
    ])
  }
  expect([paid, await threads.read('t')]).toEqual([[], before])
  // A client that only reconnects gets the messages of the thread.
  expect((await postRun(threads, { messages: shown })).status).toBe(200)
  const now = toAgUiMessages(before)
  const current = await postRun(threads, { messages: [...now, result(now)] })
  expect([current.status, (await current.text()).includes('RUN_ERROR')]).toEqual([200, false])
})

test('an output on a card does not answer a question that the message of the page does not show, and one of another client, which says nothing of questions, does (W51)', async () => {
  const { threads } = setup()
  const handler = chatHandler({ threads, open })
  await (await threads.send('t', 'Go')).result
  const [, shown] = await history(handler, 't')
  const { questions = [] } = Object(shown?.metadata)
  const parts = shown?.parts.map((part) =>
    'toolCallId' in part && part.toolCallId === 'a'
      ? { ...part, state: 'output-available', output: { yes: true } }
      : part,
  )
  const send = (metadata: object | undefined) =>
    post(handler, '', { id: 't', messages: [{ ...shown, metadata, parts }] })
  const earlier = await send({ status: 'waiting', questions: [{ id: 'earlier', payload: {}, toolCallId: 'a' }] })
  expect([earlier.status, (await told(earlier))[0]]).toEqual([409, 'UnknownInterruptError'])
  expect((await threads.read('t')).interrupts).toHaveLength(questions.length)
  const other = await send(undefined)
  await other.text()
  expect([other.status, (await threads.read('t')).interrupts.map(({ id }) => id)]).toEqual([200, [questions[1].id]])
})
