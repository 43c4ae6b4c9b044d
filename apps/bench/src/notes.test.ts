import { expect, test } from 'vitest'
import { failuresOf, notesOf } from './notes.ts'
import type { Entry } from './results.ts'

const entry: Entry = {
  scenario: 'f',
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
  late: { repeated: 0, kept: 0 },
  failed: [],
}

test('where eager has nothing to save, the notes say so', () => {
  const level = 'a and c: tools of equal length after the last argument.'
  expect(notesOf([entry], null).join('\n')).not.toContain(level)
  const entries = (['a', 'c', 'f'] as const).map((scenario) => ({ ...entry, scenario }))
  expect(notesOf(entries, null).join('\n')).toContain(level)
})

test('the notes name the baseline and what the transport takes by itself', () => {
  const text = notesOf([entry], { p50: 0.11, max: 2 }).join('\n')
  expect(text).toContain('saved: eager against parallel tools after the stream')
  expect(text).toContain('from the server to a bare fetch, takes 0.11.')
})

test('late runs are counted, and many of them are the machine', () => {
  const busy = 'The machine was busy: measure again when it is not.'
  expect(notesOf([{ ...entry, late: { repeated: 2, kept: 1 } }], null)).toContain(
    '1 of 4 runs were kept although the server wrote more than 5 ms late, 2 other runs made again for it.',
  )
  expect(notesOf([{ ...entry, late: { repeated: 2, kept: 1 } }], null)).toContain(busy)
  expect(notesOf([{ ...entry, late: { repeated: 2, kept: 0 } }], null)).not.toContain(busy)
})

test('failures are named with their scenario, wire and mode, equal ones once', () => {
  expect(failuresOf([entry, { ...entry, failed: ['it broke', 'it broke'] }])).toEqual([
    'f anthropic eager: 2 runs failed: it broke',
  ])
})
