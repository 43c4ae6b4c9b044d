import { sleep } from '@meanwhile/tests/clock'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { tool } from 'ai'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { answer, call, finish, type Played, plainAndEager, wait, whole } from '../../test/sdk.ts'

unhandledRejections()
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const responses = [[...whole('1'), call('1'), wait(100), finish()], answer]

/** A schema that is said to be fixed and returns another value in each check. */
const counting = (count = 0) => z.object({ q: z.string().transform((q) => `${q}${count++}`) })

/** Plays one call of `look`, which is undone in 20 ms and notes its beginning and its end. */
async function played(
  look: (input: { readonly q: string }, note: (text: string) => void) => unknown,
  settings: Played['settings'] = {},
) {
  const log: string[] = []
  let begin = 0
  const note = (text: string) => void log.push(`${Math.round(performance.now() - begin)} ${text}`)
  const compensate = async () => {
    await sleep(20)
    note('undone')
  }
  const { plain, eager } = await plainAndEager({
    responses,
    provider: 'openai.responses',
    effects: { look: { effect: 'reversible', compensate } },
    settings: { schemas: { look: 'fixed' }, ...settings },
    look() {
      begin = performance.now()
      log.length = 0
      return tool({ inputSchema: counting(), execute: (input) => look(input, note) })
    },
  })
  return { log, plain: plain.result, eager: eager.result, warnings: eager.warnings }
}

test('if the SDK’s value differs from that of an early call, the tool is called when the early run has settled and been undone (W46)', async () => {
  const { log, warnings } = await played(async ({ q }, note) => {
    note(`${q} begins`)
    // It ignores its signal.
    await sleep(150)
    note(`${q} ends`)
    return q
  })
  expect(log).toEqual(['0 a0 begins', '150 a0 ends', '170 undone', '170 a1 begins', '320 a1 ends'])
  expect(warnings).toEqual(['schema-differs'])
})

test('a tool that yields does so after its early run has been undone, too (W46)', async () => {
  const { log, plain, eager } = await played(async function* (_, note) {
    note('begins')
    yield 'half'
    await sleep(20)
    yield 'whole'
  })
  const told = [
    ['result', '1', 'half', true],
    ['result', '1', 'whole', true],
    ['result', '1', 'whole', false],
  ]
  for (const result of [plain, eager]) expect(result).toMatchObject({ told: expect.arrayContaining(told) })
  expect(log).toEqual(['0 begins', '120 undone', '120 begins'])
})

test('if the early run takes longer than `hold`, the call fails and its tool is not called (W46)', async () => {
  const look = async (_: object, note: (text: string) => void) => {
    note('begins')
    await sleep(1_000)
  }
  const { log, eager } = await played(look, { hold: 200 })
  expect(log).toEqual(['0 begins', '1020 undone'])
  const failed =
    'Not run: look had started early, and that run had not ended and been undone after 200 ms; its effect may have happened'
  expect(eager).toMatchObject({ told: expect.arrayContaining([['failed', '1', failed]]), text: 'done' })
})
