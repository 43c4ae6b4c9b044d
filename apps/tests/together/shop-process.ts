/**
 * A process of an application with threads over a SQLite file, whose tools come from an MCP server. It executes the order in its arguments, prints the
 * result, and ends. For tests.
 */

import { join } from 'node:path'
import { call, respond, type ScriptResponse, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, type Json, type Message, type ModelRequest, textOf } from '@meanwhile/core'
import { mcp } from '@meanwhile/mcp'
import { createThreads } from '@meanwhile/threads'
import { sqliteThreads } from '@meanwhile/threads/sqlite'
import { chatHandler } from '@meanwhile/ui/ai-sdk'

/** What a process does. The text of a message is the name of a tool, which the model then calls. */
export type ShopOrder =
  | { readonly send: string; readonly live?: true }
  | { readonly answer: Json }
  | { readonly get: string }
  | { readonly post: object }

const [FOLDER = '', protocol = '', given = '{}'] = process.argv.slice(2)
const order = JSON.parse(given) as ShopOrder

function script({ messages }: ModelRequest): ScriptResponse {
  const last = messages.at(-1) as Message
  return last.role === 'tool' ? respond(say(`So: ${textOf(last)}.`)) : respond(call(textOf(last)))
}

const program = new URL('./shop-server.ts', import.meta.url).pathname
await using servers = mcp({
  servers: { shop: { command: process.execPath, args: [program, protocol], env: { FOLDER } } },
  trust: 'annotations',
  ...('live' in order && { questions: async () => ({ action: 'accept', content: { sure: true } }) }),
})
const store = sqliteThreads(join(FOLDER, 'chat.db'))
const agent = createAgent({ model: scriptedModel([script, script]), middleware: [servers] })
const threads = createThreads({ agent, store })
const handler = chatHandler({ threads, open: () => undefined })

async function executed(): Promise<unknown> {
  if ('get' in order) return await (await handler(new Request(`http://shop.test/api/chat/${order.get}`))).json()
  if ('post' in order) {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(order.post) }
    return await (await handler(new Request('http://shop.test/api/chat', init))).text()
  }
  const turn =
    'send' in order
      ? await threads.send('t', order.send)
      : await threads.answer('t', { [(await threads.read('t')).interrupts[0]?.id ?? '']: order.answer })
  const { text, interrupts, error } = await turn.result
  return { text, payload: interrupts?.[0]?.payload, error }
}

process.stdout.write(JSON.stringify(await executed()))
await threads.close()
store.close()
