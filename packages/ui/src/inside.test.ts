import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { agentTool, createAgent, interrupt, type Json, type Tool, textOf, tool } from '@meanwhile/core'
import { approve, redact } from '@meanwhile/middleware'
import { createThreads, memoryThreads, type ThreadStore } from '@meanwhile/threads'
import type { UIMessage } from 'ai'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { Client, serve } from '../test/ag-ui.ts'
import { collected } from '../test/collected.ts'
import { compared, history, Page, post, settled } from '../test/page.ts'
import { agUiHandler, toAgUiMessages } from './ag-ui/index.ts'
import { type ChatHandlerOptions, type ChatMetadata, chatHandler, toUIMessageStream } from './ai-sdk/index.ts'

const KEY = `sk-proj-${'a1B2'.repeat(12)}`
const open = () => undefined

const pay = (ran: unknown[]) =>
  tool({
    name: 'pay',
    description: 'Pays.',
    input: z.object({ to: z.string() }),
    execute(input) {
      ran.push(input)
      if (input.to === 'nobody') throw new Error('db.internal does not know nobody')
      return { paid: input.to, by: 'card 7' }
    },
  }) as Tool

interface Given {
  /** Whom the agent inside pays. */
  readonly to?: readonly string[]
  readonly isMasked?: boolean
  /** The agent that calls `clerk`, which calls `payer`, which pays. */
  readonly isDeep?: boolean
}

/** An agent that calls an agent that pays. */
function agentInside({ to = ['ada'], isMasked = false, isDeep = false }: Given = {}) {
  const ran: unknown[] = []
  const asks = (name: string, request: Json) => [respond(call(name, request)), respond(say('Done.'))]
  const clerk = createAgent({
    name: 'clerk',
    description: 'Pays.',
    model: scriptedModel([respond(...to.map((to) => call('pay', { to }))), respond(say('Paid.'))]),
    tools: [pay(ran)],
    middleware: [approve({ tools: ['pay'] })],
  })
  const boss = createAgent({
    name: 'boss',
    description: 'Asks the clerk.',
    model: scriptedModel(asks('clerk', { request: 'Pay.' })),
    tools: [agentTool(clerk)],
  })
  const inner = isDeep ? boss : clerk
  const agent = createAgent({
    model: scriptedModel([...asks(isDeep ? 'boss' : 'clerk', { request: 'Pay.' }), respond(say('Again.'))]),
    tools: [agentTool(inner)],
    middleware: isMasked ? [redact({ persist: true })] : [],
  })
  return { agent, ran }
}

async function chat(
  given: Given = {},
  options: Partial<ChatHandlerOptions> = {},
  store: ThreadStore = memoryThreads(),
) {
  const made = agentInside(given)
  const threads = createThreads({ agent: made.agent, store })
  const handler = chatHandler({ threads, open, edits: true, ...options })
  const page = new Page(handler, 't')
  await page.sendMessage({ text: 'Go' })
  const cards = (message: UIMessage | undefined = page.messages.at(-1)) =>
    (message?.parts ?? []).flatMap((part) => (part.type === 'dynamic-tool' ? [part] : []))
  const questions = () => (Object(page.messages.at(-1)?.metadata) as ChatMetadata).questions
  return { ...made, store, threads, handler, page, cards, questions }
}

test('a call at any depth has a card whose title and id name the calls around it (AG7, W49)', async () => {
  const { page, cards, questions, ran } = await chat({ isDeep: true })
  const [outermost, card, ...others] = cards()
  expect(outermost).toMatchObject({ toolCallId: 'call_1_1', toolName: 'boss', state: 'input-available' })
  expect(outermost).not.toHaveProperty('approval')
  const [id, title] = ['call_1_1/call_1_1/call_1_1', 'boss › clerk › pay']
  const asking = { toolName: 'pay', title, input: { to: 'ada' }, state: 'approval-requested' }
  expect([card, others]).toMatchObject([{ toolCallId: id, ...asking, toolMetadata: { inside: 'call_1_1' } }, []])
  expect(questions()).toMatchObject([{ toolCallId: id, title }])
  await page.addToolApprovalResponse({ id: card?.approval?.id ?? '', approved: true })
  await settled(page)
  expect(ran).toEqual([{ to: 'ada' }])
  expect(cards()).toMatchObject([
    { state: 'output-available', output: 'Done.' },
    { toolCallId: id, title, state: 'output-available', output: { paid: 'ada', by: 'card 7' } },
  ])
})

