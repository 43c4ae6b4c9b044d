import { unhandledRejections } from '@meanwhile/tests/rejections'
import { tool } from '@openai/agents'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { answer, type Case, done, executed, played, requested, sealed } from '../../test/agents.ts'

unhandledRejections()
beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const IDS = ['1', '2', '3', '4', '5']
/** Five calls, each sealed at once. The response ends after 100 ms. */
const responses = (args = '{"q":"a"}') => [
  [
    ...IDS.flatMap((id, index) => sealed(id, 'look', args, index)),
    100,
    done(...IDS.map((id) => requested(id, 'look', args))),
  ],
  answer,
]

/** The times of the executions, as the SDK makes them and with `eager()`. */
async function timesOf(look: () => object, more: Partial<Case> = {}, args?: string) {
  const times: number[][] = []
  for (const isEager of [false, true]) {
    const settings = { independent: ['look'], ...more.settings }
    const asked = { effects: { look: 'idempotent' }, responses: responses(args), ...more, settings } as const
    const { log, warnings } = await played({ ...asked, look: look() }, isEager)
    expect(warnings).toEqual([])
    times.push(log.map((line) => Number(line.split(' ')[0])))
  }
  return times
}

const LATE: readonly number[] = [100, 100, 100, 100, 100]
const EARLY: readonly number[] = [0, 0, 0, 0, 0]

/** Schemas that do not return these arguments as they are. The SDK removes `null` where a member is optional. */
const schemas = {
  'a counter': [(count = 0) => z.object({ q: z.string().overwrite((q) => `${q}${count++}`) }), '{"q":"a"}'],
  'a change of case': [() => z.object({ q: z.string().toUpperCase() }), '{"q":"a"}'],
  'an id by default': [
    () => z.object({ q: z.string(), id: z.string().default(() => crypto.randomUUID()) }),
    '{"q":"a"}',
  ],
  'an optional member': [() => z.object({ q: z.string(), id: z.string().optional() }), '{"q":"a","id":null}'],
} as const

test.for(Object.entries(schemas))(
  'a call whose schema has %s is executed once: an idempotent one when the SDK executes it, a read early (W4)',
  async ([, [schema, args]]) => {
    const look = () => ({ parameters: schema() })
    expect(await timesOf(look, {}, args)).toEqual([LATE, LATE])
    expect(await timesOf(look, { effects: { look: 'read' } }, args)).toEqual([LATE, EARLY])
    expect(await timesOf(look, { settings: { schemas: { look: 'fixed' } } }, args)).toEqual([LATE, EARLY])
  },
)

test('an idempotent call whose arguments are complete starts early (W4)', async () => {
  for (const [schema] of [schemas['an id by default'], schemas['an optional member']])
    expect(await timesOf(() => ({ parameters: schema() }), {}, '{"q":"a","id":"b"}')).toEqual([LATE, EARLY])
})

test('the arguments of an early call are parsed once, before it starts, also with a timeout (W4)', async () => {
  for (const more of [{}, { timeoutMs: 1_000 }]) {
    let parses = 0
    const counted = (q: string) => {
      parses++
      return q
    }
    const look = { parameters: z.object({ q: z.string().overwrite(counted) }), ...more }
    const asked = {
      responses: responses(),
      effects: { look: 'idempotent' },
      settings: { independent: ['look'] },
    } as const
    const [, early] = await executed({ ...asked, look })
    expect(early.map((line) => line.split(' ')[0])).toEqual(['0', '0', '0', '0', '0'])
    // Five in the plain run, five in the eager run.
    expect(parses).toBe(10)
  }
})

test('a schema that the SDK rejects starts nothing early (W4)', async () => {
  const look = () => ({ parameters: z.object({ q: z.string().max(0) }) })
  expect(await timesOf(look)).toEqual([[], []])
})

test('a tool whose parsing is not known starts early only if its schema is fixed (W4)', async () => {
  const own = tool({ name: 'look', description: 'l', parameters: z.object({ q: z.string() }), execute: () => 'ok' })
  const times: unknown[] = []
  for (const schemas of [{}, { look: 'fixed' }] as const) {
    const log: number[] = []
    const begin = performance.now()
    const wrapped: typeof own = {
      ...own,
      invoke(...given) {
        log.push(performance.now() - begin)
        return own.invoke(...given)
      },
    }
    const settings = { independent: ['look'], schemas }
    const asked = { responses: responses(), effects: { look: 'idempotent' }, agent: { tools: [wrapped] } } as const
    await played({ ...asked, settings }, true)
    times.push(log)
  }
  expect(times).toEqual([LATE, EARLY])
})
