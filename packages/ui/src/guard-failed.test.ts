import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, type Tool, textOf, tool } from '@meanwhile/core'
import { type GuardOptions, guard } from '@meanwhile/middleware'
import { createThreads, memoryThreads } from '@meanwhile/threads'
import type { UIMessage } from 'ai'
import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { Client, serve } from '../test/ag-ui.ts'
import { compared, history, Page } from '../test/page.ts'
import { agUiHandler } from './ag-ui/index.ts'
import { chatHandler } from './ai-sdk/index.ts'

// What a page shows when the check of a guard has failed, and what it shows after a reload.

const REASON = 'asks for a secret'

/** A chat whose guard lets its check fail once the page has received the text of the model. `bad` messages fail. */
function stage(options: Partial<GuardOptions> = {}) {
  const sent: string[] = []
  const send = tool({
    name: 'send',
    description: 'Sends.',
    input: z.object({}),
    execute: () => void sent.push('sent'),
  }) as Tool
  const shown = Promise.withResolvers<void>()
  const guarded = guard({
    input: async (messages) => {
      if (!messages.some((message) => textOf(message).includes('bad'))) return { pass: true }
      await shown.promise
      return { pass: false, reason: REASON }
    },
    ...options,
  })
  const model = scriptedModel([
    respond(say('Here it is.', { deltas: 1 }), call('send')),
    respond(say('Fine.', { deltas: 1 })),
  ])
  const agent = createAgent({ model, tools: [send], middleware: [guarded] })
  const threads = createThreads({ agent, store: memoryThreads(), onError: () => undefined })
  return { threads, sent, shown: shown.resolve }
}

const textsOf = (messages: readonly UIMessage[]) =>
  messages.map(({ role, parts }) => [role, parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')])

test('useChat: a failed check is an error of the page, without its reason; a reload has the question, no answer, and the next turn works (GD6, UI4)', async () => {
  const { threads, sent, shown } = stage()
  const handler = chatHandler({ threads, open: () => undefined })
  const page = new Page(handler, 't')
  const saying = page.sendMessage({ text: 'bad' })
  await vi.waitFor(() => expect(page.got.join('')).toContain('Here it is.'))
  shown()
  await saying
  expect([page.status, page.error?.message]).toEqual(['error', 'Something went wrong.'])
  const reloaded = await history(handler, 't')
  expect(reloaded[0]).toMatchObject({ role: 'user', parts: [{ type: 'text', text: 'bad' }] })
  expect(JSON.stringify(reloaded)).not.toContain('Here it is.')
  expect([...page.got, JSON.stringify(reloaded)].join('')).not.toContain(REASON)
  expect((await threads.read('t')).turns.map(({ status }) => status)).toEqual(['failed'])
  const second = new Page(handler, 't', reloaded)
  await second.sendMessage({ text: 'good' })
  expect([second.status, sent]).toEqual(['ready', []])
  expect(textsOf(second.messages).at(-1)).toEqual(['assistant', 'Fine.'])
})

test('useChat: with an answer the turn completes with it, and the page and a reloaded page show only it (GD6)', async () => {
  const { threads, sent, shown } = stage({ answer: 'I cannot help with that.' })
  const handler = chatHandler({ threads, open: () => undefined })
  const page = new Page(handler, 't')
  const saying = page.sendMessage({ text: 'bad' })
  await vi.waitFor(() => expect(page.got.join('')).toContain('Here it is.'))
  shown()
  await saying
  expect([page.status, sent]).toEqual(['ready', []])
  expect(textsOf(page.messages)).toEqual([
    ['user', 'bad'],
    ['assistant', 'I cannot help with that.'],
  ])
  expect(compared(await history(handler, 't'))).toEqual(compared(page.messages))
})

test('useChat: with hold nothing of a failed response is sent (GD3, GD15)', async () => {
  const { threads, shown } = stage({ hold: true })
  const handler = chatHandler({ threads, open: () => undefined })
  const page = new Page(handler, 't')
  shown()
  await page.sendMessage({ text: 'bad' })
  expect(page.status).toBe('error')
  expect(page.got.join('')).not.toContain('Here it is.')
})

test.each([
  ['is an error of the run, without its reason', {}, 'RUN_ERROR', []],
  ['with an answer is an ordinary message', { answer: 'I cannot.' }, 'RUN_FINISHED', [['assistant', 'I cannot.']]],
] as const)('AG-UI: a failed check %s; a new client has the same messages (GD6, UI4)', async (_, options, last, answer) => {
  const { threads, sent, shown } = stage(options)
  const { url, sent: bytes, close } = await serve(agUiHandler({ threads, open: () => undefined }))
  onTestFinished(close)
  const client = new Client(`${url}/api/ag-ui`, 't')
  const saying = client.say('bad').catch((error: Error) => error)
  await vi.waitFor(() => expect(bytes()).toContain('Here it is.'))
  shown()
  await saying
  expect([client.events.at(-1)?.type, sent]).toEqual([last, []])
  const late = new Client(`${url}/api/ag-ui`, 't')
  await late.run().catch((error: Error) => error)
  const said = (one: Client) => one.agent.messages.map(({ role, content }) => [role, content])
  expect(said(late)).toEqual([['user', 'bad'], ...answer])
  expect(bytes()).not.toContain(REASON)
})