test('the card of a denied call inside a call shows that, live and loaded again (AG9, W34)', async () => {
  const { page, handler, cards, ran } = await chat({ to: ['ada', 'bob'] })
  for (const card of cards().slice(1))
    await page.addToolApprovalResponse({ id: card.approval?.id ?? '', approved: false, reason: 'No.' })
  await settled(page)
  const denied = { state: 'output-denied', approval: { approved: false, reason: 'No.' } }
  for (const message of [page.messages.at(-1), (await history(handler, 't')).at(-1)])
    expect(cards(message).slice(1)).toMatchObject([denied, denied])
  expect(ran).toEqual([])
})

test('errorText and output decide what a page sees of a call inside a call, live and loaded again (AG10, UI4)', async () => {
  const seen: unknown[] = []
  const { page, handler, cards } = await chat(
    { to: ['ada', 'nobody'] },
    {
      output: (output, { toolName, callId }) => {
        seen.push([toolName, callId])
        return toolName === 'pay' ? Object(output).paid : output
      },
    },
  )
  for (const { approval } of cards().slice(1))
    await page.addToolApprovalResponse({ id: approval?.id ?? '', approved: true })
  await settled(page)
  for (const message of [page.messages.at(-1), (await history(handler, 't')).at(-1)])
    expect(cards(message).slice(1)).toMatchObject([{ output: 'ada' }, { errorText: 'This call has failed.' }])
  expect(seen).toContainEqual(['pay', 'call_1_1'])
  const sent = page.got.join('')
  for (const secret of ['db.internal', 'card 7'])
    expect(sent.slice(sent.indexOf('approval-request'))).not.toContain(secret)
})

test('an answer on a card counts for the question with its path, and only while that is open (AG9, W51)', async () => {
  const { page, handler, cards, questions, ran, threads } = await chat({ to: ['ada', 'bob'] })
  const message = page.messages.at(-1)
  const [, first, second] = cards()
  const answered = (card: typeof first, id = card?.approval?.id) => ({
    ...card,
    state: 'approval-responded',
    approval: { id, approved: true },
  })
  const send = (...parts: unknown[]) => post(handler, '', { id: 't', messages: [{ ...message, parts }] })
  // The card of another call, and a card with the id of another one.
  for (const forged of [{ ...answered(first), toolCallId: 'call_1_1' }, answered(first, second?.approval?.id)])
    expect((await send(forged)).status).toBe(400)
  expect(ran).toEqual([])
  await (await send(answered(second))).text()
  expect(ran).toEqual([{ to: 'bob' }])
  expect((await send(answered(second))).status).toBe(409)
  expect((await threads.read('t')).interrupts.map(({ id }) => id)).toEqual([questions()[0]?.id])
  await (await send(answered(first), answered(second))).text()
  expect(ran).toEqual([{ to: 'bob' }, { to: 'ada' }])
})

test('the cards of open questions end with the turn if the user stops it or writes instead (AG9)', async () => {
  for (const end of ['stop', 'write']) {
    const { page, handler, cards, ran } = await chat({ to: ['ada', 'bob'] })
    if (end === 'stop') await post(handler, '/t/stop', {})
    else await page.sendMessage({ text: 'Never mind' })
    const turn = (await history(handler, 't')).find(({ role }) => role === 'assistant')
    const stopped = { state: 'output-error', errorText: 'This call was stopped.' }
    const reason = end === 'stop' ? 'The user stopped this.' : 'The user wrote a message instead of answering.'
    const denied = { state: 'output-denied', approval: { approved: false, reason } }
    expect(cards(turn)).toMatchObject([stopped, denied, denied])
    expect(ran).toEqual([])
  }
})

test('two answers from two pages, in every order, end at the same cards (AG9, W49)', async () => {
  for (const order of [
    [1, 2],
    [2, 1],
  ]) {
    const { page, handler, cards, ran } = await chat({ to: ['ada', 'bob'] })
    for (const index of order) {
      const other = new Page(handler, 't', await history(handler, 't'))
      const id = cards(other.messages.at(-1))[index]?.approval?.id ?? ''
      await other.sendMessage(undefined, { body: { answers: { [id]: { decision: 'allow' } } } })
      await settled(other)
      expect(compared(other.messages)).toEqual(compared(await history(handler, 't')))
    }
    expect(ran).toEqual(order.map((index) => ({ to: ['', 'ada', 'bob'][index] })))
    // The first page has answered nothing, and loads the thread.
    expect(cards()).toMatchObject([{}, { state: 'approval-requested' }, { state: 'approval-requested' }])
    page.messages = await history(handler, 't')
    expect(cards()).toMatchObject([{}, { state: 'output-available' }, { state: 'output-available' }])
  }
})

