import { respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent } from '@meanwhile/core'
import { createThreads, memoryThreads, type ThreadStore } from '@meanwhile/threads'
import { expect, test } from 'vitest'
import { agUiHandler } from './ag-ui/index.ts'
import { chatHandler } from './ai-sdk/index.ts'

const SECRET = 'password authentication failed for user "app"'

/** A store of which these methods fail as soon as `isBroken`. */
function breaking(broken: readonly (keyof ThreadStore)[]) {
  const state = { isBroken: false }
  const store = new Proxy(memoryThreads(), {
    get(target, name: keyof ThreadStore) {
      const value: unknown = target[name]
      if (typeof value !== 'function') return value
      return async (...given: unknown[]) => {
        if (state.isBroken && broken.includes(name)) throw new Error(SECRET)
        return value.apply(target, given)
      }
    },
  })
  return { state, store }
}

const json = { 'content-type': 'application/json' }

const REQUESTS = {
  chat: (text: string) => ({ id: 't', messages: [{ id: text, role: 'user', parts: [{ type: 'text', text }] }] }),
  'ag-ui': (content: string) => ({ threadId: 't', runId: 'r', messages: [{ id: content, role: 'user', content }] }),
}

const CASES = (['chat', 'ag-ui'] as const).flatMap((door) =>
  (['change', 'load', 'events', 'turns'] as const).flatMap((method) =>
    (['message', 'reload'] as const).map((request) => ({ door, method, request })),
  ),
)

test.for(CASES)(
  'of an error of the store the operator learns, and the page only that there was one: $door, $method, $request (W37)',
  async ({ door, method, request }) => {
    const { state, store } = breaking([method])
    const model = scriptedModel(Array.from({ length: 3 }, () => respond(say('Hello.'))))
    const threads = createThreads({ agent: createAgent({ model }), store, onError: () => undefined })
    const heard: unknown[] = []
    const onError = (error: unknown, { url }: Request) => void heard.push([String(error), new URL(url).pathname])
    const options = { threads, open: () => undefined, onError }
    const handler = door === 'chat' ? chatHandler(options) : agUiHandler(options)
    await (await threads.send('t', 'Hi')).result
    state.isBroken = true
    const isRead = door === 'chat' && request === 'reload'
    const body = request === 'message' ? REQUESTS[door]('Hello') : { ...REQUESTS[door]('Hello'), messages: [] }
    const asked = isRead
      ? new Request('http://x/api/chat/t/stream')
      : new Request(`http://x/api/${door}`, { method: 'POST', headers: json, body: JSON.stringify(body) })
    let shown = ''
    try {
      shown = await (await handler(asked)).text()
    } catch (error) {
      shown = 'thrown: error'
      expect(String(error)).toContain(SECRET)
    }
    expect(shown).not.toContain(SECRET)
    const isTold = /error/i.test(shown)
    expect(heard.length > 0).toBe(isTold)
    for (const one of heard) expect(one).toEqual([`Error: ${SECRET}`, new URL(asked.url).pathname])
    await threads.close()
  },
)
