import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { agentTool, createAgent, type Tool, tool } from '@meanwhile/core'
import { approve } from '@meanwhile/middleware'
import { createThreads, memoryThreads } from '@meanwhile/threads'
import { lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { Page } from '../../test/page.ts'
import { chatHandler, hasAllAnswers } from './index.ts'

test('the answers on the cards of an agent in the background are sent together, when the last one is given (AG7, AG8, UI2)', async () => {
  const refunded: string[] = []
  const refund = tool({
    name: 'refund',
    description: 'Refunds.',
    input: z.object({ order: z.string() }),
    execute: ({ order }) => `refund ${refunded.push(order)}`,
  })
  const clerk = createAgent({
    name: 'clerk',
    description: 'Refunds.',
    model: scriptedModel([
      respond(call('refund', { order: 'A' }), call('refund', { order: 'B' })),
      respond(say('Both.')),
    ]),
    tools: [refund],
    middleware: [approve({ tools: ['refund'] })],
  })
  const model = scriptedModel([
    respond(call('clerk', { request: 'A, B' })),
    respond(say('Soon.')),
    respond(say('Done.')),
  ])
  const agent = createAgent({ model, tools: [{ ...agentTool(clerk), background: true } as Tool] })
  const page = new Page(
    chatHandler({ threads: createThreads({ agent, store: memoryThreads() }), open: () => undefined }),
    't',
  )
  await page.sendMessage({ text: 'Go' })
  const cards = page.messages.at(-1)?.parts.slice(-2) ?? []
  expect(cards).toMatchObject([
    { toolCallId: 'call_1_1/call_1_1', state: 'approval-requested', input: { order: 'A' } },
    { toolCallId: 'call_1_1/call_1_2', state: 'approval-requested', input: { order: 'B' } },
  ])
  for (const [index, card] of cards.entries()) {
    expect([page.status, refunded]).toEqual(['ready', []])
    if (card.type !== 'dynamic-tool' || card.state !== 'approval-requested') throw new Error(`no question ${index}`)
    await page.addToolApprovalResponse({ id: card.approval.id, approved: true })
  }
  await vi.waitFor(() => expect([page.status, refunded]).toEqual(['ready', ['A', 'B']]), { timeout: 60_000 })
  expect(page.messages.at(-1)).toMatchObject({ metadata: { status: 'completed', questions: [] } })
  expect(hasAllAnswers(page)).toBe(false)
  expect(lastAssistantMessageIsCompleteWithApprovalResponses(page)).toBe(false)
})

const question = (id: string, payload: object, toolCallId = 'c') => ({ id, payload, toolCallId })
const clientCall = { type: 'tool-call', id: 'c', name: 'choose' }
const asked = { toolCallId: 'c', approval: { id: 'q' } }

test.each([
  ['an approval with its answer', [question('q', {})], [{ ...asked, state: 'approval-responded' }], true],
  ['an approval without one', [question('q', {})], [{ ...asked, state: 'approval-requested' }], false],
  ['the answer to an earlier question', [question('r', {})], [{ ...asked, state: 'approval-responded' }], false],
  [
    'a second question of a card',
    [question('q', {}), question('r', {})],
    [{ ...asked, state: 'approval-responded' }],
    true,
  ],
  ['an output of the page', [question('q', clientCall)], [{ toolCallId: 'c', state: 'output-available' }], true],
  [
    'a call that the page has not run',
    [question('q', clientCall)],
    [{ toolCallId: 'c', state: 'input-available' }],
    false,
  ],
  ['a question in own words', [question('q', { ask: 1 })], [{ toolCallId: 'c', state: 'input-available' }], false],
  ['its answer on the card', [question('q', { ask: 1 })], [{ toolCallId: 'c', state: 'output-available' }], true],
  [
    'an approval, and a question in own words',
    [question('q', {}), question('r', { ask: 1 }, 'd')],
    [
      { ...asked, state: 'approval-responded' },
      { toolCallId: 'd', state: 'input-available' },
    ],
    true,
  ],
  [
    'only progress of the tool that asks',
    [question('q', { ask: 1 })],
    [{ toolCallId: 'c', state: 'output-available', preliminary: true }],
    false,
  ],
  ['a question without a card', [question('q', {}, 'd')], [], false],
] as const)('whether a page has all answers, with %s (UI2)', (_, questions, parts, isComplete) => {
  const turn = { role: 'assistant', metadata: { status: 'waiting', questions }, parts }
  expect(hasAllAnswers({ messages: [turn] })).toBe(isComplete)
  expect(hasAllAnswers({ messages: [{ ...turn, metadata: { status: 'running', questions } }] })).toBe(false)
  expect(hasAllAnswers({ messages: [turn, { role: 'user', parts: [] }] })).toBe(false)
})
