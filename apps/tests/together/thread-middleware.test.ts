/** What threads keep, and what their models read, if middleware changes the history or asks questions. */

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, type Message, type ModelRequest, textOf, tool } from '@meanwhile/core'
import { approve, clearToolResults, isPendingApproval, redact, summarize } from '@meanwhile/middleware'
import { createThreads, memoryThreads, type ThreadState } from '@meanwhile/threads'
import { expect, test } from 'vitest'
import { z } from 'zod'

const SECRET = `sk-${'a1B2'.repeat(12)}`
const CLEARED = '[This old tool result was cleared.]'
const REPORT = 'sunny '.repeat(200)

const look = tool({
  name: 'look',
  description: 'Looks.',
  input: z.object({}),
  effect: 'read',
  execute: () => REPORT,
})

/** Each turn makes a call and then answers. A request for a summary gets a summary. */
function script({ messages }: ModelRequest) {
  const last = messages.at(-1)
  if (last?.role === 'user' && last.origin === 'summarize') return respond(say('They talked about the weather.'))
  return last?.role === 'tool' ? respond(say('It is sunny.')) : respond(call('look'))
}

const texts = (messages: readonly Message[]) => messages.map((message) => `${message.role}: ${textOf(message)}`)

const shown = ({ messages }: ThreadState) => texts(messages.map(({ message }) => message))

test('with summarize, clearToolResults and redact a thread keeps the whole conversation, and the next request has the short history (TH7, N27, N30, N56)', async () => {
  const model = scriptedModel(Array.from({ length: 60 }, () => script))
  const agent = createAgent({
    model,
    tools: [look],
    middleware: [
      clearToolResults({ at: { tokens: 100 } }),
      summarize({ at: { messages: 12 }, keep: { steps: 1, userTokens: 30 } }),
      redact({ persist: true }),
    ],
  })
  const store = memoryThreads()
  const threads = createThreads({ agent, store })
  const said: string[] = []
  for (let turn = 1; turn <= 8; turn++) {
    const text = `${turn}. How is it? My key is ${SECRET}.`
    const { status, text: answer } = await (await threads.send('t', text)).result
    expect([status, answer]).toEqual(['completed', 'It is sunny.'])
    said.push(`user: ${text}`, 'assistant: ', `tool: ${REPORT}`, 'assistant: It is sunny.')
  }
  expect(shown(await threads.read('t'))).toEqual(said)
  const before = model.requests.length
  await (await threads.send('t', 'And now?')).result
  // No new summary is written: the turn begins with the history at the end of the last one.
  expect(model.requests).toHaveLength(before + 2)
  const read = texts(model.requests[before]?.messages ?? [])
  expect(read.length).toBeLessThan(14)
  expect(read.join()).not.toContain(SECRET)
  expect(read.some((text) => text.includes('They talked about the weather.'))).toBe(true)
  const results = read.filter((text) => text.startsWith('tool: '))
  expect(results.slice(0, -1)).toEqual(results.slice(0, -1).map(() => `tool: ${CLEARED}`))
  expect(read.at(-1)).toBe('user: And now?')
  // A rewind to before the summary restores everything, and so does a fork.
  const { messages } = await threads.read('t')
  const fork = await threads.fork('t', { before: messages[8]?.id ?? '' })
  expect(shown(await threads.read(fork))).toEqual(said.slice(0, 8))
  await (await threads.send(fork, 'Again?')).result
  const again = texts(model.requests.at(-2)?.messages ?? [])
  expect(again.filter((text) => text.startsWith('user: '))).toHaveLength(3)
  expect(again.join()).not.toContain('They talked')
})

test('a question of approve contains the schema of its answer, and a thread refuses an answer that does not match (TH8, CC4, N24)', async () => {
  const sent: unknown[] = []
  const mail = tool({
    name: 'mail',
    description: 'Sends mail.',
    input: z.object({ to: z.string() }),
    execute: ({ to }) => {
      sent.push(to)
      return 'sent'
    },
  })
  const confirm = tool({
    name: 'confirm',
    description: 'Asks the user.',
    input: z.object({}),
    output: z.object({ sure: z.boolean() }),
  })
  const model = scriptedModel([respond(call('mail', { to: 'ada' }), call('confirm')), respond(say('Done.'))])
  const agent = createAgent({ model, tools: [mail, confirm], middleware: [approve({ tools: ['mail'] })] })
  const threads = createThreads({ agent, store: memoryThreads() })
  const turn = await threads.send('t', 'Go')
  const { interrupts = [] } = await turn.result
  const [approval, question] = interrupts
  expect(interrupts.map((one) => [isPendingApproval(one), Object.keys(one.answerSchema ?? {}).length > 0])).toEqual([
    [true, true],
    [false, true],
  ])
  const answers = (decision: unknown, sure: unknown) => ({
    [approval?.id ?? '']: decision as never,
    [question?.id ?? '']: sure as never,
  })
  for (const [wrong, id] of [
    [answers(true, { sure: true }), approval?.id],
    [answers({ decision: 'allow' }, { sure: 'yes' }), question?.id],
  ] as const)
    await expect(threads.answer('t', wrong)).rejects.toMatchObject({ name: 'AnswerError', id })
  expect(await threads.read('t')).toMatchObject({ status: 'waiting', interrupts })
  expect(sent).toEqual([])
  await threads.answer('t', answers({ decision: 'allow' }, { sure: true }))
  expect(await turn.result).toMatchObject({ status: 'completed', text: 'Done.' })
  expect(sent).toEqual(['ada'])
})