test('another process takes the turn over while it waits: the page goes on, and no card changes (W49, AG3)', async () => {
  const { page, handler, cards, store, threads, ran } = await chat({ to: ['ada', 'bob'] })
  const before = await history(handler, 't')
  await threads.close()
  const second = agentInside({ to: ['ada', 'bob'] })
  const others = createThreads({ agent: second.agent, store })
  const elsewhere = chatHandler({ threads: others, open, edits: true })
  expect(await history(elsewhere, 't')).toEqual(before)
  const [, , bob] = cards()
  const moved = new Page(elsewhere, 't', page.messages)
  const edit = { decision: 'edit', input: { to: 'eve' } }
  await moved.sendMessage(undefined, { body: { answers: { [bob?.approval?.id ?? '']: edit } } })
  await settled(moved)
  expect(cards(moved.messages.at(-1))).toMatchObject([
    { state: 'input-available' },
    { state: 'approval-requested', input: { to: 'ada' } },
    { state: 'output-available', input: { to: 'eve' }, output: { paid: 'eve' } },
  ])
  expect(compared(moved.messages)).toEqual(compared(await history(elsewhere, 't')))
  expect([ran, second.ran]).toEqual([[], [{ to: 'eve' }]])
})

test('a secret in a question inside a call is shown to the human who is asked, and not kept with persist (W49, W53)', async () => {
  const { page, handler, cards, ran, threads } = await chat({ to: [KEY, 'bob'], isMasked: true })
  for (const message of [page.messages.at(-1), (await history(handler, 't')).at(-1)])
    expect(cards(message)[1]).toMatchObject({ state: 'approval-requested', input: { to: KEY } })
  for (const [index, { approval }] of cards().slice(1).entries())
    await page.addToolApprovalResponse({ id: approval?.id ?? '', approved: index === 0 })
  await settled(page)
  expect(ran).toEqual([{ to: KEY }])
  expect(JSON.stringify(await threads.read('t'))).not.toContain(KEY)
  expect(compared(page.messages)).toEqual(compared(await history(handler, 't')))
})

test('a question of another kind inside a call has no card: its path and title are in the metadata (AG7)', async () => {
  const ask = tool({
    name: 'ask',
    description: 'Asks.',
    input: z.object({}),
    execute: (_, { answers }) => answers[0] ?? interrupt({ question: 'How many?' }),
  })
  const clerk = createAgent({
    name: 'clerk',
    description: 'Asks.',
    model: scriptedModel([respond(call('ask', {})), respond(say('Seven.'))]),
    tools: [ask as Tool],
  })
  const agent = createAgent({
    model: scriptedModel([respond(call('clerk', { request: 'Ask.' })), respond(say('Done.'))]),
    tools: [agentTool(clerk)],
  })
  const page = new Page(chatHandler({ threads: createThreads({ agent, store: memoryThreads() }), open }), 't')
  await page.sendMessage({ text: 'Go' })
  const message = page.messages.at(-1)
  expect(message?.parts.map(({ type }) => type)).toEqual(['step-start', 'dynamic-tool'])
  const question = { toolCallId: 'call_1_1/call_1_1', title: 'clerk › ask', payload: { question: 'How many?' } }
  expect(message?.metadata).toMatchObject({ questions: [question] })
})

test('the result of a call that a tool makes itself is not sent, because it has no card (UI3)', async () => {
  const relay = tool({
    name: 'relay',
    description: 'r',
    input: z.object({}),
    execute: async (_, { run }) =>
      textOf(
        (await run?.callTool({ type: 'tool-call', id: 'own', name: 'pay', input: { to: 'ada' } })) ?? {
          role: 'user',
          content: '',
        },
      ),
  })
  const agent = createAgent({
    model: scriptedModel([respond(call('relay', {})), respond(say('Done.'))]),
    tools: [relay as Tool, pay([])],
  })
  const threads = createThreads({ agent, store: memoryThreads() })
  const handler = chatHandler({ threads, open })
  const page = new Page(handler, 't')
  await page.sendMessage({ text: 'Go' })
  expect([page.error, page.status]).toEqual([undefined, 'ready'])
  expect(compared(page.messages)).toEqual(compared(await history(handler, 't')))
  const { url, close } = await serve(agUiHandler({ threads, open }))
  const client = new Client(`${url}/api/ag-ui`, 't')
  await client.run()
  await close()
  expect(client.agent.messages.filter(({ role }) => role === 'tool')).toHaveLength(1)
})

