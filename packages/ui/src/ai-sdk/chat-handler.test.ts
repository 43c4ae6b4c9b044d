import { textOf } from '@meanwhile/core'
import { createThreads, memoryThreads } from '@meanwhile/threads'
import type { UIMessage } from 'ai'
import { expect, test } from 'vitest'
import { chat } from '../../test/agent.ts'
import { compared, get, history, Page, post, settled } from '../../test/page.ts'
import { told } from '../../test/told.ts'
import { type ChatHandlerOptions, type ChatMetadata, chatHandler } from './index.ts'

function open(options: Partial<ChatHandlerOptions> = {}) {
  const { agent, did, open } = chat()
  const threads = createThreads({ agent, store: memoryThreads() })
  const handler = chatHandler({ threads, open: () => undefined, ...options })
  return { threads, handler, did, open }
}

const metadataOf = (page: Page) => page.messages.at(-1)?.metadata as ChatMetadata

const cardOf = (page: Page, name: string) =>
  page.messages.at(-1)?.parts.find((part) => part.type === 'dynamic-tool' && part.toolName === name) as Extract<
    UIMessage['parts'][number],
    { type: 'dynamic-tool' }
  >

async function equal(handler: ReturnType<typeof chatHandler>, page: Page) {
  expect(compared(page.messages)).toEqual(compared(await history(handler, page.id)))
}

test.for(['hello', 'look', 'broken', 'flaky', 'fails', 'story', 'slow'])(
  'of a turn with %s the page has the same message as the thread (UI2, UI3)',
  async (text) => {
    const chat = open()
    const page = new Page(chat.handler, 't')
    if (text === 'slow') chat.open()
    await page.sendMessage({ text })
    await equal(chat.handler, page)
    expect(page.messages).toHaveLength(2)
    expect(page.status).toBe(text === 'fails' ? 'error' : 'ready')
  },
)

test('an approval is a card, and its answer brings the result into the same message (UI2, UI3)', async () => {
  const { handler, did } = open()
  const page = new Page(handler, 't')
  await page.sendMessage({ text: 'mail both' })
  await equal(handler, page)
  const card = cardOf(page, 'mail')
  expect(card).toMatchObject({ state: 'approval-requested', input: { to: 'ada' } })
  expect(cardOf(page, 'look')).toMatchObject({ state: 'output-available', output: 'seen x' })
  await page.addToolApprovalResponse({ id: card.approval?.id ?? '', approved: true })
  await settled(page)
  await equal(handler, page)
  expect(cardOf(page, 'mail')).toMatchObject({ state: 'output-available', output: { sent: 'ada' } })
  expect(did).toEqual(['look x', 'mail ada'])
})

test('a denied call is shown as denied, and does not run (UI2, UI4)', async () => {
  const { handler, did } = open()
  const page = new Page(handler, 't')
  await page.sendMessage({ text: 'mail' })
  await page.addToolApprovalResponse({ id: cardOf(page, 'mail').approval?.id ?? '', approved: false, reason: 'No.' })
  await settled(page)
  await equal(handler, page)
  expect(cardOf(page, 'mail')).toMatchObject({
    state: 'output-denied',
    approval: { approved: false, reason: 'No.' },
  })
  expect(did).toEqual([])
})

test('two approvals are answered together (UI2)', async () => {
  const { handler, did } = open()
  const page = new Page(handler, 't')
  await page.sendMessage({ text: 'mail two' })
  const ids = page.messages
    .at(-1)
    ?.parts.flatMap((part) => ('approval' in part && part.approval ? [part.approval.id] : []))
  for (const id of ids ?? []) await page.addToolApprovalResponse({ id, approved: true })
  await settled(page)
  await equal(handler, page)
  expect(did).toEqual(['mail ada', 'mail bob'])
})

test('the page answers a call of its own tool with the output (UI2, UI3)', async () => {
  const { handler } = open()
  const page = new Page(handler, 't')
  await page.sendMessage({ text: 'choose' })
  await equal(handler, page)
  expect(cardOf(page, 'choose')).toMatchObject({ state: 'input-available', input: { of: ['a', 'b'] } })
  const { toolCallId } = cardOf(page, 'choose')
  await page.addToolOutput({ tool: 'choose', toolCallId, output: { chosen: 'b' } })
  await settled(page)
  await equal(handler, page)
  expect(page.messages.at(-1)?.metadata).toMatchObject({ status: 'completed' })
})

test('any other question is in the metadata, and is answered in the body (UI2)', async () => {
  const { handler } = open()
  const page = new Page(handler, 't')
  await page.sendMessage({ text: 'ask' })
  await equal(handler, page)
  const { questions } = metadataOf(page)
  expect(questions).toMatchObject([{ payload: { question: 'How many?' }, answerSchema: { type: 'object' } }])
  await page.sendMessage(undefined, { body: { answers: { [questions[0]?.id ?? '']: { count: 'x' } } } })
  expect(page.status).toBe('error')
  await page.sendMessage(undefined, { body: { answers: { [questions[0]?.id ?? '']: { count: 3 } } } })
  await equal(handler, page)
  expect(cardOf(page, 'ask')).toMatchObject({ state: 'output-available', output: { count: 3 } })
})

