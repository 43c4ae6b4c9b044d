/** Opens a chat server in this process, with the same model and the same tool. What it opens ends with the process. */

import { setTimeout as wait } from 'node:timers/promises'
import { respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { openai } from '@meanwhile/models/openai'
import { createThreads, memoryThreads, type ThreadStore } from '@meanwhile/threads'
import { postgresThreads, setUpPostgresThreads } from '@meanwhile/threads/postgres'
import { sqliteThreads } from '@meanwhile/threads/sqlite'
import { chatHandler } from '@meanwhile/ui/ai-sdk'
import OpenAI from 'openai'
import type { Pool } from 'pg'
import { z } from 'zod'
import { countedThreads } from './counts.ts'
import type { Handle } from './http.ts'
import type { SetUp } from './setups.ts'

export interface Place {
  readonly modelUrl: string
  /** The file of a SQLite database. */
  readonly file: string
  readonly pool: Pool
}

export interface ChatServer {
  readonly handle: Handle
  /** Gives a thread this many turns, each a message and an answer of the size of a paragraph. */
  seed(thread: string, turns: number): Promise<void>
}

const INPUT = z.object({ city: z.string(), day: z.string(), unit: z.string() })
const DESCRIPTION = 'Looks up the weather.'
const TOOL_MS = 100

async function look({ city }: z.infer<typeof INPUT>): Promise<string> {
  await wait(TOOL_MS)
  return `${city}: sunny, 24`
}

const SAID = 'What is the weather like there? '.repeat(6)
const ANSWERED = 'It will be sunny all day. '.repeat(16)

export async function openServer(setUp: SetUp, place: Place): Promise<ChatServer> {
  return setUp.library === 'ai' ? await aiServer(setUp, place) : await threadsServer(setUp, place)
}

async function threadsServer({ store: name }: SetUp, { modelUrl, file, pool }: Place): Promise<ChatServer> {
  if (name === 'postgres') await setUpPostgresThreads({ pool })
  const stores: Readonly<Record<NonNullable<SetUp['store']>, () => ThreadStore>> = {
    memory: memoryThreads,
    sqlite: () => sqliteThreads(file),
    postgres: () => postgresThreads({ pool, prepared: (statement) => pool.query(statement) }),
  }
  const store = countedThreads(stores[name ?? 'memory']())
  const client = new OpenAI({ baseURL: modelUrl, apiKey: 'none', maxRetries: 0 })
  const tools = [tool({ name: 'look', description: DESCRIPTION, input: INPUT, effect: 'read', execute: look })]
  const model = openai({ client, model: 'm', api: 'chat' })
  const agent = createAgent({ name: 'chat', model, tools, middleware: [eagerTools()] })
  const threads = createThreads({ agent, store })
  const seeded = () => createAgent({ name: 'chat', model: scriptedModel([respond(say(ANSWERED))]) })
  const seeds = createThreads({ agent: seeded, store })
  return {
    handle: chatHandler({ threads, open: () => undefined }),
    async seed(thread, turns) {
      for (let n = 0; n < turns; n++) await (await seeds.send(thread, SAID)).result
    },
  }
}

/** With a pool: one row for the message and one for the answer, as its guide shows it. */
async function aiServer({ store }: SetUp, { modelUrl, pool }: Place): Promise<ChatServer> {
  const [{ convertToModelMessages, isStepCount, streamText, tool }, { createOpenAI }] = await Promise.all([
    import('ai'),
    import('@ai-sdk/openai'),
  ])
  const model = createOpenAI({ baseURL: modelUrl, apiKey: 'none' }).chat('m')
  const tools = { look: tool({ description: DESCRIPTION, inputSchema: INPUT, execute: look }) }
  const isStored = store === 'postgres'
  if (isStored)
    await pool.query(`CREATE TABLE IF NOT EXISTS messages (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, chat text NOT NULL, message jsonb NOT NULL
    ); CREATE INDEX IF NOT EXISTS messages_of_chat ON messages (chat, id)`)
  type Messages = Parameters<typeof convertToModelMessages>[0]
  const add = (chat: string, message: object) =>
    pool.query('INSERT INTO messages (chat, message) VALUES ($1, $2)', [chat, JSON.stringify(message)])
  async function messagesOf(chat: string, message: Messages[number]): Promise<Messages> {
    if (!isStored) return [message]
    await add(chat, message)
    const { rows } = await pool.query('SELECT message FROM messages WHERE chat = $1 ORDER BY id', [chat])
    return rows.map((row): Messages[number] => row.message)
  }
  return {
    async handle(request) {
      const body: { readonly id: string; readonly messages: Messages } = JSON.parse(await request.text())
      const [message] = body.messages
      if (!message) return new Response(null, { status: 400 })
      const messages = await messagesOf(body.id, message)
      const result = streamText({
        model,
        tools,
        messages: await convertToModelMessages(messages),
        stopWhen: isStepCount(5),
      })
      if (!isStored) return result.toUIMessageStreamResponse()
      void result.consumeStream()
      return result.toUIMessageStreamResponse({
        generateMessageId: () => crypto.randomUUID(),
        onFinish: async ({ responseMessage }) => void (await add(body.id, responseMessage)),
      })
    },
    async seed(thread, turns) {
      const of = (role: string, text: string) => ({ id: crypto.randomUUID(), role, parts: [{ type: 'text', text }] })
      for (let n = 0; n < turns; n++) {
        await add(thread, of('user', SAID))
        await add(thread, of('assistant', ANSWERED))
      }
    },
  }
}
