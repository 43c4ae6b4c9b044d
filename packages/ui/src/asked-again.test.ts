/** Questions that a process asks again about calls with the same ids, after another one has died: the model call was not stored, and its response is another one. */

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, type Tool, tool } from '@meanwhile/core'
import { approve } from '@meanwhile/middleware'
import { createThreads, memoryThreads, type ThreadStore } from '@meanwhile/threads'
import type { UIMessage } from 'ai'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { history, post } from '../test/page.ts'
import { agUiHandler } from './ag-ui/index.ts'
import { chatHandler } from './ai-sdk/index.ts'

const LEASE = 1_000
const open = () => undefined
const amount = z.object({ amount: z.number() })

beforeEach(() => void vi.useFakeTimers())

afterEach(() => {
  vi.clearAllTimers()
  vi.useRealTimers()
})

/** A store that never answers once its process is dead. */
function mortal(shared: ThreadStore): { readonly store: ThreadStore; kill(): void } {
  let isDead = false
  const never = new Promise<never>(() => {})
  const dying = <Methods extends object>(methods: Methods): Methods =>
    new Proxy(methods, {
      get(target, name, self) {
        const value: unknown = Reflect.get(target, name, self)
        if (typeof value !== 'function') return Object(value) === value ? dying(Object(value)) : value
        return (...given: readonly unknown[]) => (isDead ? never : Reflect.apply(value, target, given))
      },
    })
  return {
    store: dying(shared),
    kill() {
      isDead = true
    },
  }
}

/** A turn that waits in a second process. The first one died when a page saw its questions about 5; now they are about 99,999, and the calls have the same ids. */
async function takenOver() {
  const shared = memoryThreads()
  const done: unknown[] = []
  const opened = (sum: number, store: ThreadStore) => {
    const pay = tool({ name: 'pay', description: 'Pays.', input: amount, execute: (input) => done.push(input) })
    const sign = tool({ name: 'sign', description: 'The page signs.', effect: 'read', input: amount })
    const look = tool({
      name: 'look',
      description: 'Looks, for long in the first process.',
      input: z.object({}),
      effect: 'read',
      execute: () => new Promise<string>((resolve) => setTimeout(resolve, sum === 5 ? 1e9 : 1, 'seen')),
    })
    const asks = respond(
      call('pay', { amount: sum }, { id: 'p' }),
      call('sign', { amount: sum }, { id: 's' }),
      call('look', {}, { id: 'l' }),
    )
    const agent = createAgent({
      model: scriptedModel([asks, respond(say('Done.'))]),
      tools: [pay, sign, look] as Tool[],
      middleware: [approve({ tools: ['pay'] })],
    })
    return createThreads({ agent, store, lease: LEASE })
  }
  const first = mortal(shared)
  const turn = await opened(5, first.store).send('t', 'Go')
  const question = new Promise<string>((resolve) => {
    const read = async () => {
      for await (const event of turn.events()) if (event.type === 'question' && event.callId === 'p') resolve(event.id)
    }
    void read()
  })
  const told = await question
  first.kill()
  await vi.advanceTimersByTimeAsync(3 * LEASE)
  const threads = opened(99_999, shared)
  expect(await threads.recover()).toBe(1)
  await vi.advanceTimersByTimeAsync(LEASE)
  const { interrupts } = await threads.read('t')
  expect(interrupts.map(({ payload }) => Object(payload).input)).toEqual([{ amount: 99_999 }, { amount: 99_999 }])
  const id = interrupts[0]?.id ?? ''
  expect(id).not.toBe(told)
  return { turn: turn.id, told, id, threads, done }
}

const ALLOW = { decision: 'allow' } as const

const cards = (id: string, sum: number) => {
  const card = { type: 'dynamic-tool', input: { amount: sum } }
  return {
    pay: { ...card, toolName: 'pay', toolCallId: 'p', approval: { id, approved: true }, state: 'approval-responded' },
    asking: { ...card, toolName: 'pay', toolCallId: 'p', approval: { id }, state: 'approval-requested' },
    sign: { ...card, toolName: 'sign', toolCallId: 's', output: 'signed', state: 'output-available' },
  }
}

test('no answer of a page counts for a question about another input than the page shows, whatever id it sends (W51, AG9)', async () => {
  const { turn, told, id, threads, done } = await takenOver()
  const handler = chatHandler({ threads, open })
  const before = await threads.read('t')
  const send = async (parts: readonly object[], answers = {}) =>
    (await post(handler, '', { id: 't', messages: [{ id: turn, role: 'assistant', parts }], answers })).status
  for (const sent of [told, id]) {
    const { pay, asking, sign } = cards(sent, 5)
    expect([await send([pay]), await send([sign]), await send([asking], { [sent]: ALLOW })]).toEqual([409, 409, 409])
  }
  expect(await send([cards(told, 99_999).pay])).toBe(409)
  expect([done, await threads.read('t')]).toEqual([[], before])
  const now = cards(id, 99_999)
  const [, shown] = (await history(handler, 't')) as [UIMessage, UIMessage]
  expect(shown.parts).toMatchObject([{}, { input: now.pay.input }, { input: now.sign.input }, {}])
  expect(await send([now.pay, now.sign])).toBe(200)
  await vi.advanceTimersByTimeAsync(LEASE)
  expect([done, (await threads.read('t')).status]).toEqual([[{ amount: 99_999 }], 'idle'])
})

test('no result of an AG-UI client counts for a call with other arguments than the client shows (W51, AG15)', async () => {
  const { turn, threads } = await takenOver()
  const handler = agUiHandler({ threads, open })
  const send = async (text: string) => {
    const toolCallId = `${turn}-s`
    const toolCalls = [{ id: toolCallId, type: 'function', function: { name: 'sign', arguments: text } }]
    const messages = [
      { id: `${turn}-1`, role: 'assistant', toolCalls },
      { id: 'r', role: 'tool', toolCallId, content: 'signed' },
    ]
    const body = JSON.stringify({ threadId: 't', runId: 'r', messages })
    const headers = { 'content-type': 'application/json' }
    await (await handler(new Request('http://chat.test/api/ag-ui', { method: 'POST', headers, body }))).text()
    return (await threads.read('t')).interrupts.length
  }
  expect([await send('{"amount":5}'), await send('{"amo'), await send('{ "amount": 99999 }')]).toEqual([2, 2, 1])
})