test('a reloaded page joins the running turn, and a late page gets all of it (UI1, UI2)', async () => {
  const { handler, open: go } = open()
  const first = new Page(handler, 't')
  const sent = first.sendMessage({ text: 'slow' })
  while (first.messages.at(-1)?.role !== 'assistant' || cardOf(first, 'slow')?.state !== 'output-available')
    await new Promise((r) => setTimeout(r, 1))
  const second = new Page(handler, 't', await history(handler, 't'))
  const joined = second.resumeStream()
  await new Promise((resolve) => setTimeout(resolve, 5))
  go()
  await Promise.all([sent, joined])
  await equal(handler, first)
  await equal(handler, second)
  const third = new Page(handler, 't', await history(handler, 't'))
  await third.resumeStream()
  await equal(handler, third)
  expect((await get(handler, '/nothing/stream')).status).toBe(204)
})

test('30 s after its end a turn is no longer streamed (UI1)', async () => {
  const { handler, threads } = open()
  const turn = await threads.send('t', 'hello')
  await turn.result
  const late = Date.now() + 30_001
  expect((await get(handler, '/t/stream')).status).toBe(200)
  const now = Date.now
  Date.now = () => late
  try {
    expect((await get(handler, '/t/stream')).status).toBe(204)
  } finally {
    Date.now = now
  }
})

test('a stop keeps the text so far, and the page can send another message (UI2)', async () => {
  const { handler } = open()
  const page = new Page(handler, 't')
  const sent = page.sendMessage({ text: 'slow' })
  while (page.messages.at(-1)?.role !== 'assistant' || cardOf(page, 'slow')?.state !== 'output-available')
    await new Promise((r) => setTimeout(r, 1))
  expect((await post(handler, '/t/stop')).status).toBe(204)
  await sent
  await equal(handler, page)
  expect(cardOf(page, 'slow')).toMatchObject({ state: 'output-error' })
  await page.sendMessage({ text: 'hello' })
  await equal(handler, page)
})

test('a stop drops the queued messages if it says so, and otherwise keeps them for the next message (UI2)', async () => {
  for (const [id, body, queued] of [
    ['dropped', { queue: 'drop' }, []],
    ['kept', {}, ['hello']],
  ] as const) {
    const { handler, threads } = open()
    await threads.send(id, 'slow')
    await post(handler, '', { id, messages: [said('hello')] })
    expect((await history(handler, id)).at(-1)?.metadata).toEqual({ queued: true })
    expect((await post(handler, `/${id}/stop`, { queue: 'all' })).status).toBe(400)
    expect((await threads.read(id)).status).toBe('running')
    expect((await post(handler, `/${id}/stop`, body)).status).toBe(204)
    const state = await threads.read(id)
    expect(state.turns.map(({ status }) => status)).toEqual(['stopped'])
    expect(state.queued.map(({ message }) => textOf(message))).toEqual(queued)
  }
})

test('a message is taken out of the queue as long as its turn has not begun (UI2)', async () => {
  const { handler, threads, open: go } = open()
  const running = await threads.send('t', 'slow', { messageId: 'm1' })
  await threads.send('t', 'hello', { messageId: 'm2' })
  const drop = async (body: object) => (await post(handler, '/t/drop', body)).status
  expect([await drop({}), await drop({ messageId: 'm1' }), await drop({ messageId: 'm3' })]).toEqual([400, 404, 404])
  expect((await threads.read('t')).queued).toHaveLength(1)
  expect([await drop({ messageId: 'm2' }), await drop({ messageId: 'm2' })]).toEqual([204, 204])
  expect(await threads.read('t')).toMatchObject({ status: 'running', queued: [] })
  go()
  await running.result
  expect((await threads.read('t')).turns).toHaveLength(1)
  const form = new Request('http://chat.test/api/chat/t/drop', { method: 'POST', body: '{"messageId":"m1"}' })
  expect((await handler(form)).status).toBe(415)
})

test('a message that a page sends as it was in the queue is not shown as queued (UI2)', async () => {
  const { handler } = open()
  const sent = async (metadata: unknown) => {
    await (await post(handler, '', { id: 't', messages: [{ ...said('hello'), metadata }], messageId: null })).text()
    return (await history(handler, 't')).at(-2)?.metadata
  }
  expect(await sent({ queued: true, from: 'ada' })).toEqual({ from: 'ada' })
  const edited = { ...said('hello again'), metadata: { queued: true } }
  await (await post(handler, '', { id: 't', messages: [edited], messageId: edited.id })).text()
  expect((await history(handler, 't')).at(-2)).not.toHaveProperty('metadata')
})

test('a page that disconnects stops nothing (UI1)', async () => {
  const { handler, open: go, threads } = open()
  const page = new Page(handler, 't')
  const sent = page.sendMessage({ text: 'slow' })
  while (page.messages.at(-1)?.role !== 'assistant') await new Promise((r) => setTimeout(r, 1))
  await page.stop()
  await sent
  go()
  const turn = await threads.turn('t')
  expect(await turn?.result).toMatchObject({ status: 'completed' })
})

