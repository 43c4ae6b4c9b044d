import { execFileSync } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AxeBuilder } from '@axe-core/playwright'
import { startDevtools } from '@meanwhile/devtools'
import { devtools } from '@meanwhile/devtools/processor'
import { sized } from '@meanwhile/tests/size'
import { type Span as ApiSpan, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { TracerProvider } from '@opentelemetry/sdk-trace'
import type { Browser, BrowserContextOptions, Page, Route } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { launchBrowser } from '../test/browser.ts'
import { longRun } from '../test/long-run.ts'

const PACKAGE = join(import.meta.dirname, '../../../packages/devtools')
const file = (name: string) => join(PACKAGE, `test-data/${name}.json`)
const DESKTOP = { width: 1440, height: 900 }
const TELEPHONE = { width: 390, height: 844 }

let browser: Browser
/** For several tests: opening a page takes longer than what most tests do with it. */
let trip: Opened

beforeAll(async () => {
  execFileSync(process.execPath, [join(PACKAGE, 'page/build.ts')])
  browser = await launchBrowser()
  trip = await open({ files: ['trip'] })
})

afterAll(async () => {
  await trip?.close()
  await browser?.close()
})

/** The run of the file, with nothing selected. */
async function tripPage(): Promise<Opened> {
  await trip.page.goto(trip.url)
  await trip.page.getByRole('button', { name: /Lisbon/ }).click()
  await trip.page.locator('[data-span]').first().waitFor()
  return trip
}

test('each bar is within a pixel of the times of its span, by other arithmetic than that of the page (DT12)', async () => {
  const { url, page } = await tripPage()
  const { resourceSpans } = JSON.parse(await readFile(file('trip'), 'utf8')) as WireRequest
  const spans = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans))
  const ms = (time: string) => Number(BigInt(time) / 1_000n) / 1_000
  const root = spans.find(({ parentSpanId, name }) => !parentSpanId && name.startsWith('invoke_agent'))
  const start = ms(root?.startTimeUnixNano ?? '0')
  const { saving } = await json<{ readonly saving: { readonly after: number } }>(
    `${url}/api/runs/${root?.traceId}-${root?.spanId}`,
  )
  const length = (ms(root?.endTimeUnixNano ?? '0') - start + saving.after) * 1.01
  const width = (await page.locator('.timeline').evaluate((element) => element.clientWidth)) - 148 - 20
  const bars = await page.locator('[data-span]').evaluateAll((groups) =>
    groups.map((group) => {
      const bar = group.querySelector('.bar')
      const number = (name: string) => Number(bar?.getAttribute(name))
      return { id: group.getAttribute('data-span'), x: number('x'), width: number('width') }
    }),
  )
  expect(bars).toHaveLength(10)
  for (const bar of bars) {
    const span = spans.find(({ spanId }) => spanId === bar.id)
    const from = ((ms(span?.startTimeUnixNano ?? '0') - start) / length) * width
    const to = ((ms(span?.endTimeUnixNano ?? '0') - start) / length) * width
    expect(Math.abs(bar.x - from)).toBeLessThan(1)
    expect(Math.abs(bar.x + bar.width - Math.max(to, from + 3))).toBeLessThan(1)
  }
})

test('the switch moves the calls to the end of their response, and its choice is in the address (DT8)', async () => {
  const { page } = await tripPage()
  const xOf = (bar: string) =>
    page
      .locator(bar)
      .first()
      .evaluate((element) => Number(element.getAttribute('x')))
  const before = await xOf('[data-bar^="c-"] .bar')
  expect(await page.locator('.switch label').allInnerTexts()).toEqual([
    'As it was\n9.20 s',
    'After the stream\n10.22 s +1.01 s',
    'One by one\n13.28 s +4.08 s',
    'The bound\nthe same',
  ])
  await page.getByRole('radio', { name: 'After the stream' }).check()
  expect(await xOf('[data-bar^="c-"] .bar')).toBeGreaterThan(before)
  await page.waitForURL(/\?view=after$/)
  await page.reload()
  expect(await page.getByRole('radio', { name: 'After the stream' }).isChecked()).toBe(true)
})

