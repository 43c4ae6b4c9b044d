import { expect, test } from 'vitest'
import type { Entry } from './cell.ts'
import { type Environment, machineText } from './environment.ts'
import { type Circumstances, failuresOf, notesOf } from './notes.ts'

const entry: Entry = {
  scenario: 'f',
  title: 'A slow call first',
  shape: '1 call of 1000 ms, then 5 calls of 50 ms',
  timing: 'paced',
  wire: 'anthropic',
  mode: 'eager',
  runs: 4,
  wallMs: 1_915,
  wallMsRange: [1_915, 1_915],
  boundMs: 1_910,
  ratioToBound: 1.003,
  savedMs: 950,
  savedMsRange: [950, 950],
  possibleSavingMs: 951,
  dispatchLagMs: { first: 0.4, p50: 0.4, p99: 1, max: 1 },
  predictedSavedMs: 948,
  predictionError: 0.001,
  overhead: null,
  holds: { prediction: true, overhead: null },
  turnaroundMs: 2,
  startedEarly: 6,
  cpuUserMs: null,
  latestWriteMs: 1,
  late: { repeated: 0, dropped: 0, kept: 0 },
  failed: [],
}

test('the notes state where eager has nothing to save', () => {
  const level = 'a and c: tools of equal length after the last argument.'
  expect(notesOf([entry], about()).join('\n')).not.toContain(level)
  const entries = (['a', 'c', 'f'] as const).map((scenario) => ({ ...entry, scenario }))
  expect(notesOf(entries, about()).join('\n')).toContain(level)
})

test('the notes name the baseline and the transport’s own lag', () => {
  const text = notesOf([entry], about({ transportLagMs: { p50: 0.11, max: 2 } })).join('\n')
  expect(text).toContain('saved: eager against parallel tools after the stream')
  expect(text).toContain('from the server to a bare fetch, takes 0.11.')
})

test('the notes give the lag together with that of the bare loop, where the loop did not have to wait for the next call', () => {
  const floor = (p50: number): Entry => ({
    ...entry,
    mode: 'floor',
    dispatchLagMs: { first: p50, p50, p99: p50, max: p50 },
  })
  const text = notesOf(
    [entry, floor(20), floor(0.7), { ...floor(0), dispatchLagMs: null }, { ...floor(0.1), timing: 'at-once' }],
    about(),
  ).join('\n')
  expect(text).toContain('over all calls; the bare loop’s median is 0.70 where it is smallest.')
})

test('late runs are counted, and many of them mean that the machine was busy', () => {
  const busy = 'The machine was busy: measure again when it is not.'
  const notes = (late: Entry['late']) => notesOf([{ ...entry, late }], about())
  expect(notes({ repeated: 2, dropped: 1, kept: 1 })).toContain(
    '3 runs dropped because the server wrote more than 5 ms late, 2 of them repeated; 1 of the 4 that count were late and kept, because no other run was in time.',
  )
  expect(notes({ repeated: 2, dropped: 1, kept: 1 })).toContain(busy)
  expect(notes({ repeated: 2, dropped: 0, kept: 0 })).not.toContain(busy)
  expect(notes({ repeated: 0, dropped: 0, kept: 0 }).join()).not.toContain('thrown out')
})

test('the notes state the load of the machine, how many runs count, and what was not measured', () => {
  const text = notesOf([entry, { ...entry, mode: 'parallel', runs: 3 }, { ...entry, mode: 'parallel' }], about()).join(
    '\n',
  )
  expect(text).toContain('Runs that count, in each row: eager 4, parallel 3 to 4.')
  expect(text).toContain('Not measured: a network,')
  expect(machineText(environment)).toBe(
    '2 × A processor, governor performance, load 0.1 before and 0.9 after, Node 24.0.0, linux x64',
  )
  expect(text).not.toContain('something else was at work')
  const loaded = about({ environment: { ...environment, loadAverage: [1.5, 1, 1] } })
  expect(notesOf([entry], loaded)).toContain('The load was 1.5 before the first run: something else was running.')
})

test('for a real model the notes claim no bound, and include the remarks about scenarios', () => {
  const text = notesOf([{ ...entry, timing: 'live' }], about({ remarks: ['Asked in the evening.'] })).join('\n')
  expect(text).toContain('by the clock of the client')
  expect(text).toContain('Asked in the evening.')
  expect(text).not.toMatch(/bound|lag:|off: how far/)
})

test('failures are listed with their scenario, wire and mode; equal failures are listed once', () => {
  expect(failuresOf([entry, { ...entry, failed: ['it broke', 'it broke'] }])).toEqual([
    'f anthropic eager: 2 runs failed: it broke',
  ])
})

const environment: Environment = {
  node: '24.0.0',
  clients: { openai: '7.0.0' },
  platform: 'linux x64',
  cpu: { model: 'A processor', count: 2, governor: 'performance' },
  memoryMb: 1_000,
  loadAverage: [0.1, 0, 0],
  loadAverageAfter: [0.9, 0, 0],
  date: '2026-11-21T10:00:00.000Z',
}

function about(known: Partial<Circumstances> = {}): Circumstances {
  return { transportLagMs: null, environment, ...known }
}