test('a message is edited, and another answer is requested (UI2)', async () => {
  const { handler, did } = open()
  const page = new Page(handler, 't')
  await page.sendMessage({ text: 'look' })
  await page.sendMessage({ text: 'hello', messageId: page.messages[0]?.id ?? '' })
  await equal(handler, page)
  expect(page.messages.map(({ parts }) => parts.at(-1))).toMatchObject([{ text: 'hello' }, { text: 'You said hello.' }])
  await page.regenerate()
  await equal(handler, page)
  expect(page.messages).toHaveLength(2)
  expect(did).toEqual(['look x', 'look y'])
})

test('regenerate continues a failed turn after its last complete step (UI2)', async () => {
  const { handler, open: go } = open()
  const page = new Page(handler, 't')
  await page.sendMessage({ text: 'fails' })
  expect(page.status).toBe('error')
  expect(page.messages.at(-1)?.metadata).toMatchObject({ status: 'failed' })
  go()
  await page.regenerate()
  await equal(handler, page)
  expect(page.messages.at(-1)?.metadata).toMatchObject({ status: 'completed' })
})

test('an edit with the same text is answered again, on the page and in the thread, and a failed turn continues (UI2)', async () => {
  const { handler, threads } = open()
  const page = new Page(handler, 't')
  await page.sendMessage({ text: 'hello' })
  await page.sendMessage({ text: 'story' })
  const [first] = page.messages
  await page.sendMessage({ text: 'hello', messageId: first?.id ?? '' })
  await equal(handler, page)
  expect(page.messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
  await page.sendMessage({ text: 'fails' })
  const failed = (await threads.read('t')).turns.at(-1)?.id
  await page.sendMessage({ text: 'fails', messageId: page.messages[2]?.id ?? '' })
  expect((await threads.read('t')).turns.map(({ id, status }) => ({ id, status })).at(-1)).toEqual({
    id: failed,
    status: 'failed',
  })
})

test('the same edit twice while its turn is running is answered once (UI2)', async () => {
  const { handler, open: go, did } = open()
  const page = new Page(handler, 't')
  await page.sendMessage({ text: 'hello' })
  const edited = { id: page.messages[0]?.id, role: 'user', parts: [{ type: 'text', text: 'slow' }] }
  const edit = () => post(handler, '', { id: 't', messages: [edited], trigger: 'submit-message', messageId: edited.id })
  const [one, two] = [await edit(), await edit()]
  expect([one.status, two.status]).toEqual([200, 200])
  go()
  expect(await one.text()).toContain('at last')
  expect(await two.text()).toContain('at last')
  expect(did).toEqual(['slow'])
})

test("a tool's own question is not an approval: it has no card, and cannot be denied (UI3)", async () => {
  const { handler, threads } = open()
  const page = new Page(handler, 't')
  await page.sendMessage({ text: 'ask' })
  const card = cardOf(page, 'ask')
  expect(card).toMatchObject({ state: 'input-available' })
  expect(card).not.toHaveProperty('approval')
  const [question] = metadataOf(page).questions
  for (const approved of [true, false]) {
    const answered = { ...card, state: 'approval-responded', approval: { id: question?.id, approved } }
    const response = await post(handler, '', { id: 't', messages: [{ ...page.messages.at(-1), parts: [answered] }] })
    expect([response.status, await told(response)]).toEqual([
      400,
      ['ChatRequestError', 'This answers no open question.'],
    ])
  }
  expect((await threads.read('t')).interrupts.map(({ id }) => id)).toEqual([question?.id])
})

test('a card that was answered elsewhere, or was closed by a message, returns 409 (UI3)', async () => {
  const { handler, did } = open()
  for (const [id, text] of [
    ['t', 'mail'],
    ['u', 'choose'],
    ['v', 'mail'],
  ] as const) {
    const page = new Page(handler, id)
    await page.sendMessage({ text })
    const last = page.messages.at(-1)
    const card = last?.parts.at(-1) as ReturnType<typeof cardOf>
    const done =
      text === 'mail'
        ? { ...card, state: 'approval-responded', approval: { ...card.approval, approved: true } }
        : { ...card, state: 'output-available', output: { chosen: 'a' } }
    const answer = () => post(handler, '', { id, messages: [{ ...last, parts: [done] }] })
    if (id === 'v') await (await post(handler, '', { id, messages: [said('hello')] })).text()
    else await (await answer()).text()
    const late = await answer()
    expect([id, late.status, await told(late)]).toEqual([
      id,
      409,
      ['UnknownInterruptError', 'This question is no longer open.'],
    ])
  }
  expect(did).toEqual(['mail ada'])
})

const said = (text: string) => ({ id: 'm-written', role: 'user', parts: [{ type: 'text', text }] })

test('a base may end with a slash (UI1)', async () => {
  const { handler } = open({ base: '/api/chat/' })
  const page = new Page(handler, 't')
  await page.sendMessage({ text: 'hello' })
  await equal(handler, page)
  expect(page.messages).toHaveLength(2)
})