test('a bar that is clicked opens its card, and a card that is clicked its bar; keys select the next one and none (DT8)', async () => {
  const { page } = await tripPage()
  const selected = () => page.locator('.card.selected').first().getAttribute('data-card')
  const bars = page.locator('[data-bar^="c-"]')
  const bar = await bars.nth(1).getAttribute('data-bar')
  await bars.nth(1).locator('.bar').first().click()
  expect(await selected()).toBe(bar)
  await page.locator('.card.selected details.raw summary').click()
  expect(await page.locator('.card.selected .raw').innerText()).toContain('gen_ai.tool.name')
  await page.getByRole('button', { name: 'flights' }).click()
  expect(await page.locator('.hit.selected').getAttribute('data-bar')).toBe(await selected())
  const first = await selected()
  await page.keyboard.press('j')
  await expect.poll(selected).toBe(bar)
  await page.keyboard.press('k')
  await expect.poll(selected).toBe(first)
  await page.keyboard.press('Escape')
  await expect.poll(() => page.locator('.card.selected').count()).toBe(0)
  await page.getByRole('button', { name: /show the next/ }).click()
  expect(await page.locator('.card.selected .bad').innerText()).toBe('attempt 1: 503 from the airline')
})

/** How soon the page shows what happens. Only of a machine that does nothing else this may be asked. */
const SOON_MS = sized({ small: Number.POSITIVE_INFINITY, middle: Number.POSITIVE_INFINITY, whole: 300 })

test('while a run is open its bars are drawn, marked early, and stop when the function has ended (DT6)', async () => {
  const { url, page } = await opened({})
  await page.getByRole('heading', { name: 'Waiting for the first run' }).waitFor()
  const processor = devtools({ url })
  onTestFinished(() => processor.shutdown())
  const tracer = new TracerProvider({ spanProcessors: [processor] }).getTracer('@meanwhile/core')
  const start = (operation: string, parent?: ApiSpan) => {
    const attributes = { 'gen_ai.operation.name': operation, 'meanwhile.step.index': 1 }
    return tracer.startSpan(operation, { attributes }, parent ? trace.setSpan(ROOT_CONTEXT, parent) : ROOT_CONTEXT)
  }
  const seen = await watchBar(page)
  const run = start('invoke_agent')
  const response = start('chat', run)
  const began = Date.now()
  const call = start('execute_tool', run)
  call.setAttributes({ 'gen_ai.tool.name': 'weather', 'meanwhile.dispatch.mode': 'early' })
  await page.getByText('early, running').first().waitFor()
  const width = () => page.locator('[data-span] .bar').evaluate((bar) => Number(bar.getAttribute('width')))
  expect(await page.locator('.switch').count()).toBe(0)
  expect(await page.locator('.bar.open').count()).toBe(1)
  const ended = Date.now()
  call.setAttribute('meanwhile.tool.duration', 0.001)
  await page.getByText('early, done').first().waitFor()
  const { there = Infinity, still = Infinity } = await seen()
  expect(there - began).toBeLessThan(SOON_MS)
  expect(still - ended).toBeLessThan(SOON_MS)
  expect(await page.locator('.bar.open').count()).toBe(0)
  expect(await width()).toBeLessThan(10)
  for (const span of [call, response, run]) span.end()
  await page.locator('.badge.running').waitFor({ state: 'detached' })
  await page.getByRole('radio', { name: 'As it was' }).waitFor()
})

test('a page whose server was started again has the runs of the new one (DT12)', async () => {
  const { url, page, close } = await opened({ files: ['trip'] })
  await page.getByText('live', { exact: true }).waitFor()
  await close()
  await page.getByText('offline', { exact: true }).waitFor()
  const again = await startDevtools({ port: Number(new URL(url).port), files: [file('ai-sdk')] })
  onTestFinished(() => again.close())
  await page.getByRole('button', { name: /Rome/ }).waitFor()
  expect(await page.getByRole('button', { name: /Lisbon/ }).count()).toBe(0)
})

test('the address of a run that is not here says so, also on a telephone, with a way to the list (DT12)', async () => {
  const { url, page } = await opened({ files: ['ai-sdk'], look: { viewport: TELEPHONE } })
  await page.goto(`${url}/run/${'1'.repeat(32)}-${'1'.repeat(16)}`)
  await page.getByRole('heading', { name: 'This run is not here' }).waitFor()
  await page.getByRole('button', { name: '← Runs' }).click()
  await page.getByRole('button', { name: /Rome/ }).click()
  await page.getByRole('heading', { name: /Rome/ }).waitFor()
  expect(await page.getByRole('heading', { name: 'This run is not here' }).count()).toBe(0)
})

