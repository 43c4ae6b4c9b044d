import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { agentTool, createAgent, type Json, type Tool, tool } from '@meanwhile/core'
import { type ApproveOptions, approve, isPendingApproval, redact } from '@meanwhile/middleware'
import { createThreads, memoryThreads, type ThreadEvent } from '@meanwhile/threads'
import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { history, post } from '../test/page.ts'
import { type AgUiHandlerOptions, agUiHandler } from './ag-ui/index.ts'
import { chatHandler } from './ai-sdk/index.ts'

type Options = Partial<Pick<AgUiHandlerOptions<{ user: string }>, 'edits' | 'by' | 'open'>>

const KEY = `sk-proj-${'a1B2'.repeat(12)}`

/** A thread `t` whose turn asks whether it may pay, `times` times. */
async function asking(options: Options = {}, approval: Partial<ApproveOptions> = {}, isMasked = false, times = 1) {
  const ran: unknown[] = []
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    input: z.object({ to: z.string(), amount: z.number() }),
    execute: (input) => {
      ran.push(input)
      return 'paid'
    },
  })
  const payments = Array.from({ length: times }, () => respond(call('pay', { to: 'ada', amount: 5 })))
  const model = scriptedModel([...payments, respond(say('Done.'))])
  const middleware = [approve({ tools: ['pay'], ...approval }), ...(isMasked ? [redact({ persist: true })] : [])]
  const agent = createAgent({ model, tools: [pay as Tool], middleware })
  const threads = createThreads<{ user: string }>({ agent, store: memoryThreads() })
  const turn = await threads.send('t', 'Pay ada 5.', { messageId: 'm1', context: { user: 'ada' } })
  await turn.result
  const { interrupts } = await threads.read('t')
  const id = interrupts[0]?.id ?? ''
  const given = { threads, open: () => ({ user: 'ada' }), ...options }
  const [chat, agUi] = [chatHandler<{ user: string }>(given), agUiHandler<{ user: string }>(given)]
  const shown = async () => (await history(chat, 't')).at(-1)
  const run = (more: object) =>
    agUi(
      new Request('http://chat.test/api/ag-ui', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ threadId: 't', runId: 'r', messages: [], ...more }),
      }),
    )
  const posted = async (given: Record<string, Json>) =>
    post(chat, '', { id: 't', messages: [await shown()], answers: given })
  return {
    id,
    threads,
    turn,
    ran,
    shown,
    run,
    post: posted,
    answers: {
      chat: (answer: Json) => posted({ [id]: answer }),
      agUi: (payload: Json) => run({ resume: [{ interruptId: id, status: 'resolved', payload }] }),
    },
  }
}

const eve = { to: 'eve', amount: 99_999 }

const EDITS = [
  ['chat', { decision: 'edit', input: eve }],
  ['chat', { decision: 'edit', input: eve, approved: true, by: 'ada' }],
  ['agUi', { approved: true, editedArgs: eve }],
  ['agUi', { decision: 'edit', input: eve }],
] as const

test.for(EDITS)('%s refuses the edit %j with 400, and the question stays open (W53)', async ([door, answer]) => {
  const { threads, answers, ran } = await asking()
  const before = await threads.read('t')
  const response = await answers[door](answer)
  expect(response.status).toBe(400)
  expect(await response.text()).toContain('must not change the input of the call.')
  expect([ran, await threads.read('t')]).toEqual([[], before])
  await (await answers[door](door === 'chat' ? { decision: 'allow' } : { approved: true })).text()
  expect(ran).toEqual([{ to: 'ada', amount: 5 }])
})

test.for(EDITS)('with edits, %s takes the edit %j, and its input runs (W53)', async ([door, answer]) => {
  const { answers, ran } = await asking({ edits: true })
  expect((await answers[door](answer)).status).toBe(200)
  await vi.waitFor(() => expect(ran).toEqual([eve]), { timeout: 60_000 })
})

