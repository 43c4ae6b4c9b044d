import { unhandledRejections } from '@meanwhile/tests/rejections'
import { spaced } from '@meanwhile/tests/size'
import { generateText, isStepCount, wrapLanguageModel } from 'ai'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import {
  begin,
  bench,
  breaks,
  call,
  finish,
  model,
  type Options,
  type Part,
  run,
  type SdkPart,
  stalls,
  text,
} from '../../test/broken-models.ts'
import type { DeclaredEffect } from '../host/declared.ts'
import { eager, type ResilientOptions, resilient } from './index.ts'

unhandledRejections()
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }))
afterEach(() => {
  const timers = vi.getTimerCount()
  vi.useRealTimers()
  if (timers > 0) throw new Error(`${timers} timers are left`)
})

const quick: ResilientOptions = { backoff: { baseDelay: 10, jitter: 0 } }
const last = [begin, ...text('Done.'), finish()]

/** A response with two calls of `look` and one of `send`, under other ids for each number. */
const answer = (number: number): SdkPart[] => [
  begin,
  ...text('Let me ', 'look.'),
  ...call(`${number}a`, 'look', { q: 'a' }),
  ...call(`${number}b`, 'look', { q: 'b' }),
  ...call(`${number}c`, 'send', { to: 'ada' }),
  finish('tool-calls'),
]

/** Each part 10 ms after the one before. */
const slowly = (parts: readonly Part[]): Part[] => parts.flatMap((part) => [{ wait: 10 }, part])

const eagerly = (effect: DeclaredEffect) => (options: Options) => {
  // Two calls of an `idempotent` tool without names wait for each other.
  const look = typeof effect === 'string' ? { effect, reads: ({ q }: { readonly q: string }) => [q] } : effect
  const effects: Readonly<Record<string, DeclaredEffect>> = { look }
  return eager(options, effects)
}

/** When `look` began, after the beginning of the run. */
async function beginnings(of: Options['model'], change: (options: Options) => Options): Promise<number[]> {
  const at = performance.now()
  const begun: number[] = []
  const made = bench()
  made.ran.push = (...lines) =>
    begun.push(...lines.filter((line) => line.startsWith('look')).map(() => performance.now() - at))
  await run({ model: of }, made, change)
  return begun
}

test('eager() watches the models inside, so calls start while the response streams (RS13)', async () => {
  const played = () => model([slowly(answer(1)), last])
  expect(await beginnings(resilient([played()]), eagerly('read'))).toEqual(await beginnings(played(), eagerly('read')))
  const [late = 0] = await beginnings(played(), (same) => same)
  const [early = 0] = await beginnings(resilient([played()]), eagerly('read'))
  expect(early).toBeLessThan(late)
})

test('inside other middleware it is not seen: calls start when their attempt has ended well, and once (RS13)', async () => {
  const played = () => model([slowly([...answer(1).slice(0, -1), breaks()]), slowly(answer(2)), last])
  const wrapped = wrapLanguageModel({ model: resilient([played()], quick), middleware: {} })
  expect(await beginnings(wrapped, eagerly('read'))).toEqual(
    await beginnings(resilient([played()], quick), (same) => same),
  )
})

const ways: Readonly<Record<string, readonly Part[]>> = {
  throw: [breaks()],
  'error part': [{ type: 'error', error: new Error('overloaded') }],
  'no finish': [],
  'finish reason': [finish('interrupted')],
  stall: [stalls],
}

for (const [place, [way, ends]] of Object.entries(ways).entries()) {
  for (const [next, effect] of (['read', 'idempotent'] as const).entries()) {
    test(`cut at any part by ${way}, ${effect} calls are joined by the next attempt, and send runs once (RS13, RS14)`, async () => {
      const plain = await run({ model: model([answer(2), last]) })
      for (const at of spaced([...answer(1).keys()], { small: 5, middle: 4, whole: 1 }, 2 * place + next)) {
        const played = model([[...answer(1).slice(0, at), ...ends], answer(2), last])
        const came = await run({ model: resilient([played], quick) }, bench(5), eagerly(effect))
        expect([...came.ran].sort(), `cut at ${at}`).toEqual([...plain.ran].sort())
        // Calls that start early may end in another order.
        expect(came.content.flat()).toHaveLength(plain.content.flat().length)
        expect(new Set(came.content.flat().map((part) => JSON.stringify(part)))).toEqual(
          new Set(plain.content.flat().map((part) => JSON.stringify(part))),
        )
        expect(came.shown).toBe(plain.shown)
      }
    })
  }
}

test('a silence that is longer than `hold` keeps the early calls for the next attempt (RS14)', async () => {
  const played = model([[...answer(1).slice(0, -1), stalls], answer(2), last])
  const { ran } = await run({ model: resilient([played], { ...quick, idle: 120_000 }) }, bench(), eagerly('idempotent'))
  expect([...ran].sort()).toEqual(['look a', 'look b', 'send ada'])
})

test('a call that the accepted attempt does not request is undone if it can be, and its result never used (RS15)', async () => {
  const undone: unknown[] = []
  const reversible: DeclaredEffect = { effect: 'reversible', compensate: (input: unknown) => void undone.push(input) }
  const broken = [begin, ...call('1', 'look', { q: 'a' }), ...text('Well'), breaks()]
  const other = [begin, ...call('2', 'look', { q: 'b' }), ...text('Well'), finish('tool-calls')]
  const came = await run({ model: resilient([model([broken, other, last])], quick) }, bench(), eagerly(reversible))
  expect(came.ran).toEqual(['look a', 'look b'])
  expect(undone).toEqual([{ q: 'a' }])
  expect(came.content[0]).toMatchObject([
    { type: 'tool-call', toolCallId: '2' },
    { type: 'text' },
    { type: 'tool-result', toolCallId: '2' },
  ])
})

test('if all attempts fail, what has started early is undone, too (RS15)', async () => {
  const undone: unknown[] = []
  const reversible: DeclaredEffect = { effect: 'reversible', compensate: (input: unknown) => void undone.push(input) }
  const broken = [begin, ...call('1', 'look', { q: 'a' }), ...text('Well'), breaks()]
  const came = await run({ model: resilient([model([broken])], quick) }, bench(), eagerly(reversible))
  expect(came.errors).toHaveLength(1)
  expect(came.ran).toEqual(['look a'])
  await vi.runAllTimersAsync()
  expect(undone).toEqual([{ q: 'a' }])
})

test('generateText with alwaysStream repeats a broken stream, and its calls are joined (RS11, RS13)', async () => {
  const { tools, ran } = bench()
  const played = model([[...answer(1).slice(0, -2), breaks()], answer(2), last])
  const options = { model: resilient([played], quick), tools, stopWhen: isStepCount(3), prompt: 'go' }
  const generating = generateText(eager(options, { look: 'read' }, { alwaysStream: true }))
  await vi.runAllTimersAsync()
  expect((await generating).text).toBe('Done.')
  expect([...ran].sort()).toEqual(['look a', 'look b', 'send ada'])
})