test('a run stays whose news arrive before a list that is older (DT12)', async () => {
  const { url, page } = await opened({})
  const signs = new EventEmitter()
  const [made, free] = [once(signs, 'made'), once(signs, 'free')]
  await page.route('**/api/runs', async (route) => {
    const response = await route.fetch()
    signs.emit('made')
    await free
    await route.fulfill({ response })
  })
  const hearing = page.waitForResponse('**/api/events')
  await page.reload()
  await made
  await hearing
  await post(url, longRun({ steps: 2, callsInStep: 1 }))
  const items = page.locator('.item')
  await items.first().waitFor()
  const listed = page.waitForResponse('**/api/runs')
  signs.emit('free')
  await listed
  await post(url, await readFile(file('ai-sdk'), 'utf8'))
  await page.getByRole('button', { name: /Rome/ }).waitFor()
  expect(await items.count()).toBe(2)
})

test('a run stays whose news arrive while a second list is on its way that does not have it (DT12)', async () => {
  const { url, page } = await opened({ files: ['trip', 'ai-sdk'] })
  const list = await json<{ readonly runs: readonly object[] }>(`${url}/api/runs`)
  const only = (name: string) => ({ ...list, runs: list.runs.filter((run) => JSON.stringify(run).includes(name)) })
  // What the first page still asks must not count.
  await page.goto('about:blank')
  const asked: Route[] = []
  const signs = new EventEmitter()
  await page.route('**/api/runs', (route) => {
    asked.push(route)
    signs.emit(`asked ${asked.length}`)
  })
  await page.addInitScript(() => {
    class Events extends EventTarget {
      constructor() {
        super()
        Reflect.set(globalThis, 'tell', (name: string, data: unknown) =>
          this.dispatchEvent(new MessageEvent(name, { data: JSON.stringify(data) })),
        )
      }
      close(): void {}
    }
    Reflect.set(globalThis, 'EventSource', Events)
  })
  await page.goto(url)
  const tell = (name: string, data: object = {}) =>
    page.evaluate(([one, facts]) => Reflect.get(globalThis, 'tell')(one, facts), [name, data] as const)
  const both = once(signs, 'asked 2')
  await page.waitForFunction(() => 'tell' in globalThis)
  await tell('hello')
  await tell('hello')
  await both
  const first = page.waitForResponse('**/api/runs')
  await asked[0]?.fulfill({ json: only('Rome') })
  await (await first).finished()
  await tell('runs', only('Rome'))
  await page.getByRole('button', { name: /Rome/ }).waitFor()
  await asked[1]?.fulfill({ json: only('Lisbon') })
  await page.getByRole('button', { name: /Lisbon/ }).waitFor()
  expect(await page.locator('.item').count()).toBe(2)
})

