import { unhandledRejections } from '@meanwhile/tests/rejections'
import { spaced } from '@meanwhile/tests/size'
import type { Model, Runner } from '@openai/agents'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { answer, breaks, calls, model, run, type Step, said, stalls, started } from '../../test/broken-agents.ts'
import type { DeclaredEffect } from '../host/declared.ts'
import type { EagerSettings } from '../host/settings.ts'
import { eager, type ResilientOptions, resilient } from './index.ts'

unhandledRejections()
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const quick: ResilientOptions = { backoff: { baseDelay: 10, jitter: 0 } }
const last = said('end', 'Done.')

/** Each event 10 ms after the one before. */
const slowly = (steps: readonly Step[]): Step[] => steps.flatMap((step) => [{ wait: 10 }, step])

const eagerly = (look: DeclaredEffect<never>, settings: EagerSettings = {}) => {
  // Two calls of an `idempotent` tool without names wait for each other.
  const declared = typeof look === 'string' ? { effect: look, reads: ({ q }: { readonly q: string }) => [q] } : look
  return (runner: Runner) => eager(runner, { look: declared }, settings)
}

/** When `look` began, after the beginning of the run. */
async function beginnings(of: Model, change?: (runner: Runner) => Runner): Promise<number[]> {
  const at = performance.now()
  const begun: number[] = []
  await run(of, { ...(change && { change }), began: (name) => name === 'look' && begun.push(performance.now() - at) })
  return begun
}

test('eager() watches the models inside, so calls start while the response streams (RS13)', async () => {
  const played = () => model([slowly(answer(1)), last])
  expect(await beginnings(resilient([played()]), eagerly('read'))).toEqual(await beginnings(played(), eagerly('read')))
  const [late = 0] = await beginnings(played())
  const [early = 0] = await beginnings(resilient([played()]), eagerly('read'))
  expect(early).toBeLessThan(late)
})

test('inside another model it is not seen: calls start when their attempt has ended well, and once (RS13)', async () => {
  const played = () => model([slowly([...answer(1).slice(0, -1), breaks()]), slowly(answer(2)), last])
  const inside = resilient([played()], quick)
  const around: Model = {
    getResponse: (request) => inside.getResponse(request),
    getStreamedResponse: (request) => inside.getStreamedResponse(request),
  }
  expect(await beginnings(around, eagerly('read'))).toEqual(await beginnings(resilient([played()], quick)))
})

const ways: Readonly<Record<string, readonly Step[]>> = { throw: [breaks()], 'silent end': [], stall: [stalls] }

for (const [place, [way, ends]] of Object.entries(ways).entries()) {
  for (const [next, effect] of (['read', 'idempotent'] as const).entries()) {
    test(`cut at any event by ${way}, ${effect} calls are joined by the next attempt, and send runs once (RS13, RS14, RS16)`, async () => {
      const plain = await run(model([answer(2), last]))
      for (const at of spaced([...answer(1).keys()], { small: 4, middle: 3, whole: 1 }, 2 * place + next)) {
        const played = model([[...answer(1).slice(0, at), ...ends], answer(2), last])
        const came = await run(resilient([played], quick), { ms: 5, change: eagerly(effect) })
        expect([...came.ran].sort(), `cut at ${at}`).toEqual([...plain.ran].sort())
        expect([came.history, came.shown, came.error], `cut at ${at}`).toEqual([plain.history, plain.shown, undefined])
      }
    })
  }
}

test('a silence that is longer than `hold` keeps the early calls for the next attempt (RS14)', async () => {
  const played = model([[...answer(1).slice(0, -1), stalls], answer(2), last])
  const { ran } = await run(resilient([played], { ...quick, idle: 120_000 }), { change: eagerly('idempotent') })
  expect([...ran].sort()).toEqual(['look a', 'look b', 'send ada'])
})

test('a call that the accepted attempt does not request is undone if it can be, and its result never used (RS15)', async () => {
  const undone: unknown[] = []
  const reversible: DeclaredEffect = { effect: 'reversible', compensate: (input: unknown) => void undone.push(input) }
  const broken = [started, ...calls('1', 'look', { q: 'a' }), breaks()]
  const came = await run(resilient([model([broken, last])], quick), { change: eagerly(reversible) })
  expect([came.ran, undone, came.output]).toEqual([['look a'], [{ q: 'a' }], 'Done.'])
})

test('if all attempts fail, what has started early is undone, too (RS15)', async () => {
  const undone: unknown[] = []
  const reversible: DeclaredEffect = { effect: 'reversible', compensate: (input: unknown) => void undone.push(input) }
  const broken = [started, ...calls('1', 'look', { q: 'a' }), breaks()]
  const came = await run(resilient([model([broken])], quick), { change: eagerly(reversible) })
  expect(came.error).toMatchObject({ name: 'ResilientError' })
  await vi.runAllTimersAsync()
  expect([came.ran, undone]).toEqual([['look a'], [{ q: 'a' }]])
})

test('a run that does not stream repeats a broken stream with alwaysStream, and its calls are joined (RS11, RS13)', async () => {
  const played = model([[...answer(1).slice(0, -1), breaks()], answer(2), last])
  const came = await run(resilient([played], quick), {
    change: eagerly('read', { alwaysStream: true }),
    run: { stream: false },
  })
  expect(came.output).toBe('Done.')
  expect([...came.ran].sort()).toEqual(['look a', 'look b', 'send ada'])
})
