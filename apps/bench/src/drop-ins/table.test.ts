import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { cellsOf } from '../cells.ts'
import { environment } from '../environment.ts'
import { SCENARIOS } from '../scenarios.ts'
import { dropInBars } from './bars.ts'
import { compared } from './cpu.ts'
import { dropInsMarkdown } from './markdown.ts'
import type { DropIns } from './measure-drop-ins.ts'
import { problemsOf } from './notes.ts'
import { dropInsTable } from './table.ts'

const figures = (wallMs: number, boundMs: number, firstToolMs: number) => ({
  runs: 7,
  wallMs,
  ratioToBound: wallMs / boundMs,
  firstToolMs,
})

const dropIns: DropIns = {
  libraries: [
    { name: 'ai', version: '7.0.173' },
    { name: 'langchain', version: '1.5.14', problem: 'it does not load' },
  ],
  rows: [
    {
      scenario: 'f',
      loop: 'streamText',
      wire: 'openai-chat',
      plain: figures(2_900, 1_900, 1_310),
      eager: figures(1_950, 1_900, 2),
      wonBack: 0.95,
    },
    {
      scenario: 'f',
      loop: 'ToolLoopAgent',
      wire: 'anthropic',
      plain: figures(2_900, 1_900, 1_302),
      eager: figures(2_010, 1_900, 2.5),
      wonBack: 0.8899,
    },
    {
      scenario: 'f',
      loop: 'generateText',
      wire: 'openai-chat',
      plain: null,
      eager: figures(1_940, 1_900, 3),
      wonBack: null,
    },
  ],
  ownTimes: [
    { loop: 'streamText', wire: 'openai-chat', ratioToBound: 1.01, isSlow: false },
    { loop: 'ToolLoopAgent', wire: 'anthropic', ratioToBound: 1.04, isSlow: true },
  ],
  cpu: [
    { loop: 'streamText', wire: 'openai-chat', ...compared([{ plain: [1_000, 1_020], eager: [1_100, 1_122] }]) },
    { loop: 'ToolLoopAgent', wire: 'anthropic', ...compared([{ plain: [1_000, 1_300], eager: [1_380, 1_380] }]) },
  ],
  cpuFailed: ['agent.stream anthropic: no'],
}

test('the Markdown table has a line for each loop and wire, and a pair of columns for each scenario that was measured', () => {
  const text = dropInsMarkdown(dropIns, Object.values(SCENARIOS), environment())
  expect(text.split('\n').slice(0, 5)).toEqual([
    '| loop | wire | f, ms | won back | CPU × |',
    '| --- | --- | --: | --: | --: |',
    '| AI SDK streamText | openai-chat | 2,900 → 1,950 | 95 % | 1.100 |',
    '| AI SDK ToolLoopAgent | anthropic | 2,900 → 2,010 | 89 % | 1.200 |',
    '| AI SDK generateText | openai-chat | 1,940 | – | – |',
  ])
  expect(text).toContain('Measured with AI SDK 7.0.173 and LangChain 1.5.14.')
})

test('the table has a line for each loop and wire, as it is and eager, and says which loops are slow themselves', () => {
  const lines = textOf(dropIns)
  expect(lines).toContain('AI SDK streamText openai-chat 2,900 1.526× 1,950 1.026× 95 % 1,310 → 2.00')
  expect(lines).toContain('AI SDK ToolLoopAgent * anthropic 2,900 1.526× 2,010 1.058× 89 % 1,302 → 2.50')
  expect(lines).toContain('AI SDK generateText openai-chat – 1,940 1.021× – 3.00')
  expect(lines).toContain('AI SDK streamText openai-chat 1.010 1,010 → 1,111 1.020 1.100 ≤ 1.150 ✓')
  expect(lines).toContain('AI SDK ToolLoopAgent * anthropic 1.040 1,150 → 1,380 1.300 1.200 ≤ 1.300 ✓')
  expect(lines).toContain('✗ LangChain: not measured: it does not load')
  expect(lines).toContain('✗ f openai-chat streamText: 1 run failed: no answer')
  expect(lines).toContain('✗ of the time lost in f at least 0.9 won back: at worst 0.890 in ToolLoopAgent, anthropic')
})

test('without CPU times the table has none, and says from how many runs on there are some', () => {
  const lines = textOf({ ...dropIns, cpu: [] })
  expect(lines).toContain('AI SDK streamText openai-chat 1.010')
  expect(lines).toContain('CPU time is measured from 5 runs on.')
})

test('each bar is judged by the worst row, and a value that was not measured is a problem', () => {
  expect(dropInBars(dropIns)).toEqual([
    {
      title: 'of the time lost in f at least 0.9 won back',
      limit: 0.9,
      atLeast: true,
      worst: 0.8899,
      where: 'ToolLoopAgent, anthropic',
      met: false,
    },
    {
      title: 'CPU at most 1.15 × the plain loop’s, or within the spread of that',
      limit: 1.15,
      worst: 1.1,
      where: 'streamText, openai-chat',
      met: true,
    },
  ])
  expect(dropInBars({ rows: [], cpu: [] })).toEqual([])
  expect(problemsOf(dropIns)).toEqual([
    'LangChain: not measured: it does not load',
    'CPU time of agent.stream anthropic: no',
  ])
})

function textOf(dropIns: DropIns): readonly string[] {
  const run = { scenario: SCENARIOS.f, wire: 'openai-chat', mode: 'streamText', round: 0, repeated: 0 } as const
  const entries = cellsOf([{ ...run, failure: 'no answer' }]).map(({ entry }) => entry)
  const text = dropInsTable(dropIns, entries, {
    transportLagMs: null,
    environment: {
      node: '24.0.0',
      clients: {},
      platform: 'linux x64',
      cpu: { model: 'Xeon', count: 2, governor: null },
      memoryMb: 1,
      loadAverage: [0, 0, 0],
      date: '2026-01-01',
    },
  })
  return stripVTControlCharacters(text)
    .split('\n')
    .map((line) => line.trim().replaceAll(/ +/g, ' '))
}