test('a question offers an edit only with edits, and only if approve allows it (W53)', async () => {
  for (const [edits, decisions, offered] of [
    [false, undefined, ['allow', 'deny']],
    [true, undefined, ['allow', 'deny', 'edit']],
    [true, ['allow', 'deny'], ['allow', 'deny']],
    [false, ['deny', 'edit'], ['deny']],
  ] as const) {
    const { shown, run } = await asking({ edits }, decisions && { decisions })
    const message = await shown()
    const forms = offered.map((decision) => ({ properties: { decision: { const: decision } } }))
    expect(message?.metadata).toMatchObject({
      questions: [{ payload: { decisions: offered }, answerSchema: { anyOf: forms } }],
    })
    const text = await (await run({})).text()
    expect(text).toContain(`"decisions":${JSON.stringify(offered)}`)
    expect(text.includes('editedArgs')).toBe(offered.some((one) => one === 'edit'))
  }
})

test('a copy of approve with another name asks on cards, and no page edits a call or says who answers (W53, W49)', async () => {
  for (const isInside of [false, true]) {
    const ran: unknown[] = []
    const inputs = [
      { to: 'ada', amount: 5 },
      { to: 'bob', amount: 6 },
    ]
    const tools = ['pay', 'lend'].map((name) =>
      tool({
        name,
        description: name,
        input: z.object({ to: z.string(), amount: z.number() }),
        execute: (i) => ran.push(i),
      }),
    ) as Tool[]
    const calls = tools.map(({ name }, index) => call(name, inputs[index] ?? {}, { id: name }))
    const payer = createAgent({
      name: 'payer',
      model: scriptedModel([respond(...calls), respond(say('Done.'))]),
      tools,
      middleware: [{ ...approve({ tools: ['pay', 'lend'] }), name: 'approve-money' }],
    })
    const clerk = agentTool(payer, { name: 'clerk', description: 'c' })
    const outer = scriptedModel([respond(call('clerk', { request: 'Go' }, { id: 'c' })), respond(say('Done.'))])
    const agent = isInside ? createAgent({ model: outer, tools: [clerk] }) : payer
    const threads = createThreads({ agent, store: memoryThreads() })
    const turn = await threads.send('t', 'Go')
    const { interrupts = [] } = await turn.result
    expect(interrupts.map(isPendingApproval)).toEqual([true, true])
    const chat = chatHandler({ threads, open: () => undefined, by: () => 'ada' })
    const message = (await history(chat, 't')).at(-1)
    const cards = (message?.parts ?? []).flatMap((part) => ('approval' in part && part.approval ? [part] : []))
    expect(cards).toMatchObject(inputs.map((input, index) => ({ input, approval: { id: interrupts[index]?.id } })))
    const answers = (answer: Json) => Object.fromEntries(interrupts.map(({ id }) => [id, answer]))
    const send = (answer: Json) => post(chat, '', { id: 't', messages: [message], answers: answers(answer) })
    expect((await send({ decision: 'edit', input: eve })).status).toBe(400)
    await (await send({ decision: 'allow', by: 'boss' })).text()
    expect((await turn.result).status).toBe('completed')
    expect(ran).toEqual(inputs)
    expect((await threads.read('t')).decisions.map(({ by }) => by)).toEqual(['ada', 'ada'])
  }
})

test('a decision that approve does not allow is refused in both handlers, and the question stays open (W53)', async () => {
  const { threads, answers, ran } = await asking({ edits: true }, { decisions: ['deny'] })
  const { interrupts } = await threads.read('t')
  expect((await answers.chat({ decision: 'allow' })).status).toBe(400)
  expect((await answers.chat({ decision: 'edit', input: eve })).status).toBe(400)
  expect(await (await answers.agUi({ approved: true })).text()).toContain('"code":"AnswerError"')
  expect(ran).toEqual([])
  expect(await threads.read('t')).toMatchObject({ status: 'waiting', interrupts, decisions: [] })
})

