/** The table of clients and features: after each, the page shows what the thread has, and the model has read the same. */

import { HttpAgent } from '@ag-ui/client'
import { HttpAgent as OlderAgent } from '@ag-ui/client-59'
import { textOf } from '@meanwhile/core'
import { toAgUiMessages } from '@meanwhile/ui/ag-ui'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { launchBrowser } from '../../bench/test/browser.ts'
import { buildPage } from './build-page.ts'
import { CLIENTS, type Client, WORDS } from './clients.ts'
import { FEATURES, LOADED_AGAIN } from './features.ts'
import { agentTab } from './http-agent.ts'
import { inShort } from './in-short.ts'
import { type Server, serve } from './server.ts'
import { pageTab, type Tab } from './tab.ts'
import { PAGE, pageOf } from './table.ts'

/** The built files, by path. */
const pages = new Map<string, string | Uint8Array>()
let browser: Browser

beforeAll(async () => {
  browser = await launchBrowser()
})

/** The features of each client that work. */
const working = new Map<string, Set<string>>()

afterAll(async () => {
  await browser?.close()
})

/** Returns a function that opens a tab of the thread `t`. */
async function tabsOf(name: string, { page: file }: Client, { url }: Server): Promise<() => Promise<Tab>> {
  if (file === undefined) {
    const Agent = name.includes('0.0.59') ? OlderAgent : HttpAgent
    return () => agentTab(Agent, `${url}/api/ag-ui`, 't')
  }
  if (!pages.has(file)) for (const [path, content] of await buildPage(file)) pages.set(path, content)
  const context = await browser.newContext()
  onTestFinished(() => context.close())
  return async () => {
    const page = await context.newPage()
    page.setDefaultTimeout(60_000)
    await page.goto(`${url}/${file}#t`)
    await page.getByLabel('Message').waitFor()
    return pageTab(page)
  }
}

/** What a page and a history have in common: a page has parts that are undefined. */
const plain = (messages: unknown) => JSON.parse(JSON.stringify(messages))

describe.each(Object.entries(CLIENTS))('%s', (name, client) => {
  const { door, limits = {} } = client
  test.each(Object.entries(FEATURES).filter(([feature]) => !limits[feature]))('%s', async (feature, play) => {
    await using server = await serve(pages)
    const another = await tabsOf(name, client, server)
    const tab = await another()
    await play({ ...tab, server, another, words: WORDS[door] })
    if (LOADED_AGAIN.includes(feature)) await tab.reload()
    await tab.isReady()
    const state = await server.threads.read('t')
    if (door === 'ai-sdk') expect(plain(await tab.messages())).toMatchObject(plain(await server.history('t')))
    else expect(inShort(await tab.messages())).toEqual(inShort(toAgUiMessages(state)))
    const said = state.messages.flatMap(({ message }) => (message.role === 'user' ? [textOf(message)] : []))
    expect(server.read.at(-1)).toEqual(said)
    working.set(name, (working.get(name) ?? new Set()).add(feature))
  })
})

test('the page has the table that these trials have made (W34, W35, W36, W37, W38, W39)', async () => {
  await expect(pageOf(working)).toMatchFileSnapshot(PAGE)
})
