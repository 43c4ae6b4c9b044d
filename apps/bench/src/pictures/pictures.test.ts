import { expect, test } from 'vitest'
import type { Cell } from '../cell.ts'
import type { Mode } from '../modes.ts'
import { type Figures, figuresOf, NoFiguresError, PICTURED, PICTURED_MODES, type PicturedRun } from './figures.ts'
import { pictureFiles } from './files.ts'
import { wrongFigures } from './wrong-figures.ts'

test('the figures are those of the typical run of each way', () => {
  const { scenarios } = figuresOf(cells())
  expect(Object.keys(scenarios)).toEqual(['f', 'b', 'a'])
  expect(scenarios.f.eager).toEqual(run(1_900))
})

test('there are no figures, and so no pictures, if the server was late in each run of a way, or if a run failed', () => {
  const changed = (change: object): readonly Cell[] =>
    cells().map((cell) => (cell.entry.mode === 'parallel' ? { ...cell, entry: { ...cell.entry, ...change } } : cell))
  const late = { repeated: 2, dropped: 0, kept: 1 }
  expect(() => figuresOf(changed({ late }))).toThrow(NoFiguresError)
  expect(() => figuresOf(changed({ failed: ['a reason'] }))).toThrow(NoFiguresError)
  expect(() => figuresOf(changed({ late: { repeated: 2, dropped: 3, kept: 0 } }))).not.toThrow()
})

test('each picture exists wide and narrow, light and dark, still and moving; what the moving one ends with is the still one', () => {
  const files = pictures()
  const stills = [...files.keys()].filter((name) => /^hero-.*(light|dark)\.svg$/.test(name))
  expect(stills).toHaveLength(8)
  for (const still of stills) {
    const moving = files.get(still.replace('.svg', '-moving.svg'))
    expect(moving).toContain('prefers-reduced-motion')
    expect(withoutMotion(moving)).toBe(files.get(still))
  }
})

test('each mark stands where its time is: the longer run fills the width, and the saved time is the rest of the shorter one', () => {
  const wide = pictures().get('hero-f-light.svg') ?? ''
  const [, saved = '', width = ''] = wide.match(/class="saved" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"/) ?? []
  expect(Number(saved)).toBeCloseTo(2 + (1_900 / 2_900) * 956, 0)
  expect(Number(saved) + Number(width)).toBeCloseTo(958, 0)
  expect(textsOf(wide)).toContain('34 %')
})

test('on a phone the words are shorter, and those without room are missing', () => {
  const files = pictures()
  const [wide, narrow] = [textsOf(files.get('hero-f-light.svg')), textsOf(files.get('hero-f-narrow-light.svg'))]
  expect(wide).toContain('Usually, tools wait for the stream to end')
  expect(wide).toContain('answer')
  expect(narrow).toContain('Usually, tools wait')
  expect(narrow).not.toContain('answer')
})

test('a time or a share of a text that the runs of its scenario do not have is found', () => {
  const text = (slow: string, one: string): string => `It takes ${slow} s.\n| one call, then some text | ${one} |`
  expect(wrongFigures(text('1.9', '2.9 s | 1.9 s | 34 %'), figures())).toEqual([])
  expect(wrongFigures(text('1.8', '2.9 s | 1.7 s | 35 %'), figures())).toEqual([
    'line 1: 1.8 s is not a figure of scenario f, which has 3.0 s, 2.9 s, 1.9 s, 34 %',
    'line 2: 1.7 s is not a figure of scenario b, which has 3.0 s, 2.9 s, 1.9 s, 34 %',
    'line 2: 35 % is not a figure of scenario b, which has 3.0 s, 2.9 s, 1.9 s, 34 %',
  ])
})

const ENDS: Readonly<Record<(typeof PICTURED_MODES)[number], number>> = {
  sequential: 3_000,
  parallel: 2_900,
  eager: 1_900,
}

function run(end: number): PicturedRun {
  const call = { argsDone: 400, entered: end === 1_900 ? 400 : 1_600, settled: end - 300 }
  return {
    end,
    streams: [
      { begin: 0, end: 1_600 },
      { begin: end - 200, end },
    ],
    calls: [call, { argsDone: 900, entered: end - 900, settled: end - 850 }],
  }
}

function cells(): readonly Cell[] {
  return PICTURED.flatMap((scenario) => PICTURED_MODES.map((mode) => cell(scenario, mode, run(ENDS[mode]))))
}

function cell(scenario: string, mode: Mode, { streams, ...typical }: PicturedRun): Cell {
  const nothing = { wallMsRange: null, boundMs: null, ratioToBound: null, savedMs: null, savedMsRange: null }
  const unknown = { possibleSavingMs: null, predictedSavedMs: null, predictionError: null, overhead: null }
  return {
    entry: {
      scenario,
      title: '',
      shape: '',
      timing: 'paced',
      wire: 'openai-responses',
      mode,
      runs: 1,
      wallMs: typical.end,
      ...nothing,
      ...unknown,
      holds: { prediction: null, overhead: null },
      dispatchLagMs: null,
      turnaroundMs: null,
      startedEarly: null,
      cpuUserMs: null,
      latestWriteMs: null,
      late: { repeated: 0, dropped: 0, kept: 0 },
      failed: [],
    },
    typical: {
      ...typical,
      streams: streams.map((stream) => ({ ...stream, tokens: [] })),
      calls: typical.calls.map((call, index) => ({ id: `call_${index}`, ...call })),
    },
  }
}

const figures = (): Figures => figuresOf(cells())

const pictures = (): ReadonlyMap<string, string> =>
  new Map(pictureFiles(figures()).map(({ name, text }) => [name, text]))

function withoutMotion(moving = ''): string {
  return moving
    .replace(/ style="animation:[^"]*"/g, '')
    .replace(/<line class="now".*?>/, '')
    .replace(/\n\.ribbon,\.tool\{transform-box[^<]*(?=\n<\/style>)/, '')
}

const textsOf = (svg = ''): readonly string[] =>
  [...svg.matchAll(/<text[^>]*>([^<]*)</g)].map(([, words = '']) => words)
