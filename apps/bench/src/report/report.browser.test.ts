import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { AxeBuilder } from '@axe-core/playwright'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { startBench } from '../../test/bench-process.ts'
import { launchBrowser } from '../../test/browser.ts'

const DESKTOP = { width: 1280, height: 900 }
const TELEPHONE = { width: 390, height: 844 }

const SECTIONS = [
  'Where the time goes',
  'The figures',
  'The savings ledger',
  'Growth with the arguments',
  'Executions that the promise forbids',
  'How it was measured',
]

const BENCH = '--scenario f,a,d50,d100 --wire openai-chat,anthropic --runs 1 --faults'

let browser: Browser
let folder: string
let url: string

/** One report of a real bench, for all tests. */
beforeAll(async () => {
  browser = await launchBrowser()
  folder = await mkdtemp(join(tmpdir(), 'meanwhile-report-'))
  await using bench = await startBench(...BENCH.split(' '))
  const { code, stderr } = await bench.ended
  if (code !== 0) throw new Error(`the bench ended with ${code}: ${stderr}`)
  const file = join(folder, 'report.html')
  await writeFile(file, await bench.text('report.html'))
  url = pathToFileURL(file).href
})

afterAll(async () => {
  await browser?.close()
  if (folder) await rm(folder, { recursive: true })
})

test('the report states what was saved, and has a section for everything that was measured', async () => {
  const { page } = await opened()
  expect(await page.getByRole('heading', { level: 1 }).innerText()).toMatch(/^Answers come .* sooner$/)
  expect(await page.getByRole('heading', { level: 2 }).allInnerTexts()).toEqual(SECTIONS)
  expect(await page.locator('.savings .scenario').allInnerTexts()).toEqual([
    'f A slow call first',
    'a Three calls of equal length',
  ])
  expect(await rowHeads(page, 'figures')).toEqual(
    Array.from({ length: 4 }, () => ['OpenAI Chat', 'Anthropic Messages']).flat(),
  )
  expect(await rowHeads(page, 'ledger')).toEqual(
    Array.from({ length: 2 }, () => ['OpenAI Chat', 'Anthropic Messages']).flat(),
  )
  expect(await page.locator('section[aria-labelledby="ledger"] td:last-child').allInnerTexts()).toEqual([
    '6 of 6',
    '6 of 6',
    '3 of 3',
    '3 of 3',
  ])
  expect(await rowHeads(page, 'faults')).toEqual(expect.arrayContaining(['no fault', 'refusal, at every delta']))
})

test('each scenario has a picture for each wire, and the one of the chosen wire is shown', async () => {
  const { page } = await opened()
  for (const wire of ['OpenAI Chat', 'Anthropic Messages']) {
    await page.getByRole('radio', { name: wire }).check()
    expect(await pictures(page)).toEqual([
      `A slow call first, ${wire}`,
      `Three calls of equal length, ${wire}`,
      `50 KB of arguments, ${wire}`,
      `100 KB of arguments, ${wire}`,
      'CPU time by the size of the arguments',
    ])
  }
  const slow = page.getByRole('img', { name: 'A slow call first' })
  const [description] = await page.locator(`#${await slow.getAttribute('aria-describedby')}`).allTextContents()
  expect(description).toMatch(/^One by one: .* Parallel after the stream: .* Eager: [\d,]+ ms, .* saved\.$/)
  expect(await slow.locator('text').allTextContents()).toEqual(
    expect.arrayContaining([expect.stringMatching(/^Eager: /), expect.stringMatching(/^[\d,]+ ms saved$/)]),
  )
})

test('the report requests only itself, and nothing in it fails', async () => {
  const { page, seen } = await opened()
  await page.getByRole('radio', { name: 'Anthropic Messages' }).check()
  await page.getByText('The same as a table').click()
  expect(seen).toEqual([`request ${url}`])
})

// Colours do not depend on the width.
test.each([
  { colorScheme: 'light', viewport: DESKTOP },
  { colorScheme: 'dark', viewport: TELEPHONE },
] as const)('axe finds no violation: $colorScheme, $viewport.width pixels', async ({ colorScheme, viewport }) => {
  const { page } = await opened({ colorScheme, viewport })
  await page.getByText('The same as a table').click()
  const { violations, passes } = await new AxeBuilder({ page }).analyze()
  expect(
    violations.map(({ id, nodes }) => [id, nodes.map(({ html, failureSummary }) => [html, failureSummary])]),
  ).toEqual([])
  expect(passes.map(({ id }) => id)).toEqual(expect.arrayContaining(['color-contrast', 'svg-img-alt', 'region']))
})

