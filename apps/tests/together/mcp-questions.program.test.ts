/** Questions of MCP servers that one process shows and another one answers. The processes share a SQLite file, and each starts its own server. */

import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { programAt } from '@meanwhile/tests/programs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { didIn } from './shop-journal.ts'
import type { ShopOrder } from './shop-process.ts'

const PROGRAM = programAt(new URL('./shop-process.ts', import.meta.url))

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'meanwhile-shop-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** What a new process does with the order. */
async function inProcess(protocol: '2025' | '2026', order: ShopOrder): Promise<unknown> {
  const args = [PROGRAM, folder, protocol, JSON.stringify(order)]
  const { stdout } = await promisify(execFile)(process.execPath, ['--no-warnings', ...args])
  return JSON.parse(stdout)
}

const yes = { sure: { action: 'accept', content: { sure: true } } }

test('a question of a 2026 server that a thread asks in one process is answered in another, by its server process, and acted on once (MC13, MC14)', async () => {
  expect(await inProcess('2026', { send: 'buy' })).toMatchObject({
    payload: { mcp: 'shop', tool: 'buy', requests: { sure: { params: { message: 'Sure?' } } } },
  })
  expect(await inProcess('2026', { answer: yes })).toEqual({ text: 'So: bought.' })
  expect(didIn(folder)).toEqual({ what: ['buy began', 'buy began', 'buy accept the cart'], processes: 2 })
})

/** What a page gets of a thread. */
interface Page {
  readonly messages: readonly { readonly id: string; readonly metadata?: { readonly questions?: readonly Card[] } }[]
}

interface Card {
  readonly id: string
  readonly payload: unknown
  readonly answerSchema: unknown
}

test('the card of useChat that one process has sent is answered in another, and acted on once (MC13, MC14)', async () => {
  const parts = [{ type: 'text', text: 'buy' }]
  const message = { id: 'm1', role: 'user', parts }
  const asked = await inProcess('2026', { post: { id: 't', trigger: 'submit-message', messages: [message] } })
  expect(asked).not.toContain('the cart')
  const { messages } = (await inProcess('2026', { get: 't' })) as Page
  const last = messages.at(-1)
  const [card] = last?.metadata?.questions ?? []
  expect(card).toMatchObject({ payload: { mcp: 'shop' }, answerSchema: { required: ['sure'] } })
  const post = {
    id: 't',
    trigger: 'submit-message',
    messages: [{ id: last?.id, role: 'assistant', parts: [] }],
    answers: { [card?.id ?? '']: yes },
  }
  expect(await inProcess('2026', { post })).toContain('bought')
  await inProcess('2026', { post })
  expect(didIn(folder).what).toEqual(['buy began', 'buy began', 'buy accept the cart'])
})

test('a question of a 2025 server is answered live in one call; that of a read, in another process, by a second call (MC15)', async () => {
  expect(await inProcess('2025', { send: 'book', live: true })).toEqual({ text: 'So: book: accept.' })
  expect(didIn(folder).what).toEqual(['book began', 'book accept'])
  expect(await inProcess('2025', { send: 'look' })).toMatchObject({
    payload: { tool: 'look', requests: { question: { params: { message: 'Sure?' } } } },
  })
  expect(await inProcess('2025', { answer: { question: yes.sure } })).toEqual({ text: 'So: look: accept.' })
  const count = (what: string) => didIn(folder).what.filter((one) => one === what).length
  expect([count('look began'), count('look accept'), count('book began')]).toEqual([2, 1, 1])
})
