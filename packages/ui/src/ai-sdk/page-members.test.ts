import { call, end, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, interrupt, type Tool, tool } from '@meanwhile/core'
import { createThreads, memoryThreads } from '@meanwhile/threads'
import type { UIMessageChunk } from 'ai'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { collected } from '../../test/collected.ts'
import { gate } from '../../test/gate.ts'
import { compared, history, Page, post, settled } from '../../test/page.ts'
import { seven } from '../../test/peer.ts'
import { chatHandler, toUIMessageStream } from './index.ts'

const ask = tool({
  name: 'ask',
  description: 'Asks.',
  input: z.object({}),
  async *execute(_, { answers }) {
    if (answers.length > 0) return answers[0]
    yield { progress: 0.5, message: 'I think.' }
    return interrupt({ question: 'How many?' }, { answer: z.object({ count: z.number() }) })
  },
}) as Tool

const usage = { inputTokens: 10, outputTokens: 2 }

function open(...script: Parameters<typeof scriptedModel>[0]) {
  const threads = createThreads({
    agent: createAgent({ model: scriptedModel(script), tools: [ask] }),
    store: memoryThreads(),
  })
  const handler = chatHandler({ threads, open: () => undefined })
  return { threads, handler, page: new Page(handler, 't') }
}

const chunksOf = (page: Page): readonly UIMessageChunk[] =>
  [...page.got.join('').matchAll(/^data: (\{.*\})$/gm)].map(([, json = '']) => JSON.parse(json))

test('the stream ends with the reason of the model, and the metadata have the tokens of the turn, live and loaded again (UI2)', async () => {
  const { handler, page } = open(
    respond(say('Hi.'), end({ usage })),
    respond(say('It is lo'), end({ usage, finishReason: 'length' })),
  )
  for (const [text, finishReason] of [
    ['Hello', 'stop'],
    ['Tell me', 'length'],
  ]) {
    await page.sendMessage({ text: text ?? '' })
    expect(chunksOf(page).at(-1)).toEqual({ type: 'finish', finishReason })
    expect(page.messages.at(-1)?.metadata).toEqual({ status: 'completed', questions: [], usage })
  }
  expect(compared(page.messages)).toEqual(compared(await history(handler, 't')))
})

test('addToolOutput answers the question of a tool, also of one that has told its progress, and a wrong answer leaves it open (UI3)', async () => {
  const { handler, page } = open(respond(call('ask', {}, { id: 'a' })), respond(say('Three.')))
  await page.sendMessage({ text: 'Ask' })
  expect(chunksOf(page).at(-1)).toEqual({ type: 'finish', finishReason: 'tool-calls' })
  const card = () => page.messages.at(-1)?.parts.find((part) => part.type === 'dynamic-tool')
  expect(card()).toMatchObject({ toolCallId: 'a', state: 'input-available' })
  expect(compared(page.messages)).toEqual(compared(await history(handler, 't')))
  const forged = { ...page.messages.at(-1), parts: [{ ...card(), state: 'output-available', output: 'three' }] }
  expect((await post(handler, '', { id: 't', messages: [forged] })).status).toBe(400)
  await page.addToolOutput({ tool: 'ask', toolCallId: 'a', output: { count: 3 } })
  await settled(page)
  expect(card()).toMatchObject({ state: 'output-available', output: { count: 3 } })
  expect(page.messages.at(-1)?.metadata).toMatchObject({ status: 'completed' })
  expect(compared(page.messages)).toEqual(compared(await history(handler, 't')))
})

test('the metadata and the data of a message are kept for the page, also after another answer and in the queue, and the model does not get them (UI2)', async () => {
  const { handler, threads, page } = open(respond(say('Hi.')), respond(say('Hello.')), respond(say('Bye.')))
  const parts = [
    { type: 'data-place', id: 'p', data: { city: 'Bonn' } },
    { type: 'text', text: 'Hello' },
    { type: 'data-mood', data: 'good' },
  ] as const
  await page.sendMessage({ role: 'user', metadata: { at: 7 }, parts: [...parts] })
  expect((await history(handler, 't'))[0]).toMatchObject({ metadata: { at: 7 }, parts })
  expect((await threads.read('t')).messages[0]?.message).toEqual({ role: 'user', content: 'Hello' })
  await page.regenerate()
  expect((await history(handler, 't'))[0]).toMatchObject({ metadata: { at: 7 }, parts })
  const only = { id: 'm', role: 'user', parts: [parts[0]] }
  const response = await post(handler, '', { id: 't', messages: [only] })
  expect([response.status, await response.text()]).toEqual([
    400,
    expect.stringContaining('a list with a text or a file'),
  ])
})

test.for([6, 7] as const)(
  'the metadata and the data of a message that steers are kept for the page, live and loaded again, in version %i (UI2, UI3)',
  async (version) => {
    const { opened, open: go } = gate()
    const waiting = tool({ name: 'wait', description: 'Waits.', input: z.object({}), execute: () => opened }) as Tool
    const model = scriptedModel([respond(call('wait', {})), respond(say('Done.'))])
    const agent = createAgent({ model, tools: [waiting] })
    const threads = createThreads({ agent, store: memoryThreads(), whenBusy: 'steer' })
    const handler = chatHandler({ threads, open: () => undefined, version })
    const turn = await threads.send('t', 'Go')
    const parts = [
      { type: 'data-place', id: 'p', data: { city: 'Bonn' } },
      { type: 'text', text: 'Hurry' },
    ]
    const message = { id: 'm', role: 'user', metadata: { at: 7 }, parts }
    const response = await post(handler, '', { id: 't', messages: [message] })
    go()
    await Promise.all([response.text(), turn.result])
    const shown =
      version === 6
        ? [{ type: 'data-user-message', id: 'm', data: { metadata: { at: 7 }, parts } }]
        : [
            { type: 'steering-message', id: 'm', parts: parts.slice(1) },
            { type: 'data-steering', id: 'm', data: { metadata: { at: 7 }, parts: parts.slice(0, 1) } },
          ]
    const loaded = (await history(handler, 't')).at(-1)
    expect(loaded?.parts.filter(({ type }) => /steering|data-/.test(type))).toEqual(shown)
    if (version === 7) {
      const chunks = await collected(toUIMessageStream(turn.events()))
      const live = await seven.read(chunks)
      expect(compared(live ? [live] : [])).toEqual(compared(loaded ? [loaded] : []))
    }
    expect(model.requests.at(-1)?.messages.at(-1)).toMatchObject({ role: 'user', content: 'Hurry' })
    await threads.close()
  },
)

test('a refusal is a sentence, which useChat shows as it is (UI2)', async () => {
  const { page, threads } = open()
  await (await threads.send('t', 'Hi')).result
  await threads.delete('t')
  await page.sendMessage({ text: 'Hello' })
  expect(page.error?.message).toBe('The thread was deleted.')
})