test('the tab key reaches everything that scrolls or opens, in the order of the page', async () => {
  const { page } = await opened()
  const stops = [
    'radio "OpenAI Chat"',
    'region "Medians, in milliseconds',
    'region "As the eager runs report it, in milliseconds',
    'The same as a table',
    'region "By fault, over tools of every effect"',
  ]
  for (const stop of stops) {
    await page.keyboard.press('Tab')
    expect(await focused(page)).toContain(stop)
  }
  await page.keyboard.press('Shift+Tab')
  await page.keyboard.press('Enter')
  await page.keyboard.press('Tab')
  expect(await focused(page)).toContain('region "Median CPU time by the size of the arguments, in milliseconds"')
  expect(await page.getByRole('rowheader', { name: 'Bare loop' }).count()).toBe(2)
})

test('arrow keys choose the wire', async () => {
  const { page } = await opened()
  await page.keyboard.press('Tab')
  await page.keyboard.press('ArrowRight')
  expect((await pictures(page))[0]).toBe('A slow call first, Anthropic Messages')
})

test('on a phone nothing is wider than the screen, and the words in pictures are readable', async () => {
  const { page } = await opened({ viewport: TELEPHONE })
  expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(TELEPHONE.width)
  expect(await pictures(page)).toHaveLength(5)
  const sizes = await page.evaluate<number[]>(`[...document.querySelectorAll('.chart text')]
    .filter((text) => text.checkVisibility())
    .map((text) => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a)`)
  expect(sizes.length).toBeGreaterThan(30)
  expect(Math.min(...sizes)).toBeGreaterThan(10)
})

test('on a phone and on a desktop, a table that is too wide for its place shows that there is more to its right', async () => {
  const { page } = await opened()
  for (const width of [390, 1280]) {
    await page.setViewportSize({ width, height: 900 })
    const tables = await page.evaluate<readonly (readonly [string, boolean, boolean])[]>(`
      [...document.querySelectorAll('.scroll')].filter((region) => region.checkVisibility()).map((region) => [
        region.getAttribute('aria-labelledby'),
        region.scrollWidth > region.clientWidth,
        region.querySelector('.more')?.checkVisibility() ?? false,
      ])`)
    expect(tables.length, `${width} px`).toBeGreaterThan(2)
    for (const [id, isWider, isShown] of tables) expect([width, id, isShown || !isWider]).toEqual([width, id, true])
  }
})

test('on paper the pictures are the wide ones, with the names of their wires, and there are no controls', async () => {
  const { page } = await opened()
  await page.emulateMedia({ media: 'print' })
  expect(await page.getByRole('radio').count()).toBe(0)
  expect(await page.locator('.chart.narrow:visible').count()).toBe(0)
  expect(await page.locator('.chart.wide:visible').count()).toBe(5)
  expect(await page.locator('.wire:visible').allInnerTexts()).toEqual(Array.from({ length: 4 }, () => 'OpenAI Chat'))
  // A sheet of paper, 21 by 29.7 cm, without margins of one centimetre.
  await page.setViewportSize({ width: 718, height: 1046 })
  expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(718)
  const pdf = (await page.pdf({ format: 'A4' })).toString('latin1')
  expect(pdf.match(/\/Type \/Page\b/g)?.length).toBeGreaterThan(2)
})

test('without a browser the error shows how to install one', async () => {
  await expect(launchBrowser('/nowhere/chromium')).rejects.toThrow('`apt-get install chromium`')
})

/** The report in its own page, offline. `seen` lists its requests, console messages and errors. */
async function opened(options: BrowserContextOptions = {}): Promise<{ page: Page; seen: readonly string[] }> {
  const context = await browser.newContext({ viewport: DESKTOP, offline: true, ...options })
  onTestFinished(() => context.close())
  context.setDefaultTimeout(10_000)
  const page = await context.newPage()
  const seen: string[] = []
  page.on('request', (request) => seen.push(`request ${request.url()}`))
  page.on('console', (message) => seen.push(`${message.type()} ${message.text()}`))
  page.on('pageerror', (error) => seen.push(`error ${error.message}`))
  await page.goto(url)
  return { page, seen }
}

/** The names of the pictures, as a screen reader reads them. */
async function pictures(page: Page): Promise<readonly (string | null)[]> {
  const shown = await page.getByRole('img').all()
  return await Promise.all(shown.map((picture) => picture.locator('title').textContent()))
}

async function rowHeads(page: Page, section: string): Promise<readonly string[]> {
  return await page.locator(`section[aria-labelledby="${section}"] th[scope="row"]`).allInnerTexts()
}

/** The first line of what a screen reader reads for the element that has the focus. */
async function focused(page: Page): Promise<string> {
  return (await page.locator(':focus').ariaSnapshot()).split('\n', 1)[0] ?? ''
}
