/** A chat with tools of each kind, served to AG-UI clients. */

import { respond, type ScriptedResponse, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, interrupt, type ModelRequest, type Tool, textOf, tool } from '@meanwhile/core'
import { approve, planTasks, retryModel } from '@meanwhile/middleware'
import { createThreads, memoryThreads, type Threads } from '@meanwhile/threads'
import { expect, onTestFinished } from 'vitest'
import { z } from 'zod'
import { type AgUiHandlerOptions, agUiHandler, toAgUiMessages } from '../src/ag-ui/index.ts'
import { Client, comparable, serve } from './ag-ui.ts'

export const JSON_BODY = { 'content-type': 'application/json' }

export const look = tool({
  name: 'look',
  description: 'Looks.',
  input: z.object({ at: z.string() }),
  effect: 'read',
  async *execute({ at }) {
    yield { progress: 0.5, message: 'half' }
    return { seen: at }
  },
}) as Tool

const mail = tool({
  name: 'mail',
  description: 'Sends mail.',
  input: z.object({ to: z.string() }),
  execute: ({ to }) => `Sent to ${to}.`,
}) as Tool

const ask = tool({
  name: 'ask',
  description: 'Asks.',
  input: z.object({}),
  execute: (_, { answers }) =>
    answers[0] ?? interrupt({ question: 'How many?' }, { answer: z.object({ count: z.number() }) }),
}) as Tool

const choose = tool({
  name: 'choose',
  description: 'The user chooses.',
  input: z.object({ of: z.array(z.string()) }),
  output: z.object({ chosen: z.string() }),
}) as Tool

export const SECRET = 'postgres://admin:hunter2@db.internal'

const broken = tool({
  name: 'broken',
  description: 'Breaks.',
  input: z.object({}),
  execute: () => {
    throw new Error(`cannot connect to ${SECRET}`)
  },
}) as Tool

interface Given extends Partial<AgUiHandlerOptions> {
  readonly tools?: readonly Tool[]
}

export async function stage(script: readonly ScriptedResponse[], { tools = [], ...options }: Given = {}) {
  const middleware = [approve({ tools: ['mail'] }), planTasks(), retryModel({ maxRetries: 1, jitter: 0 })]
  const model = scriptedModel(script)
  const agent = createAgent({ model, tools: [look, mail, ask, choose, broken, ...tools], middleware })
  const threads = createThreads({ agent, store: memoryThreads() })
  const { url, sent, close } = await serve(agUiHandler({ threads, open: () => undefined, ...options }))
  onTestFinished(close)
  return { url, sent, threads, client: (threadId = 't') => new Client(`${url}/api/ag-ui`, threadId) }
}

/** Checks that this client, a new client and the thread have the same messages. */
export async function expectEqual(client: Client, threads: Threads): Promise<void> {
  const { threadId } = client.agent
  const inThread = comparable([...toAgUiMessages(await threads.read(threadId))])
  expect(client.messages).toEqual(inThread)
  const late = new Client(client.agent.url, threadId)
  await late.run()
  expect(late.messages).toEqual(inThread)
  expect(late.agent.pendingInterrupts).toEqual(client.agent.pendingInterrupts)
}

export const answerOf = ({ messages }: ModelRequest) =>
  respond(say(`So: ${textOf(messages[messages.length - 1] as never)}`))
