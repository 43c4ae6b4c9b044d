/** The setup of all trials: the page, a server that can be killed, and a browser. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { UIMessage } from 'ai'
import type { Browser, Page } from 'playwright-core'
import { build } from 'vite'
import { expect, vi } from 'vitest'
import { launchBrowser } from './browser.ts'
import { serveTrialModel } from './model.ts'

const ROOT = join(import.meta.dirname, '..')

/** Builds the page into this folder. */
export async function buildPage(folder: string): Promise<void> {
  await build({ root: ROOT, logLevel: 'warn', build: { outDir: folder, emptyOutDir: true } })
}

/** The environment of a server that uses this model. */
export function environmentOf(model: { readonly url: string }): NodeJS.ProcessEnv {
  const { ANTHROPIC_API_KEY: _, ...rest } = process.env
  return { ...rest, OPENAI_API_KEY: 'a', OPENAI_BASE_URL: `${model.url}/v1` }
}

/** Opens a page of a thread in its own browser context. */
export async function openPage(browser: Browser, url: string, thread: string): Promise<Page> {
  const page = await (await browser.newContext()).newPage()
  page.setDefaultTimeout(15_000)
  await page.goto(`${url}/#${thread}`)
  await page.getByLabel('Message', { exact: true }).waitFor()
  return page
}

/** The messages of a thread, from a server. */
export async function historyAt(url: string, thread: string): Promise<readonly UIMessage[]> {
  const response = await fetch(`${url}/api/chat/${thread}`)
  return ((await response.json()) as { messages: UIMessage[] }).messages
}

export interface Trial extends AsyncDisposable {
  /** What the server has printed, over all its lives. */
  readonly printed: readonly string[]
  /** Opens a page of this thread in its own browser context. */
  open(thread: string): Promise<Page>
  /** Of a thread, from the server. */
  history(thread: string): Promise<readonly UIMessage[]>
  /** SIGKILL. */
  kill(): Promise<void>
  /** SIGTERM, which the server answers by closing everything. */
  end(): Promise<void>
  restart(): Promise<void>
}

export async function startTrial(): Promise<Trial> {
  await using stack = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-chat-'))
  stack.defer(() => rm(folder, { recursive: true }))
  const page = join(folder, 'page')
  await buildPage(page)
  const model = stack.use(await serveTrialModel())
  const printed: string[] = []
  let server: ChildProcess
  let port = '0'

  async function restart(): Promise<void> {
    const args = ['--conditions=@meanwhile/source', join(ROOT, 'trials/serve.ts'), page, join(folder, 'chat.db'), port]
    server = spawn(process.execPath, args, { env: environmentOf(model), stdio: ['ignore', 'pipe', 'inherit'] })
    if (!server.stdout) throw new Error('the server has no output')
    const lines = createInterface({ input: server.stdout })
    await new Promise<void>((resolve, reject) => {
      server.once('exit', (code) => reject(new Error(`the server ended with ${code}`)))
      lines.on('line', (line) => {
        printed.push(line)
        const [, given] = /^listening .*:(\d+)$/.exec(line) ?? []
        if (given === undefined) return
        port = given
        resolve()
      })
    })
  }

  async function send(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const ended = once(server, 'exit')
    if (server.kill(signal)) await ended
  }

  await restart()
  stack.defer(() => send('SIGKILL'))
  const browser: Browser = await launchBrowser()
  stack.defer(() => browser.close())
  const everything = stack.move()
  const url = () => `http://localhost:${port}`
  return {
    printed,
    kill: () => send('SIGKILL'),
    end: () => send('SIGTERM'),
    restart,
    open: (thread) => openPage(browser, url(), thread),
    history: (thread) => historyAt(url(), thread),
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  }
}

export async function say(page: Page, text: string): Promise<void> {
  const { length } = await messagesOf(page)
  await page.getByLabel('Message', { exact: true }).fill(text)
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.waitForFunction(`chat.messages.length > ${length}`)
}

export const click = (page: Page, name: string): Promise<void> =>
  page.getByRole('button', { name, exact: true }).click()

/** Waits until the page only waits for its user. */
export async function isQuiet(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
}

/** The messages that `useChat` has. */
export const messagesOf = (page: Page): Promise<UIMessage[]> => page.evaluate('chat.messages')

/** The texts of the last message that `useChat` has, with the cards as `name state`. */
export async function lastOf(page: Page): Promise<readonly string[]> {
  const parts = (await messagesOf(page)).at(-1)?.parts ?? []
  return parts.flatMap((part) => {
    if (part.type === 'text') return [part.text]
    return part.type === 'dynamic-tool' ? [`${part.toolName} ${part.state}`] : []
  })
}

/** Checked at the end of each trial: the page has the messages that the thread has. */
export async function expectEqual({ history }: Pick<Trial, 'history'>, page: Page, thread: string): Promise<void> {
  await isQuiet(page)
  await vi.waitFor(async () =>
    expect((await messagesOf(page)).map(withoutAnswers)).toEqual((await history(thread)).map(withoutAnswers)),
  )
}

/** Only the page that has given an answer to an approval remembers it, and only until it is loaded again. */
function withoutAnswers(message: UIMessage): UIMessage {
  const parts = message.parts.map((part) =>
    part.type === 'dynamic-tool' && part.state !== 'approval-requested' ? { ...part, approval: undefined } : part,
  )
  return { ...message, parts: parts as UIMessage['parts'] }
}
