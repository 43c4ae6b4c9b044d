import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import {
  type AssistantPart,
  createAgent,
  interrupt,
  type Message,
  type Middleware,
  type Tool,
  textOf,
  tool,
} from '@meanwhile/core'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { createThreads, memoryThreads } from './index.ts'

type Change = (messages: readonly Message[]) => readonly Message[]

const edited: Change = (messages) =>
  messages.map((message, index) => {
    if (index !== messages.length - 1 || message.role !== 'assistant') return message
    const content = message.content.flatMap((part): AssistantPart[] => {
      if (part.type !== 'tool-call') return [part]
      const { n } = Object(part.input)
      return n === 2 ? [] : [{ ...part, input: { n: n * 100 } }]
    })
    return { ...message, content }
  })

/** A turn of two calls, of which a hook changes what the model has written. */
async function changed(change: Change) {
  const ran: unknown[] = []
  const mail = tool({
    name: 'mail',
    description: 'm',
    input: z.object({ n: z.number() }),
    execute: ({ n }) => `sent ${ran.push(n)}`,
  }) as Tool
  const hook: Middleware = { name: 'hook', afterModel: (state) => ({ ...state, messages: change(state.messages) }) }
  const calls = respond(say('I write.'), call('mail', { n: 1 }, { id: 'a' }), call('mail', { n: 2 }, { id: 'b' }))
  const model = scriptedModel([calls, respond(say('Done.')), respond(say('Again.'))])
  const agent = createAgent({ model, tools: [mail], middleware: [hook] })
  const threads = createThreads({ agent, store: memoryThreads() })
  const turn = await threads.send('t', 'Go')
  await turn.result
  const { messages } = await threads.read('t')
  const told: string[] = []
  for await (const event of turn.events())
    if (event.type === 'history-replaced' && event.messageId !== undefined) told.push(event.messageId)
  return { messages: messages.map(({ message }) => message), ran, told }
}

const callsIn = (messages: readonly Message[]) =>
  messages.flatMap((message) =>
    message.role === 'assistant'
      ? message.content.flatMap((part) =>
          part.type === 'tool-call' ? [`${part.id} ${JSON.stringify(part.input)}`] : [],
        )
      : [],
  )

test('a thread has the calls of the model as a hook has changed them, and not those that it removed (W35)', async () => {
  const { messages, ran, told } = await changed(edited)
  expect([callsIn(messages), ran]).toEqual([['a {"n":100}'], [100]])
  expect(told).toHaveLength(1)
  expect(messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : []))).toEqual(['a'])
})

test('a hook that replaces the whole history, and keeps the message of the model, changes no message of the thread (W35)', async () => {
  const changes: Record<string, Change> = {
    copies: (messages) => messages.map((message) => ({ ...message })),
    summary: (messages) => [{ role: 'user', content: 'So far: go.', origin: 'summary' }, ...messages.slice(-1)],
  }
  for (const [name, change] of Object.entries(changes)) {
    const { messages, told } = await changed(change)
    expect([name, callsIn(messages)]).toEqual([name, ['a {"n":1}', 'b {"n":2}']])
    expect(told).toEqual([])
  }
})

test('a thread has the text that a hook has put in the place of that of the model (W35)', async () => {
  const masked: Change = (messages) =>
    messages.map((message) =>
      message.role === 'assistant'
        ? {
            ...message,
            content: message.content.map((part) => (part.type === 'text' ? { ...part, text: '***' } : part)),
          }
        : message,
    )
  const { messages } = await changed(masked)
  expect(messages.filter(({ role }) => role === 'assistant').map(textOf)).toEqual(['***', '***'])
})

test('a message that a hook changes after it has asked somebody is shown as it was changed (W35)', async () => {
  const hook: Middleware = {
    name: 'hook',
    afterModel: ({ messages }, { answers }) => {
      if (answers.length === 0) throw interrupt('May I say this?')
      return {
        messages: messages.map((message) =>
          message.role === 'assistant' ? { ...message, content: [{ type: 'text', text: '***' }] } : message,
        ),
      }
    },
  }
  const agent = createAgent({ model: scriptedModel([respond(say('A secret.'))]), middleware: [hook] })
  const threads = createThreads({ agent, store: memoryThreads() })
  const { interrupts = [] } = await (await threads.send('t', 'Go')).result
  const turn = await threads.answer('t', { [interrupts[0]?.id ?? '']: 'no' })
  const { text } = await turn.result
  const { messages } = await threads.read('t')
  expect([text, messages.map(({ message }) => textOf(message))]).toEqual(['***', ['Go', '***']])
})