test('a run in which something was selected stays when another one comes (DT8)', async () => {
  const { url, page } = await opened({})
  await post(url, longRun({ steps: 2, callsInStep: 1 }))
  await page.locator('[data-bar^="c-"]').first().locator('.bar').first().click()
  const selected = page.locator('.card.selected')
  await selected.waitFor()
  await post(url, await readFile(file('ai-sdk'), 'utf8'))
  await page.getByRole('button', { name: /Rome/ }).waitFor()
  expect(await selected.count()).toBe(1)
  expect(await page.getByRole('heading', { level: 1, name: /Rome/ }).count()).toBe(0)
  expect(new URL(page.url()).pathname).toMatch(/^\/run\//)
})

test('a run of 5,000 spans is drawn by its first steps: few elements, a window that moves, all steps by a click (DT5)', async () => {
  const { url, page } = await opened({})
  await post(url, longRun({ steps: 100, callsInStep: 50 }))
  await page.getByRole('button', { name: 'All 100 steps' }).waitFor()
  expect(await page.locator('*').count()).toBeLessThan(2_500)
  await page.locator('.timeline').focus()
  await page.keyboard.press('ArrowRight')
  await page.waitForURL(/from=\d+&to=\d+/)
  await page.getByRole('button', { name: 'All 100 steps' }).click()
  await page.getByText(/^▸ Step 1 /).waitFor()
  expect(await page.locator('.opens').count()).toBeLessThan(60)
  await page.getByRole('button', { name: 'First steps' }).click()
  await page.getByText('▸ 50 calls').first().waitFor()
})

/** Notes on the clock of the page when the first bar of a call is there, and when it no longer grows. */
async function watchBar(page: Page) {
  await page.evaluate(`
    globalThis.seen = {}
    new MutationObserver(() => {
      const bar = document.querySelector('[data-span] .bar')
      if (bar) seen.there ??= Date.now()
      if (bar && !bar.matches('.open')) seen.still ??= Date.now()
    }).observe(document.body, { subtree: true, childList: true, attributes: true })`)
  return () => page.evaluate<{ readonly there?: number; readonly still?: number }>('seen')
}

const HOSTILE = [
  '<script>window.broken = 1</script>',
  '<img src=x onerror="window.broken = 1">',
  '"><svg onload=alert(1)>',
  "javascript:alert('1')",
  '</style><style>*{display:none}</style>',
  '{{constructor.constructor("alert(1)")()}}',
  '\u202egnp.exe\u202c',
  '\u0000\u0007\u001b[31m',
  '__proto__',
  'constructor',
  '%0d%0aSet-Cookie: a=1',
  '../../etc/passwd',
  `${'x'.repeat(50_000)}`,
  '\ud800',
  '𒐫'.repeat(2_000),
  '<a href="javascript:window.broken=1" autofocus onfocus="window.broken=1">x</a>',
  '<svg><script>window.broken=1</script></svg>',
  '<iframe srcdoc="<script>parent.broken=1</script>"></iframe>',
  '<math><mi xlink:href="data:text/html,<script>window.broken=1</script>">x</mi></math>',
  '<base href="//evil.example/">',
  '<meta http-equiv="refresh" content="0;url=//evil.example/">',
  '<link rel="stylesheet" href="//evil.example/a.css">',
  '<form action="//evil.example/"><input name="a"><button>go</button></form>',
  '<object data="data:text/html,<script>window.broken=1</script>"></object>',
  'background:url(//evil.example/a.png)',
  "'; DROP TABLE runs; --",
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the text
  '${7*7}#{7*7}<%= 7*7 %>',
  '[click](javascript:alert(1)) ![x](//evil.example/a.png)',
  ']]><![CDATA[<script>window.broken=1</script>',
  '--><script>window.broken=1</script><!--',
  '&lt;script&gt;&#60;script&#62;\\u003cscript\\u003e',
  '{"__proto__":{"broken":1},"constructor":{"prototype":{"broken":1}}}',
  'hasOwnProperty',
  'toString',
  '\ufeff\u200b\u2066\u2069',
  '\u0085\u2028\u2029\r\n',
  'ﷺ'.repeat(3_000),
  `e${'\u0301'.repeat(3_000)}`,
  '[data-card="x"] { display: none }',
  '"]{}*{display:none}/*',
]
// How many of their runs are opened: each takes a while, and the list has the texts of all of them.
const MOST_OPENED = sized({ small: 6, middle: 6, whole: HOSTILE.length })

test('hostile texts in every field are shown as text: no script runs, and nothing breaks the policy (DT10)', async () => {
  const { url, page } = await opened({})
  const problems: string[] = []
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()))
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('dialog', (dialog) => void dialog.dismiss().then(() => problems.push('a dialog')))
  for (const [n, text] of HOSTILE.entries()) await post(url, hostileRun(n, text))
  // The list has the texts of all runs.
  await page
    .locator('.item')
    .nth(HOSTILE.length - 1)
    .waitFor()
  for (const [n] of [...HOSTILE.entries()].slice(0, MOST_OPENED)) {
    await page.locator('.item').nth(n).click()
    await page.locator('.item.shown').and(page.locator('.item').nth(n)).waitFor()
    await page.locator('[data-bar^="c-"]').first().locator('.hit-area').click()
    await page.locator('.card.selected details.raw summary').click()
    await page.locator('.card.selected details.raw td').first().waitFor()
  }
  expect(await page.evaluate(() => 'broken' in globalThis)).toBe(false)
  expect(problems).toEqual([])
  const titles = await page.locator('.item .title').allInnerTexts()
  expect(titles).toContain('⟨U+202E⟩gnp.exe⟨U+202C⟩')
  expect(titles).toContain('<img src=x onerror="window.broken = 1">')
})