test('in AG-UI a call inside a call is a message with that call, which its interrupt names, and a client that has it gets no snapshot (AG15)', async () => {
  const { agent, ran } = agentInside({ to: ['ada', 'bob'] })
  const threads = createThreads({ agent, store: memoryThreads() })
  const { url, close } = await serve(agUiHandler({ threads, open }))
  const client = new Client(`${url}/api/ag-ui`, 't')
  await client.say('Go')
  const outermost = `${(await threads.read('t')).turns[0]?.id}-call_1_1`
  const ids = [`${outermost}/call_1_1`, `${outermost}/call_1_2`]
  expect(client.agent.pendingInterrupts.map(({ toolCallId }) => toolCallId)).toEqual(ids)
  const calls = () =>
    client.agent.messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
  expect(calls().map(({ id, function: made }) => [id, made.name, JSON.parse(made.arguments)])).toEqual([
    [outermost, 'clerk', { request: 'Pay.' }],
    [ids[0], 'pay', { to: 'ada' }],
    [ids[1], 'pay', { to: 'bob' }],
  ])
  expect(await client.answer({ approved: true })).not.toContain('MESSAGES_SNAPSHOT')
  // They run at once, so each may be the first.
  expect([ran.length, new Set(ran)]).toEqual([2, new Set([{ to: 'ada' }, { to: 'bob' }])])
  const results = client.agent.messages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : []))
  expect(new Set(results)).toEqual(new Set([outermost, ...ids]))
  expect(client.agent.messages.map(({ id }) => id)).toEqual(toAgUiMessages(await threads.read('t')).map(({ id }) => id))
  expect(await client.say('More')).not.toContain('MESSAGES_SNAPSHOT')
  await close()
})

test('a run without threads shows the cards of its questions, too (W49)', async () => {
  const { agent } = agentInside()
  const chunks = await collected(toUIMessageStream(agent.stream('Go')))
  expect(
    chunks.filter(({ type }) => type === 'tool-input-available' || type === 'tool-approval-request'),
  ).toMatchObject([
    { toolCallId: 'call_1_1', toolName: 'clerk' },
    { toolCallId: 'call_1_1/call_1_1', toolName: 'pay', title: 'clerk › pay', input: { to: 'ada' } },
    { toolCallId: 'call_1_1/call_1_1' },
  ])
})

test('of two calls with one path the card asks about the first, then about the second, and each answer counts for what was shown (W49, AG9)', async () => {
  const ran: unknown[] = []
  const clerk = (name: string, to: string) =>
    createAgent({
      name,
      description: 'Pays.',
      // What the second agent has begun is dropped at the first question, so it begins again.
      model: scriptedModel(
        Array.from({ length: 6 }, () => ({ messages }) => {
          return messages.some(({ role }) => role === 'tool')
            ? respond(say('Paid.'))
            : respond(call('pay', { to }, { id: 'p' }))
        }),
      ),
      tools: [pay(ran)],
      middleware: [approve({ tools: ['pay'] })],
    })
  const inside = [agentTool(clerk('one', 'ada')), agentTool(clerk('two', 'eve'))]
  const both = tool({
    name: 'both',
    description: 'Asks two agents at once.',
    input: z.object({}),
    execute: async (_, context) => Promise.all(inside.map(async (one) => one.execute?.({ request: 'Pay.' }, context))),
  })
  const agent = createAgent({
    model: scriptedModel([respond(call('both', {})), respond(say('Done.'))]),
    tools: [both as Tool],
  })
  const threads = createThreads({ agent, store: memoryThreads() })
  const handler = chatHandler({ threads, open })
  const page = new Page(handler, 't')
  await page.sendMessage({ text: 'Go' })
  const shown: unknown[] = []
  for (const approved of [false, true]) {
    expect(compared(page.messages)).toEqual(compared(await history(handler, 't')))
    const card = page.messages.at(-1)?.parts.at(-1)
    if (card?.type !== 'dynamic-tool' || card.state !== 'approval-requested') throw new Error('no question')
    shown.push([card.toolCallId, card.input])
    await page.addToolApprovalResponse({ id: card.approval.id, approved })
    await settled(page)
  }
  expect(shown.map((one) => JSON.stringify(one)).sort()).toEqual([
    '["call_1_1/p",{"to":"ada"}]',
    '["call_1_1/p",{"to":"eve"}]',
  ])
  expect(ran.map((one) => ['call_1_1/p', one])).toEqual([shown[1]])
  expect((await threads.read('t')).status).toBe('idle')
  expect(compared(page.messages)).toEqual(compared(await history(handler, 't')))
})
