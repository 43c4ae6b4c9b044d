import type { StepSavings } from '@meanwhile/eager-tools'
import { expect, test } from 'vitest'
import type { Cell, Entry } from '../cell.ts'
import { compared } from '../drop-ins/cpu.ts'
import type { DropIns } from '../drop-ins/measure-drop-ins.ts'
import type { Mode } from '../modes.ts'
import type { Results } from '../results.ts'
import type { Timeline } from '../sample.ts'
import { html } from './html.ts'
import { reportOf } from './report.ts'

test('values in a template are escaped, unless they are HTML', () => {
  const name = `<b class="x">&'`
  expect(html`<p title="${name}">${html`<i>${name}</i>`}${[1, undefined]}</p>`.text).toBe(
    '<p title="&#60;b class=&#34;x&#34;&#62;&#38;&#39;"><i>&#60;b class=&#34;x&#34;&#62;&#38;&#39;</i>1</p>',
  )
})

test('the report states what was saved, draws it, and shows the figures', () => {
  const page = reportOf(results())
  expect(page).toContain('<h1>Answers come 33 % sooner</h1>')
  expect(page).toContain('they save 950 ms in f')
  expect(page).toContain('950 ms saved')
  expect(page.match(/<svg class="chart \w+"/g)).toEqual(['<svg class="chart wide"', '<svg class="chart narrow"'])
  expect(page).toContain('Eager: 1,915 ms, 1 of 1 tools started before the end of the stream, 950 ms saved.')
  expect(page).toContain('<td>+948</td><td>0.1 % ✓</td>')
  expect(page).toContain('<th scope="row">Anthropic Messages</th>')
})

