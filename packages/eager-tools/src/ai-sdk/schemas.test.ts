import { unhandledRejections } from '@meanwhile/tests/rejections'
import { tool } from 'ai'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { answer, call, finish, type Played, plainAndEager, wait, whole } from '../../test/sdk.ts'

unhandledRejections()
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const CALLS = ['1', '2', '3', '4', '5']
/** Five calls, each in its own step. Each is sealed at once, and its step takes 100 ms. */
const responses = [...CALLS.map((id) => [...whole(id), call(id), wait(100), finish()]), answer]
/** Each call starts when its step does, and has ended before the step has. */
const EARLY: readonly number[] = [0, 100, 200, 300, 400]
const LATE: readonly number[] = [100, 220, 340, 460, 580]

/** Schemas that do not return the arguments `{"q":"a"}` as they are. Each is made again for each run. */
const schemas = {
  id: () => z.object({ q: z.string(), id: z.string().default(() => crypto.randomUUID()) }),
  'a default of today': () =>
    z.object({ q: z.string(), day: z.string().default(() => new Date().toISOString().slice(0, 10)) }),
  'a counter': (count = 0) => z.object({ q: z.string().transform((q) => `${q}${count++}`) }),
  'a date': () => z.object({ q: z.string().transform(() => new Date(0)) }),
}

const effects = {
  read: 'read',
  idempotent: 'idempotent',
  reversible: { effect: 'reversible', compensate: () => undefined },
} as const

async function played(schema: keyof typeof schemas, effect: keyof typeof effects, settings: Played['settings'] = {}) {
  const { plain, eager } = await plainAndEager({
    responses,
    provider: 'openai.responses',
    effects: { look: effects[effect] },
    settings,
    options: () => ({ stopWhen: [] }),
    look: ({ work }) => tool({ inputSchema: schemas[schema](), execute: work }),
  })
  const times = (log: readonly string[]) => log.map((line) => Number(line.split(' ')[0]))
  return { plain: times(plain.log), eager: times(eager.log), warnings: eager.warnings }
}

test.for(Object.keys(schemas) as (keyof typeof schemas)[])(
  'above read, calls are executed as often as without eager() and at the same times, if the schema has %s (W4)',
  async (schema) => {
    for (const effect of ['idempotent', 'reversible'] as const)
      expect(await played(schema, effect)).toEqual({ plain: LATE, eager: LATE, warnings: [] })
  },
)

test('calls of a tool whose schema is fixed start early, and are executed once (W4)', async () => {
  const settings = { schemas: { look: 'fixed' } } as const
  for (const schema of ['a default of today', 'a date'] as const)
    expect(await played(schema, 'idempotent', settings)).toEqual({ plain: LATE, eager: EARLY, warnings: [] })
})

test('a read whose schema returns something new each time is executed twice once, and then starts early no more (W4)', async () => {
  for (const schema of ['id', 'a counter'] as const)
    expect(await played(schema, 'read')).toEqual({ plain: LATE, eager: [0, ...LATE], warnings: ['schema-differs'] })
  for (const schema of ['a default of today', 'a date'] as const)
    expect(await played(schema, 'read')).toEqual({ plain: LATE, eager: EARLY, warnings: [] })
})

test('a tool that is said to be fixed and is not is executed twice once, the caller gets the result of its own input, and there is one warning (W4)', async () => {
  const given = await played('id', 'reversible', { schemas: { look: 'fixed' } })
  expect(given).toEqual({ plain: LATE, eager: [0, ...LATE], warnings: ['schema-differs'] })
})
