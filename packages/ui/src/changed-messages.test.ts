import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { type AssistantPart, createAgent, type Middleware, type Tool, tool } from '@meanwhile/core'
import { createThreads, memoryThreads } from '@meanwhile/threads'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { Client, comparable, serve } from '../test/ag-ui.ts'
import { compared, history, Page, settled } from '../test/page.ts'
import { agUiHandler, toAgUiMessages } from './ag-ui/index.ts'
import { chatHandler } from './ai-sdk/index.ts'

/** Removes calls about 2, and makes those about 1 calls about 100. */
const hook: Middleware = {
  name: 'hook',
  afterModel(state) {
    const last = state.messages.at(-1)
    if (last?.role !== 'assistant') return state
    const content = last.content.flatMap((part): AssistantPart[] => {
      if (part.type !== 'tool-call') return [part]
      const { n } = Object(part.input)
      return n === 2 ? [] : [n === 1 ? { ...part, input: { n: 100 } } : part]
    })
    return { ...state, messages: [...state.messages.slice(0, -1), { ...last, content }] }
  },
}

function open() {
  const input = z.object({ n: z.number() })
  const mail = tool({ name: 'mail', description: 'm', input, execute: ({ n }) => `sent ${n}` }) as Tool
  const choose = tool({ name: 'choose', description: 'c', input }) as Tool
  const model = scriptedModel([
    respond(say('Hi.'), call('mail', { n: 1 }, { id: 'edited' }), call('mail', { n: 2 }, { id: 'removed' })),
    respond(call('choose', { n: 3 }, { id: 'kept' }), call('choose', { n: 2 }, { id: 'gone' })),
    respond(say('Done.')),
  ])
  return createThreads({
    agent: createAgent({ model, tools: [mail, choose], middleware: [hook] }),
    store: memoryThreads(),
  })
}

test('a page shows the calls as hooks have changed them, has no card of a removed one, and so can answer (W35)', async () => {
  const handler = chatHandler({ threads: open(), open: () => undefined })
  const page = new Page(handler, 't')
  await page.sendMessage({ text: 'Go' })
  const cards = () =>
    page.messages.at(-1)?.parts.flatMap((part) => (part.type === 'dynamic-tool' ? [[part.toolCallId, part.input]] : []))
  const shown = [
    ['edited', { n: 100 }],
    ['kept', { n: 3 }],
  ]
  expect(cards()).toEqual(shown)
  expect(compared(page.messages)).toEqual(compared(await history(handler, 't')))
  await page.addToolOutput({ tool: 'choose', toolCallId: 'kept', output: 'A' })
  await settled(page)
  expect(cards()).toEqual(shown)
  expect(page.messages.at(-1)?.parts.at(-1)).toMatchObject({ text: 'Done.' })
  expect(compared(page.messages)).toEqual(compared(await history(handler, 't')))
})

test('a client of AG-UI has the messages as hooks have changed them (W35)', async () => {
  const threads = open()
  const { url, close } = await serve(agUiHandler({ threads, open: () => undefined }))
  onTestFinished(close)
  const client = new Client(`${url}/api/ag-ui`, 't')
  await client.say('Go')
  expect(client.messages).toEqual(comparable([...toAgUiMessages(await threads.read('t'))]))
  expect(JSON.stringify(client.messages)).not.toMatch(/removed|gone/)
  const turn = (await threads.read('t')).turns.at(-1)?.id
  client.agent.addMessage({ id: 'r', role: 'tool', toolCallId: `${turn}-kept`, content: '"A"' })
  await client.run()
  expect(client.agent.messages.at(-1)).toMatchObject({ content: 'Done.' })
  expect(client.messages).toEqual(comparable([...toAgUiMessages(await threads.read('t'))]))
})