test('the report is self-contained: it has no script and no address to fetch', () => {
  const page = reportOf(results())
  expect(page).not.toMatch(/<script|<link|<img|@import|https?:|\/\/[a-z]|src=|url\((?!"?#)/i)
})

test('text from outside is text in the report, not markup', () => {
  const bad = '<script>alert("1")</script>'
  const all = results({ cpu: bad, failed: [bad] })
  const cells = all.cells.map((cell) => ({ ...cell, entry: { ...cell.entry, title: bad } }))
  const page = reportOf({ ...all, cells })
  expect(page).not.toContain('<script>')
  // The processor, the failure, and the title: of its tile, its picture (drawn twice), and its rows.
  expect(page.split('&#60;script&#62;alert(&#34;1&#34;)&#60;/script&#62;')).toHaveLength(1 + 2 + 1 + 3 + 1)
})

test('no two elements on the page have the same id', () => {
  const ids = [...reportOf(grown()).matchAll(/ id="([^"]*)"/g)].map(([, id]) => id)
  expect(ids).toEqual([...new Set(ids)])
  expect(ids).toContain('growth-chart-narrow-desc')
})

test('CPU time over the size of the arguments is a picture, a text and a table', () => {
  const page = reportOf(grown())
  expect(page).toContain(
    'Anthropic Messages, Eager: 30 ms at 50 KB, 60 ms at 100 KB. Anthropic Messages, Bare loop: 20 ms at 50 KB, 40 ms at 100 KB.</desc>',
  )
  expect(page).toContain('<tr><th scope="row">Eager</th><td>30</td><td>60</td></tr>')
})

test('sizes are in order, also those at which one mode failed', () => {
  const all = grown({ d50: 30, d200: 120 }, { d50: 20, d100: 40, d200: 80 })
  const page = reportOf(all)
  expect(page).toContain('<th scope="col">50 KB</th><th scope="col">100 KB</th><th scope="col">200 KB</th>')
  expect(page).toContain('<tr><th scope="row">Eager</th><td>30</td><td>–</td><td>120</td></tr>')
  expect(page).toContain('<tr><th scope="row">Bare loop</th><td>20</td><td>40</td><td>80</td></tr>')
})

test('the ledger has a row for each step with calls, and names the step if there are several', () => {
  const all = results()
  const cells = all.cells.map((cell) =>
    cell.entry.mode === 'eager' ? { ...cell, ledger: [step(1, 950), step(3, 0)] } : cell,
  )
  const page = reportOf({ ...all, cells })
  expect(page).toContain(
    '<th scope="row">Anthropic Messages, step 1</th><td class="gain">+950</td><td>12</td><td>1,700</td><td>2,650</td><td>2,900</td><td>1,650</td><td>1 of 2</td>',
  )
  expect(page).toContain('<th scope="row">Anthropic Messages, step 3</th>')
  expect(reportOf(all)).not.toContain('ledger')
})

test('with one size the report shows no growth', () => {
  const all = grown()
  expect(reportOf({ ...all, cells: all.cells.filter(({ entry }) => entry.scenario === 'd50') })).not.toContain('Growth')
})

test('failed runs are shown, and a mode in which all failed has no figures', () => {
  const page = reportOf(results({ failed: ['2 executions of 1 calls'] }))
  expect(page).toContain('f anthropic sequential: 1 run failed: 2 executions of 1 calls')
  expect(page).toContain('<td class="failed">failed</td>')
})

test('without eager and parallel the report claims nothing', () => {
  const all = results()
  const page = reportOf({ ...all, cells: all.cells.filter(({ entry }) => entry.mode === 'sequential') })
  expect(page).toContain('<h1>Eager tools, measured</h1>')
  expect(page).not.toMatch(/ms saved|sooner|Turnaround/)
})

test('other libraries are shown next to ours, with the remarks about them', () => {
  const all = results()
  const theirs: Cell = { entry: { ...entry('parallel', 2_900), mode: 'ai', ratioToBound: 1.519 } }
  const page = reportOf({
    ...all,
    cells: [...all.cells, theirs],
    peers: [
      { name: 'ai', version: '7.0.173', notOn: [] },
      { name: 'langchain', problem: 'not there', notOn: [] },
    ],
  })
  expect(page).toContain('<th scope="col">ai 7.0.173</th>')
  expect(page).toContain('<td>2,900 <small>1.519× · 0.40</small></td>')
  expect(page).toContain('<li>langchain: not measured: not there</li>')
  expect(reportOf(all)).not.toContain('other libraries')
})

test('the loops of other libraries have their own section, with their bars and what was not measured', () => {
  const all = results()
  const cells: readonly Cell[] = (['streamText', 'streamText, eager'] as const).map((mode) => ({
    entry: { ...entry('parallel', 2_900), mode },
  }))
  const figures = { runs: 7, wallMs: 2_900, ratioToBound: 1.526, firstToolMs: 1_310 }
  const row = { scenario: 'f', loop: 'streamText', wire: 'anthropic' } as const
  const dropIns: DropIns = {
    libraries: [
      { name: 'ai', version: '7.0.173' },
      { name: 'langchain', problem: 'it does not load' },
    ],
    rows: [{ ...row, plain: figures, eager: { ...figures, wallMs: 1_950, firstToolMs: 2 }, wonBack: 0.89 }],
    ownTimes: [{ ...row, ratioToBound: 1.04, isSlow: true }],
    cpu: [{ ...row, ...compared([{ plain: [1_000, 1_000], eager: [1_200, 1_200] }]) }],
    cpuFailed: [],
  }
  const page = reportOf({ ...all, options: { ...all.options, modes: [], dropIns: true }, cells, dropIns })
  expect(page).toContain('<h2 id="drop-ins">')
  expect(page).toContain(
    '<th scope="row">AI SDK streamText *</th><td>Anthropic Messages</td><td>2,900 <small>1.526×</small></td>',
  )
  expect(page).toContain('<td class="gain">89 %</td><td>1,310 → 2.00</td>')
  expect(page).toContain('<td>1,000</td><td>1,200</td><td>1.000</td><td>1.200</td><td class="failed">≤ 1.150</td>')
  expect(page).toContain('<li class="failed">✗ of the time lost in f at least 0.9 won back: at worst 0.890')
  expect(page).toContain('<li class="failed">LangChain: not measured: it does not load</li>')
  expect(page).toContain('<dd>1 of each</dd>')
  expect(page).not.toContain('<h2 id="figures">')
  expect(reportOf(all)).not.toContain('drop-ins')
})

test('for a real model no bound is drawn, and the report claims only the saving that its own runs explain', () => {
  const all = results()
  const cells = all.cells.map(({ entry, typical }) => {
    const { bound: _, ...timeline } = typical ?? { ...EMPTY, bound: 0 }
    return { entry: { ...entry, timing: 'live' as const, boundMs: null, ratioToBound: null }, typical: timeline }
  })
  const page = reportOf({
    ...all,
    cells,
    options: { ...all.options, live: { url: 'http://model.test', model: 'theirs' } },
  })
  expect(page).toContain('they save 948 ms in f')
  expect(page).toContain('<dd>theirs at http://model.test</dd>')
  expect(page).not.toMatch(/\d×|physical bound|950 ms saved|Turnaround|Possible/)
})

test('faults are counted by rule, and a run with only faults claims no time', () => {
  const none = { wrong: 0, extra: 0, missing: 0, twice: 0, undone: 0, early: 3 }
  const rules = { ours: none, 'valid-json': { ...none, wrong: 2, missing: 1 }, 'tool-call-part': none }
  const page = reportOf({ ...results(), cells: [], faults: [{ fault: 'cut off', effect: 'read', scripts: 4, rules }] })
  expect(page).toContain(
    '<th scope="row">cut off</th><td>4</td><td>0</td><td class="failed">2 wrong, 1 missing</td><td>0</td>',
  )
  expect(page).not.toContain('The figures')
  expect(page).not.toContain('<dt>Runs</dt>')
})

test('loops of other libraries under faults have a row each, and a note if they were not tried', () => {
  const executions = { wrong: 0, extra: 4, missing: 0, twice: 0, undone: 0, early: 7 }
  const cell = { cuts: 68, ended: 20, taken: 0, executions, doubled: 0, changed: 0, mixed: 0, orphans: 0 }
  const page = reportOf({
    ...results(),
    cells: [],
    loops: {
      versions: ['ai 7.0.173'],
      loops: [
        { title: 'streamText', cell },
        { title: 'LibreChat’s agents', problem: 'it is not installed' },
      ],
    },
  })
  expect(page).toContain(
    '<th scope="row">streamText</th><td>68</td><td>20</td><td>0</td><td class="failed">4</td><td>7</td><td>0</td>',
  )
  expect(page).toContain('LibreChat’s agents: not tried: it is not installed')
})

function results({ cpu = 'A processor', failed = [] as string[] } = {}): Results {
  return {
    environment: {
      node: '24.0.0',
      clients: { openai: '7.0.0' },
      platform: 'linux x64',
      cpu: { model: cpu, count: 2, governor: null },
      memoryMb: 1_000,
      loadAverage: [0, 0, 0],
      date: '2026-11-21T10:00:00.000Z',
    },
    options: {
      scenarios: ['f'],
      workloads: [],
      wires: ['anthropic'],
      modes: ['sequential', 'parallel', 'eager'],
      runs: { sequential: 1, parallel: 1, eager: 1, floor: 0 },
      transport: 'server',
      faults: false,
      json: 'results.json',
      report: 'report.html',
    },
    transportLagMs: { p50: 0.1, max: 1 },
    peakRssMb: 150,
    cells: [
      failed.length > 0 ? { entry: { ...entry('sequential', null), failed } } : cell('sequential', 3_110, 1_660),
      cell('parallel', 2_865, 1_660),
      cell('eager', 1_915, 361),
    ],
  }
}

function step(step: number, savedMs: number): StepSavings {
  const call = { callId: 'call_1', tool: 'run_task', durationMs: 1_000, outcome: 'committed' } as const
  return {
    step,
    streamMs: 1_650,
    stoodMs: 1_651,
    sequentialMs: 2_900,
    parallelMs: 1_700 + savedMs,
    actualMs: 1_700,
    savedMs,
    wastedMs: 12,
    calls: [{ ...call, evidence: 'closed' }, call],
  }
}

/** CPU time by scenario. Default: two sizes. */
function grown(
  eager: Readonly<Record<string, number>> = { d50: 30, d100: 60 },
  floor: Readonly<Record<string, number>> = { d50: 20, d100: 40 },
): Results {
  const one = (scenario: string, mode: Mode, cpuUserMs: number): Cell => ({
    entry: { ...entry(mode, 70), scenario, timing: 'at-once', cpuUserMs },
    typical: timeline(70, 10),
  })
  const cells = [
    ...Object.entries(eager).map(([scenario, ms]) => one(scenario, 'eager', ms)),
    ...Object.entries(floor).map(([scenario, ms]) => one(scenario, 'floor', ms)),
  ]
  return { ...results(), cells }
}

function cell(mode: Mode, wallMs: number, entered: number): Cell {
  return { entry: entry(mode, wallMs), typical: timeline(wallMs, entered) }
}

function entry(mode: Mode, wallMs: number | null): Entry {
  return {
    scenario: 'f',
    title: 'A slow call first',
    shape: '1 call of 1000 ms, then 5 calls of 50 ms',
    timing: 'paced',
    wire: 'anthropic',
    mode,
    runs: wallMs === null ? 0 : 1,
    wallMs,
    wallMsRange: wallMs === null ? null : [wallMs, wallMs],
    boundMs: 1_910,
    ratioToBound: wallMs === null ? null : wallMs / 1_910,
    savedMs: wallMs === null ? null : 2_865 - wallMs,
    savedMsRange: null,
    possibleSavingMs: 950,
    dispatchLagMs: { first: 0.4, p50: 0.4, p99: 1, max: 1 },
    predictedSavedMs: 948,
    predictionError: 0.001,
    overhead: null,
    holds: { prediction: true, overhead: null },
    turnaroundMs: 2,
    startedEarly: 1,
    cpuUserMs: null,
    latestWriteMs: 1,
    late: { repeated: 0, dropped: 0, kept: 0 },
    failed: [],
  }
}

const EMPTY: Timeline = { streams: [], calls: [], end: 0 }

function timeline(end: number, entered: number): Timeline {
  return {
    streams: [
      { begin: 1, end: 1_660, tokens: [20, 40] },
      { begin: end - 200, end, tokens: [end - 100] },
    ],
    calls: [{ id: 'call_1', argsDone: 360, entered, settled: entered + 1_000 }],
    bound: 1_911,
    end,
  }
}
