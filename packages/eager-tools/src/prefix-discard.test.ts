import { collect } from '@meanwhile/assemble/testing'
import { createAgent, type Tool, tool } from '@meanwhile/core'
import { played } from '@meanwhile/tests/clock'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { library, page } from '../test/library.ts'
import { toolOutline } from '../test/outline.ts'
import { DELTAS, ran, reading, resultsOf, told } from '../test/prefix-runs.ts'
import { retrying } from '../test/retrying.ts'
import { type Moment, sayDone, tellingModel } from '../test/telling-model.ts'
import { after } from '../test/workshop.ts'
import { eagerTools } from './index.ts'

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

test('a missing needed member starts nothing early, and the call gets its ordinary error result (H32)', async () => {
  const responses = [reading(['{"from":7', ',"other":1}'])]
  const { log, results, events } = await ran({ responses })
  expect(log).toEqual([])
  expect(results).toEqual([['c1', expect.stringContaining('invalid input for read')]])
  expect(told(events)).toEqual(told((await ran({ responses, eager: false })).events))
})

test.each([
  ['when the call is sealed', DELTAS, '{"path":"b.txt","from":7}', '400 closed', '400'],
  ['by a second key', ['{"path":"a.txt"', ',"from":7,', '"path":"b.txt"}'], undefined, '300 closed', '300'],
])('a needed member that changes %s discards; the call runs once with the final input (H32, H8)', async (...row) => {
  const [, deltas, final, closed, again] = row
  const responses = [reading(deltas, final === undefined ? {} : { final })]
  const { log, lines, results, events } = await ran({ responses, ms: 1_000 })
  expect(log.map((line) => line.replace(/:.*/, ''))).toEqual([
    expect.stringMatching(/^[12]00 open a\.txt$/),
    `${closed} a.txt`,
    `${again} open b.txt`,
    `${Number(again) + 1_000} read b.txt 7`,
  ])
  expect(lines).toEqual([
    'tool-start c1 provisional',
    'tool-discarded c1 arguments_changed',
    'tool-start c1 provisional',
    'tool-committed c1',
    'tool-end c1',
  ])
  expect(results).toEqual([['c1', 'b.txt from 7']])
  expect(told(events)).toEqual(told((await ran({ responses, eager: false, ms: 1_000 })).events))
})

test('whole input that fails the schema discards, and the call gets its ordinary error result (H32)', async () => {
  const responses = [reading(['{"path":"a.txt"', ',"from":"seven"}'])]
  for (const ms of [0, 1_000]) {
    const { log, lines, results, events } = await ran({ responses, ms })
    expect(log.map((line) => line.replace(/:.*/, ''))).toEqual(['100 open a.txt', '200 closed a.txt'])
    expect(lines.filter((line) => !line.startsWith('tool-start'))).toEqual([
      'tool-discarded c1 arguments_changed',
      'tool-end c1 error',
    ])
    expect(results).toEqual([['c1', expect.stringContaining('invalid input for read: from')]])
    expect(told(events)).toEqual(told((await ran({ responses, eager: false, ms })).events))
  }
})

test('a result that was there before the rest counts only if the whole input is valid (H32)', async () => {
  const quick = tool({
    name: 'read',
    description: 'Needs no rest.',
    input: page,
    effect: 'read',
    needs: ['path'],
    execute: ({ path }) => `all of ${path}`,
  })
  const results = async (last: string) => {
    const model = tellingModel([reading(['{"path":"a.txt"', `,"from":${last}}`]), sayDone])
    const agent = createAgent({ model, tools: [quick as Tool], middleware: [eagerTools()] })
    return resultsOf((await played(agent.run('Go'))).messages)
  }
  expect(await results('7')).toEqual([['c1', 'all of a.txt']])
  expect(await results('"7"')).toEqual([['c1', expect.stringContaining('invalid input')]])
})

test('needed members that the schema rejects start nothing, also if it can only check the whole (H32, H5)', async () => {
  const strict = page.refine(({ path }) => path !== 'a.txt', { path: ['path'] })
  const short = page.extend({ path: z.string().max(2) })
  expect((await ran({ input: short })).log).toEqual([])
  // A check of the whole input is impossible before the input is complete.
  expect((await ran({ input: strict })).log[0]).toBe('200 open a.txt')
  const vague: typeof page = Object.create(page, {
    '~standard': {
      value: {
        ...page['~standard'],
        validate: (value: object) => ('from' in value ? { value } : { issues: [{ message: 'something is missing' }] }),
      },
    },
  })
  expect((await ran({ input: vague })).log[0]).toBe('400 open a.txt')
})