test.each([
  ['a desktop', DESKTOP],
  ['a telephone', TELEPHONE],
])('nothing keeps anybody from reading it on %s, light or dark (DT12)', async (_, viewport) => {
  const { url, page } = await opened({ files: ['ai-sdk', 'trip-without-content'], look: { viewport } })
  const problems: unknown[] = []
  const check = async (what: string, rules = new AxeBuilder({ page })) => {
    const { violations } = await rules.analyze()
    problems.push(...violations.map(({ id, nodes }) => [what, id, nodes.map(({ html }) => html.slice(0, 200))]))
    const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
    if (overflow > 0) problems.push([what, `${overflow} px wider than the page`])
  }
  await page.locator('.item').first().waitFor()
  if (viewport === TELEPHONE) await check('the list')
  const { runs } = await json<{ readonly runs: readonly { readonly key: string }[] }>(`${url}/api/runs`)
  await page.goto(`${url}/run/${runs[0]?.key}?view=after`)
  await page.locator('.run [data-span]').first().waitFor()
  await check('a run')
  await post(url, longRun({ steps: 20, callsInStep: 3 }))
  await page.goto(`${url}/run/${'c'.repeat(32)}-0000000000000001`)
  await page.locator('.run [data-span]').first().waitFor()
  await check('a long run')
  // Only the colours are others.
  await page.emulateMedia({ colorScheme: 'dark' })
  await check('a dark run', new AxeBuilder({ page }).withRules(['color-contrast']))
  const empty = await opened({ look: { viewport } })
  await empty.page.getByRole('heading', { name: 'Waiting for the first run' }).waitFor()
  const { violations } = await new AxeBuilder({ page: empty.page }).analyze()
  expect([...problems, ...violations.map(({ id }) => id)]).toEqual([])
})

interface WireRequest {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly traceId: string
        readonly spanId: string
        readonly parentSpanId?: string
        readonly name: string
        readonly startTimeUnixNano: string
        readonly endTimeUnixNano: string
      }[]
    }[]
  }[]
}

interface Opened {
  readonly url: string
  readonly page: Page
  close(): Promise<void>
}

interface OpenOptions {
  readonly files?: readonly string[]
  readonly look?: BrowserContextOptions
}

/** Closed at the end of the test. */
async function opened(options: OpenOptions): Promise<Opened> {
  const made = await open(options)
  onTestFinished(() => made.page.context().close())
  onTestFinished(made.close)
  return made
}

async function open({ files = [], look = { viewport: DESKTOP } }: OpenOptions): Promise<Opened> {
  const { url, close } = await startDevtools({ port: 0, files: files.map(file) })
  const context = await browser.newContext(look)
  const page = await context.newPage()
  await page.goto(url)
  return { url, page, close }
}

async function post(url: string, body: string): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${url}/v1/traces`, { method: 'POST', headers, body })
  if (response.status !== 200) throw new Error(await response.text())
}

async function json<Answer>(url: string): Promise<Answer> {
  return (await (await fetch(url)).json()) as Answer
}

function hostileRun(n: number, text: string): string {
  const attributes = (all: Readonly<Record<string, string>>) =>
    Object.entries({ ...all, [text]: text }).map(([key, stringValue]) => ({ key, value: { stringValue } }))
  const message = (role: string) => JSON.stringify([{ role, parts: [{ type: 'text', content: text }] }])
  const one = (spanId: string, operation: string, more: Readonly<Record<string, string>>) => ({
    traceId: (n + 1).toString(16).padStart(32, '0'),
    spanId: spanId.repeat(16),
    ...(spanId !== '1' && { parentSpanId: '1'.repeat(16) }),
    name: text,
    kind: 1,
    startTimeUnixNano: '1790000000000000000',
    endTimeUnixNano: '1790000001000000000',
    attributes: attributes({ 'gen_ai.operation.name': operation, ...more }),
    events: [
      { name: 'exception', timeUnixNano: '1790000000500000000', attributes: attributes({ 'exception.message': text }) },
    ],
    status: { code: 2, message: text },
  })
  const spans = [
    one('1', 'invoke_agent', {
      'gen_ai.agent.name': text,
      'gen_ai.conversation.id': text,
      'gen_ai.input.messages': message('user'),
    }),
    one('2', 'chat', { 'gen_ai.request.model': text, 'gen_ai.output.messages': message('assistant') }),
    one('3', 'execute_tool', {
      'gen_ai.tool.name': text,
      'gen_ai.tool.call.id': text,
      'meanwhile.tool.effect': text,
      'meanwhile.dispatch.deferral_reason': text,
      'gen_ai.tool.call.arguments': JSON.stringify({ [text]: text }),
      'gen_ai.tool.call.result': text,
    }),
  ]
  const resource = { attributes: attributes({ 'service.name': text }) }
  return JSON.stringify({
    resourceSpans: [{ resource, scopeSpans: [{ scope: { name: text, version: text }, spans }] }],
  })
}