test('an answer to a question that opens only after the thread was read is refused with 409, and the question stays open (W53, W51)', async () => {
  // Otherwise nobody knows the id of the next question.
  const random = vi.spyOn(crypto, 'getRandomValues').mockImplementation((zeros) => zeros)
  onTestFinished(() => random.mockRestore())
  const first = async () => {
    await threads.answer('t', { [id]: { decision: 'allow' } })
    await vi.waitFor(async () => expect((await threads.read('t')).interrupts).toMatchObject([{ id: next }]), {
      timeout: 60_000,
    })
    return 'eve'
  }
  const { id, threads, ran, post: posted } = await asking({ by: first }, {}, false, 2)
  const next = id.replaceAll('call_95_1_95_1', 'call_95_2_95_1')
  expect(next).not.toBe(id)
  const response = await posted({ [next]: { decision: 'edit', input: eve, by: 'boss' } })
  expect([response.status, ran]).toEqual([409, [{ to: 'ada', amount: 5 }]])
  expect(await threads.read('t')).toMatchObject({
    status: 'waiting',
    interrupts: [{ id: next }],
    decisions: [{ decision: 'allow' }],
  })
})

const decided = { callId: 'call_1_1', toolName: 'pay', by: 'ada' }

test.for([
  ['chat', { decision: 'allow' }, { decision: 'allow', input: { to: 'ada', amount: 5 } }],
  ['chat', { decision: 'deny', reason: 'No.', by: 'bob' }, { decision: 'deny', reason: 'No.' }],
  ['chat', { decision: 'edit', input: eve }, { decision: 'edit', input: eve }],
  ['agUi', { approved: true }, { decision: 'allow', input: { to: 'ada', amount: 5 } }],
  ['agUi', { approved: false, reason: 'No.' }, { decision: 'deny', reason: 'No.' }],
  ['agUi', { approved: true, editedArgs: eve }, { decision: 'edit', input: eve }],
] as const)('after the answer of %s, %j, an event and the thread tell %j and who decided (W53)', async (given) => {
  const [door, answer, record] = given
  const { threads, turn, answers } = await asking({ edits: true, by: (context) => context?.user })
  await (await answers[door](answer)).text()
  expect(await turn.result).toMatchObject({ status: 'completed' })
  const events: ThreadEvent[] = []
  for await (const event of turn.events()) events.push(event)
  expect(events.filter(({ type }) => type === 'custom')).toMatchObject([
    { name: 'approval', source: 'approve', callId: 'call_1_1', data: { ...record, by: 'ada' } },
  ])
  expect((await threads.read('t')).decisions).toEqual([{ turn: turn.id, ...decided, ...record }])
})

test('a decision is masked as the history is, whether redact is outside or inside of approve (W53)', async () => {
  const { threads, turn, answers } = await asking({ edits: true, by: () => KEY }, {}, true)
  await (await answers.chat({ decision: 'edit', input: { to: KEY, amount: 1 } })).text()
  await turn.result
  const { decisions } = await threads.read('t')
  expect(decisions).toMatchObject([{ decision: 'edit', input: { amount: 1 } }])
  expect(JSON.stringify(decisions)).not.toContain(KEY)
})

test('without by, a decision does not say who made it, also if the page does (W53)', async () => {
  const { threads, turn, answers } = await asking()
  await (await answers.chat({ decision: 'allow', by: 'boss' })).text()
  await turn.result
  const { decisions } = await threads.read('t')
  expect(decisions).toMatchObject([{ decision: 'allow' }])
  expect(decisions[0]).not.toHaveProperty('by')
})

test('an answer that names who decided is not signed with a text that is too long or no text (W53)', async () => {
  for (const by of [() => '', () => 'x'.repeat(257), () => 7 as never, () => Promise.resolve(null as never)]) {
    const { answers, ran } = await asking({ by })
    await expect(answers.chat({ decision: 'allow' })).rejects.toThrow(TypeError)
    expect(ran).toEqual([])
  }
})