test('a call whose needed member the schema changes is made again, with the changed value (H32)', async () => {
  const trimmed = page.extend({ path: z.string().toUpperCase() })
  const { log, results, lines } = await ran({ input: trimmed })
  expect(log.map((line) => line.replace(/:.*/, ''))).toEqual([
    '200 open a.txt',
    '400 closed a.txt',
    '500 open A.TXT',
    '500 read A.TXT 7',
  ])
  expect(results).toEqual([['c1', 'A.TXT from 7']])
  expect(lines).toContain('tool-discarded c1 arguments_changed')
})

test('the call is not accepted before a slow schema has finished (H32)', async () => {
  const slow = page.refine(({ from }) => after(300).then(() => from === 7)) as typeof page
  expect((await ran({ input: slow })).log).toEqual(['200 open a.txt', '700 read a.txt 7'])
  const wrong = await ran({ input: slow, responses: [reading(['{"path":"a.txt"', ',"from":8}'])] })
  expect(wrong.results).toEqual([['c1', expect.stringContaining('invalid input')]])
  expect(wrong.lines.at(-1)).toBe('tool-end c1 error')
})

const broken = (deltas: readonly string[], how: 'fails' | 'is cut'): Moment[] => [
  ...reading(deltas).slice(0, -2),
  [
    deltas.length * 100 + 50,
    () => {
      if (how === 'fails') throw new Error('gone')
    },
  ],
]

test.each([
  ['fails', 'stream_error'],
  ['is cut', 'stream_truncated'],
] as const)('the awaited rest rejects when the stream %s, and the call is discarded (H32, H21)', async (how, cause) => {
  for (const ms of [0, 1_000]) {
    const { log, lines, error } = await ran({ responses: [broken(DELTAS.slice(0, 3), how)], ms })
    expect(error).toMatchObject({ name: 'ModelError' })
    expect(log).toEqual(['200 open a.txt', `350 closed a.txt: call c1 was discarded: ${cause}`])
    expect(lines).toEqual(['tool-start c1 provisional', `tool-discarded c1 ${cause}`])
  }
})

test('a response that ends before the call is complete discards it, and so does an abort (H32, H18, H24)', async () => {
  const short = reading(DELTAS.slice(0, 2)).slice(0, -2)
  const length = await ran({ responses: [[...short, [300, (to) => to.finish('length')]]] })
  expect(length.lines).toEqual(['tool-start c1 provisional', 'tool-discarded c1 stream_truncated', 'tool-end c1 error'])

  const { log, read } = library({ ms: 1_000 })
  const agent = createAgent({ model: tellingModel([reading(DELTAS)]), tools: [read], middleware: [eagerTools()] })
  const controller = new AbortController()
  setTimeout(() => controller.abort(new Error('enough')), 250)
  const collected = collect(agent.stream('Go', { signal: controller.signal }))
  const { events, error } = await played(collected)
  expect(error).toMatchObject({ name: 'AbortError' })
  expect(log.map((line) => line.replace(/ [^ ]+:.*/, ''))).toEqual(['200 open a.txt', '250 closed'])
  expect(toolOutline(events)).toContain('tool-discarded c1 run_aborted')
})

test('a failed attempt keeps no call with incomplete input; the next attempt makes it (H32, H22)', async () => {
  const { log, results, lines } = await ran({
    responses: [reading(DELTAS.slice(0, 3)).slice(0, -2), reading(DELTAS, { id: 'd1' })],
    middleware: [retrying()],
  })
  expect(log.map((line) => line.replace(/:.*/, ''))).toEqual([
    '200 open a.txt',
    '300 closed a.txt',
    '500 open a.txt',
    '700 read a.txt 7',
  ])
  expect(results).toEqual([['d1', 'a.txt from 7']])
  expect(lines).toContain('tool-discarded c1 stream_truncated')
})

test('a call that may be one of a failed attempt waits for its whole input, to join it (H31, H22, O4)', async () => {
  const first = reading(DELTAS).slice(0, -1)
  const again = await ran({ responses: [first, reading(DELTAS, { id: 'd1' })], middleware: [retrying()], ms: 2_000 })
  expect(again.log).toEqual(['200 open a.txt', '2200 read a.txt 7'])
  expect(again.lines).toContain('tool-committed d1 started as c1')
  const other = await ran({
    responses: [first, reading([...DELTAS.slice(0, 3), '8}'], { id: 'd1' })],
    middleware: [retrying()],
    ms: 2_000,
  })
  expect(other.log.map((line) => line.replace(/:.*/, ''))).toEqual([
    '200 open a.txt',
    '800 open a.txt',
    '900 closed a.txt',
    '2800 read a.txt 8',
  ])
  expect(other.results).toEqual([['d1', 'a.txt from 8']])
})
