/** The server of all clients: an agent whose model answers by what the user writes, and both doors. It holds each state until a trial lets go. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { call, fail, respond, type ScriptResponse, say, scriptedModel, think } from '@meanwhile/assemble/testing'
import {
  agentTool,
  createAgent,
  interrupt,
  type Middleware,
  type ModelRequest,
  type Tool,
  textOf,
  tool,
} from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { approve } from '@meanwhile/middleware'
import { createThreads, memoryThreads, type Threads } from '@meanwhile/threads'
import { agUiHandler } from '@meanwhile/ui/ag-ui'
import { chatHandler } from '@meanwhile/ui/ai-sdk'
import type { UIMessage } from 'ai'
import { z } from 'zod'

export interface Server extends AsyncDisposable {
  readonly url: string
  readonly threads: Threads
  /** What the tools did. */
  readonly did: readonly string[]
  /** What the model has read of users. */
  readonly read: readonly (readonly string[])[]
  /** Lets everything go on that waits. */
  letGo(): void
  history(thread: string): Promise<UIMessage[]>
}

/** `pages`: the built files, by path. */
export async function serve(pages: ReadonlyMap<string, string | Uint8Array>): Promise<Server> {
  const { agent, did, read, letGo } = agentThatWaits()
  const threads = createThreads({ agent, store: memoryThreads(), onError: () => undefined })
  const options = { threads, open: () => undefined, edits: true }
  const [chat, agUi] = [chatHandler(options), agUiHandler(options)]
  const server = createServer((incoming, outgoing) => {
    const page = pages.get(new URL(incoming.url ?? '/', 'http://localhost').pathname.slice(1))
    const door = incoming.url?.startsWith('/api/ag-ui') ? agUi : chat
    if (page === undefined) handle(door, incoming, outgoing).catch((error: Error) => outgoing.destroy(error))
    else outgoing.setHeader('content-type', incoming.url?.endsWith('.js') ? 'text/javascript' : 'text/html').end(page)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    threads,
    did,
    read,
    letGo,
    async history(thread) {
      const { messages } = (await (await fetch(`${url}/api/chat/${thread}`)).json()) as { messages: UIMessage[] }
      return messages
    },
    async [Symbol.asyncDispose]() {
      letGo()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await threads.close()
    },
  }
}

async function handle(door: (request: Request) => Promise<Response>, incoming: IncomingMessage, out: ServerResponse) {
  const { method = 'GET', url, headers } = incoming
  const body = method === 'POST' ? new Uint8Array(await buffer(incoming)) : undefined
  const type = { 'content-type': headers['content-type'] ?? '' }
  const response = await door(new Request(`http://localhost${url}`, { method, headers: type, ...(body && { body }) }))
  out.writeHead(response.status, Object.fromEntries(response.headers))
  out.flushHeaders()
  const reader = response.body?.getReader()
  out.once('close', () => void reader?.cancel())
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true }
    if (done || !value) break
    out.write(value)
  }
  out.end()
}

function agentThatWaits() {
  const did: string[] = []
  const read: string[][] = []
  const { promise: gone, resolve: letGo } = Promise.withResolvers<void>()
  const untilAbort = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  const at = z.object({ at: z.string() })
  const look = tool({
    name: 'look',
    description: 'Looks.',
    input: at,
    effect: 'read',
    execute: ({ at }) => `seen ${at}`,
  })
  const slow = tool({
    name: 'slow',
    description: 'Waits.',
    input: z.object({}),
    async *execute(_, { signal }) {
      did.push('slow')
      yield { progress: 0.5, message: 'half' }
      await Promise.race([gone, untilAbort(signal)])
      return 'at last'
    },
  })
  const mail = tool({
    name: 'mail',
    description: 'Sends mail.',
    input: z.object({ to: z.string() }),
    execute({ to }) {
      did.push(`mail ${to}`)
      return `sent to ${to}`
    },
  })
  const broken = tool({
    name: 'broken',
    description: 'Fails.',
    input: z.object({}),
    execute() {
      throw new Error('secret-host')
    },
  })
  const choose = tool({ name: 'choose', description: 'The page chooses.', input: z.object({}), output: z.string() })
  const ask = tool({
    name: 'ask',
    description: 'Asks.',
    input: z.object({}),
    execute: (_, { answers }) =>
      answers[0] ?? interrupt({ question: 'How many?' }, { answer: z.object({ count: z.number() }) }),
  })
  const build = tool({
    name: 'build',
    description: 'Builds.',
    input: z.object({}),
    background: true,
    async execute(_, { signal }) {
      await Promise.race([gone, untilAbort(signal)])
      return 'built'
    },
  })
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    input: z.object({ to: z.string() }),
    execute({ to }) {
      did.push(`pay ${to}`)
      return `paid ${to}`
    },
  })
  const clerk = createAgent({
    name: 'clerk',
    description: 'Pays bills.',
    model: scriptedModel(
      Array.from(
        { length: 9 },
        () =>
          ({ messages }: ModelRequest) =>
            messages.at(-1)?.role === 'tool' ? respond(say('Paid.')) : respond(call('pay', { to: 'ada' })),
      ),
    ),
    tools: [pay] as Tool[],
    middleware: [approve({ tools: ['pay'] })],
  })
  /** Holds the response of `early` after its call. */
  const holding: Middleware = {
    name: 'holding',
    async *wrapModel(request, next) {
      const flow = next(request)
      for (;;) {
        const step = await flow.next()
        if (step.done) return step.value
        yield step.value
        if (step.value.type === 'tool-call' && saidLast(request) === 'early')
          await Promise.race([gone, untilAbort(request.signal)])
      }
    },
  }
  let failures = 1
  const script = (request: ModelRequest): ScriptResponse => {
    const { messages } = request
    read.push(messages.filter(({ role }) => role === 'user').map((message) => textOf(message)))
    const last = messages.at(-1)
    if (last?.role === 'tool') return respond(say(`So: ${last.isError ? 'it has failed' : textOf(last)}.`))
    const text = saidLast(request)
    const calls = CALLS[text]
    if (text === 'fails' && failures-- > 0)
      return respond(say('I begin'), fail({ status: 400, message: 'secret-host' }))
    return calls ? respond(think('Hm.'), say('I begin.'), ...calls) : respond(say(`You said ${text}.`))
  }
  const agent = createAgent({
    model: scriptedModel(Array.from({ length: 50 }, () => script)),
    tools: [look, slow, mail, broken, choose, ask, build, agentTool(clerk)] as Tool[],
    middleware: [holding, approve({ tools: ['mail'] }), eagerTools()],
  })
  return { agent, did, read, letGo }
}

const CALLS: Readonly<Record<string, readonly ReturnType<typeof call>[]>> = {
  look: [call('look', { at: 'x' }), call('look', { at: 'y' })],
  early: [call('look', { at: 'x' })],
  slow: [call('slow', {})],
  mail: [call('mail', { to: 'ada' })],
  'mail two': [call('mail', { to: 'ada' }), call('mail', { to: 'bob' })],
  broken: [call('broken', {})],
  choose: [call('choose', {})],
  ask: [call('ask', {})],
  build: [call('build', {})],
  clerk: [call('clerk', { request: 'Pay ada.' })],
}

function saidLast({ messages }: ModelRequest): string {
  const last = messages.findLast(({ role }) => role === 'user')
  return last ? textOf(last) : ''
}
