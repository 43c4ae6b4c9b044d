// What only a quiet machine can measure: `node --conditions=@meanwhile/source examples/chat/trials/measure.ts [TURNS]` compares what each of 20 turns
// would have taken with the switch in its other position with what it has taken there, and prints how far the page has jumped. It ends with 1 if a turn
// is off by more than 3 % and 100 ms, or a page jumps by more than 0.05.

import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium, type Page } from 'playwright-core'
import { build } from 'vite'
import { startServer } from '../server.ts'
import { type Times, totals } from '../times.ts'
import { launchBrowser } from './browser.ts'

const TURNS = Number(process.argv[2] ?? 20)
const QUESTIONS = ['Plan a weekend in Lisbon', 'What is the weather in Rome and Oslo?', 'What is the weather in Lima?']

const folder = await mkdtemp(join(tmpdir(), 'meanwhile-chat-'))
process.once('exit', () => rmSync(folder, { recursive: true }))
const page = join(folder, 'page')
await build({ root: join(import.meta.dirname, '..'), logLevel: 'warn', build: { outDir: page } })
const server = await startServer({ page, file: join(folder, 'chat.db'), port: 0 })
const launched = await launchBrowser()
const browser = await chromium.connect(launched.wsEndpoint())

/** Lets the page add up its layout shifts, except those right after an input of the user (Layout Instability, section 2.3). */
const WATCH = `new PerformanceObserver((list) => {
  for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) globalThis.shift += value
}).observe({ type: 'layout-shift', buffered: true })`

async function ask(tab: Page, question: string): Promise<{ readonly times: Times; readonly shift: number }> {
  await tab.evaluate('globalThis.shift = 0')
  await tab.getByLabel('Message', { exact: true }).fill(question)
  await tab.keyboard.press('Enter')
  await tab.getByRole('button', { name: 'Stop' }).waitFor()
  await tab.getByRole('button', { name: 'Send' }).waitFor()
  const turn: string = await tab.evaluate('chat.messages.at(-1).id')
  const response = await fetch(`${server.url}/api/times/${turn}`)
  const times = (await response.json()) as Times
  return { times, shift: await tab.evaluate('globalThis.shift') }
}

let isFine = true
for (const width of [1440, 390]) {
  const tab = await browser.newPage({ viewport: { width, height: 844 } })
  await tab.goto(server.url)
  await tab.evaluate('globalThis.shift = 0')
  await tab.evaluate(WATCH)
  for (let turn = 0; turn < TURNS / 2; turn++) {
    const question = QUESTIONS[turn % QUESTIONS.length] ?? ''
    const on = await ask(tab, question)
    await tab.getByRole('switch').click()
    const off = await ask(tab, question)
    await tab.getByRole('switch').click()
    for (const [of, was] of [
      [on, off],
      [off, on],
    ] as const) {
      const would = totals(of.times).other
      const { total } = totals(was.times)
      const isOff = Math.abs(would - total) > Math.max(100, 0.03 * total)
      if (isOff || of.shift > 0.05) isFine = false
      const position = of.times.early ? 'on ' : 'off'
      console.log(
        `${width} ${position} would ${would} was ${total}${isOff ? ' OFF' : ''}  shift ${of.shift.toFixed(3)}  ${question}`,
      )
    }
  }
}
await launched.close()
await server.close()
process.exitCode = isFine ? 0 : 1
