/** The table of clients and features: after each, the page shows what the thread has, and the model has read the same. */

import { textOf } from '@meanwhile/core'
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { launchBrowser } from '../../bench/test/browser.ts'
import { buildPages } from './build-pages.ts'
import { type Server, serve } from './server.ts'

/** The file of the page of each client. */
const CLIENTS = { 'useChat of React': 'react.tsx', 'Chat of Vue': 'vue.ts' } as const

let pages: ReadonlyMap<string, string | Uint8Array>
let browser: Browser

beforeAll(async () => {
  pages = await buildPages(Object.values(CLIENTS))
  browser = await launchBrowser()
})

afterAll(() => browser?.close())

interface Tab {
  readonly page: Page
  send(text: string, button?: string): Promise<void>
  click(button: string): Promise<void>
  /** Waits until the page shows this text. */
  shows(text: string): Promise<void>
  /** Waits until the page does nothing. */
  isReady(): Promise<void>
}

function tabOf(page: Page): Tab {
  const at = (found: Locator) => found.first().waitFor()
  return {
    page,
    async send(text, button = 'Send') {
      await page.getByLabel('Message').fill(text)
      await page.getByRole('button', { name: button, exact: true }).click()
    },
    click: (button) => page.getByRole('button', { name: button, exact: true }).first().click(),
    shows: (text) => at(page.getByText(text)),
    isReady: () => at(page.locator('output', { hasText: /^ready$/ })),
  }
}

interface Play extends Tab {
  readonly server: Server
  /** Opens another tab of the same chat. */
  another(): Promise<Tab>
  reload(): Promise<void>
  texts(): Promise<readonly string[]>
}

const FEATURES: Readonly<Record<string, (play: Play) => Promise<void>>> = {
  async 'text and reasoning'({ send, shows }) {
    await send('Hello')
    await shows('You said Hello.')
  },
  async 'cards of tools'({ send, shows }) {
    await send('look')
    await shows('So: seen y.')
    await shows('look output-available')
  },
  async 'the result of an early call, while the model is writing'({ send, shows, server }) {
    await send('early')
    await shows('look output-available preliminary "seen x"')
    server.letGo()
    await shows('So: seen x.')
  },
  async 'a tool that fails'({ page, send, shows }) {
    await send('broken')
    await shows('broken output-error')
    await shows('So: ')
    expect(await page.locator('section').allTextContents()).not.toContain('secret-host')
  },
  async 'progress, and a reload while the tool runs'({ send, shows, server, reload }) {
    await send('slow')
    await shows('slow output-available preliminary')
    await reload()
    await shows('"message":"half"')
    server.letGo()
    await shows('So: at last.')
  },
  async 'an approval, and a reload before it'({ send, shows, click, server, reload }) {
    await send('mail')
    await shows('mail approval-requested')
    await reload()
    await click('Allow')
    await shows('So: sent to ada.')
    expect(server.did).toEqual(['mail ada'])
  },
  async 'two approvals, one of them denied'({ send, shows, click, server }) {
    await send('mail two')
    await click('Allow')
    await shows('mail approval-responded')
    await click('Deny')
    await shows('mail output-denied')
    await shows('So: ')
    expect(server.did).toEqual(['mail ada'])
  },
  async 'a tool of the page, which runs once'({ page, send, shows }) {
    await send('choose')
    await shows('So: red.')
    expect(await page.evaluate(() => window.ran)).toHaveLength(1)
  },
  async 'a question of a tool, and a reload before it'({ page, send, shows, click, reload }) {
    await send('ask')
    await shows('How many?')
    await reload()
    await page.getByLabel('count').fill('3')
    await click('Answer')
    await shows('So: {"count":3}.')
  },
  async 'the stop button, and the next message'({ send, shows, click, server }) {
    await send('slow')
    await shows('slow output-available preliminary')
    await click('Stop')
    await expect.poll(async () => (await server.threads.read('t')).turns[0]?.status).toBe('stopped')
    await send('Hello')
    await shows('You said Hello.')
  },
  async 'an edit of the first message'({ send, shows, texts }) {
    for (const text of ['one', 'two']) {
      await send(text)
      await shows(`You said ${text}.`)
    }
    await send('other', 'Edit')
    await shows('You said other.')
    expect(await texts()).toEqual(['other', 'You said other.'])
  },
  async 'an edit that cuts the list'({ send, shows, texts }) {
    await send('one')
    await shows('You said one.')
    await send('other', 'Cut')
    await shows('You said other.')
    expect(await texts()).toEqual(['other', 'You said other.'])
  },
  async 'another answer'({ page, send, shows, click, server }) {
    await send('one')
    await shows('You said one.')
    const before = await page.evaluate(() => window.shown?.at(-1)?.id)
    await click('Try again')
    await expect.poll(() => page.evaluate(() => window.shown?.at(-1)?.id)).not.toBe(before)
    await shows('You said one.')
    expect(server.read).toHaveLength(2)
  },
  async 'a failure, and try again'({ send, shows, click }) {
    await send('fails')
    await shows('Something went wrong.')
    await click('Try again')
    await shows('You said fails.')
  },
  async 'a file'({ send, shows, server }) {
    await send('A picture', 'Attach')
    await shows('You said ')
    expect(JSON.stringify((await server.threads.read('t')).messages[0]?.message)).toContain('image/png')
  },
  async 'two tabs, of which the second is loaded again'({ send, shows, click, another, server }) {
    await send('mail')
    await shows('mail approval-requested')
    const other = await another()
    await other.click('Allow')
    await other.shows('So: sent to ada.')
    await click('Allow')
    await shows('no longer open')
    expect(server.did).toEqual(['mail ada'])
  },
}

/**
 * Features after which the page is loaded again before it is compared. A page that has stopped reads no more of its turn, and a tab that came too late
 * has only its error: `useChat` has nothing else for them.
 */
const LOADED_AGAIN = ['the stop button, and the next message', 'two tabs, of which the second is loaded again']

/** What a page and a history have in common: a page has parts that are undefined. */
const plain = (messages: unknown) => JSON.parse(JSON.stringify(messages))

describe.each(Object.entries(CLIENTS))('%s', (_, client) => {
  test.each(Object.entries(FEATURES))('%s', async (name, play) => {
    await using server = await serve(pages)
    const context = await browser.newContext()
    try {
      const open = async () => {
        const page = await context.newPage()
        page.setDefaultTimeout(20_000)
        await page.goto(`${server.url}/${client}#t`)
        await page.getByLabel('Message').waitFor()
        return tabOf(page)
      }
      const tab = await open()
      const reload = async () => {
        await tab.page.reload()
        await tab.page.getByLabel('Message').waitFor()
      }
      const texts = () => tab.page.locator('article').evaluateAll((all) => all.map((one) => one.textContent ?? ''))
      await play({ ...tab, server, another: open, reload, texts })
      if (LOADED_AGAIN.includes(name)) await reload()
      await tab.isReady()
      const history = plain(await server.history('t'))
      expect(plain(await tab.page.evaluate(() => window.shown))).toMatchObject(history)
      const { messages } = await server.threads.read('t')
      const said = messages.flatMap(({ message }) => (message.role === 'user' ? [textOf(message)] : []))
      expect(server.read.at(-1)).toEqual(said)
    } finally {
      await context.close()
    }
  })
})
