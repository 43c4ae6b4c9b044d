import type { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { spaced } from '@meanwhile/tests/size'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import {
  type AgentOptions,
  answer,
  breaks,
  calls,
  endsBadly,
  finish,
  model,
  type Options,
  outline,
  Played,
  run,
  type Step,
  said,
  says,
  stalls,
} from '../../test/broken-chat-models.ts'
import type { EagerSettings } from '../host/settings.ts'
import { type DeclaredEffect, eager, type ResilientOptions, resilient } from './index.ts'

unhandledRejections()
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const quick: ResilientOptions = { backoff: { baseDelay: 10, jitter: 0 } }
const last = said('end', 'Done.')

/** Each chunk 10 ms after the one before. */
const slowly = (steps: readonly Step[]): Step[] => steps.flatMap((step) => [{ wait: 10 }, step])

const eagerly =
  (look: DeclaredEffect, settings: EagerSettings = {}): NonNullable<Options['change']> =>
  (options: AgentOptions) =>
    eager<object>(options, { look }, settings)

/** When `look` began, after the beginning of the run. */
async function beginnings(of: BaseChatModel, change?: Options['change']): Promise<number[]> {
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

test('with its own config, too (RS13)', async () => {
  const played = () => model([slowly(answer(1)), last])
  const early = await beginnings(played(), eagerly('read'))
  const bound: unknown = resilient([played()]).withConfig({ tags: ['mine'] })
  expect(await beginnings(bound as BaseChatModel, eagerly('read'))).toEqual(early)
})

const ways: Readonly<Record<string, readonly Step[]>> = {
  throw: [breaks()],
  'silent end': [],
  stall: [stalls],
  'finish reason': [endsBadly],
}

for (const [place, [way, ends]] of Object.entries(ways).entries()) {
  test(`cut at any chunk by ${way}, reads are joined by the next attempt, and send runs once (RS13, RS14, RS17)`, async () => {
    const plain = await run(model([answer(2), last]))
    for (const at of spaced([...answer(1).keys()], { small: 4, middle: 3, whole: 1 }, place)) {
      const played = model([[...answer(1).slice(0, at), ...ends], answer(2), last])
      const came = await run(resilient([played], quick), { ms: 5, change: eagerly('read') })
      expect([...came.ran].sort(), `cut at ${at}`).toEqual([...plain.ran].sort())
      expect([outline(came.messages), came.shown, came.error], `cut at ${at}`).toEqual([
        outline(plain.messages),
        plain.shown,
        undefined,
      ])
    }
  })
}

test('an idempotent call starts when the agent executes it, and once (RS13)', async () => {
  const played = () => model([slowly([...answer(1).slice(0, -1), breaks()]), slowly(answer(2)), last])
  expect(await beginnings(resilient([played()], quick), eagerly('idempotent'))).toEqual(
    await beginnings(resilient([played()], quick)),
  )
})

test('a silence that is longer than `hold` keeps the early calls for the next attempt (RS14)', async () => {
  const played = model([[...answer(1).slice(0, -1), stalls], answer(2), last])
  const { ran } = await run(resilient([played], { ...quick, idle: 120_000 }), { change: eagerly('read') })
  expect([...ran].sort()).toEqual(['look a', 'look b', 'send ada'])
})

test('chunks of a response that was given up are not heard as those of the next one (RS14)', async () => {
  const whole = { type: 'tool_call_chunk', index: 0, id: '1', name: 'look', args: '{"q":"z"}' } as const
  const late: Step = { chunk: { content: '', tool_call_chunks: [whole] } }
  const played = model([
    [...says('m1', 'Let'), { wait: 70_000 }, late, stalls],
    [...says('m2', 'Let'), { wait: 20_000 }, ...calls(0, '2', 'look', { q: 'a' }), finish('tool_calls')],
    last,
  ])
  const { ran, error } = await run(resilient([played], quick), { change: eagerly('read') })
  expect([ran, error]).toEqual([['look a'], undefined])
})

test('a call that the accepted attempt does not request is dropped (RS15)', async () => {
  const broken = [...calls(0, '1', 'look', { q: 'a' }), breaks()]
  const came = await run(resilient([model([broken, last])], quick), { change: eagerly('read') })
  expect([came.ran, came.text, came.error]).toEqual([['look a'], 'Done.', undefined])
})

test('if all attempts fail, the run fails with their errors (RS7, RS15)', async () => {
  const broken = [...calls(0, '1', 'look', { q: 'a' }), breaks()]
  const came = await run(resilient([model([broken])], quick), { change: eagerly('read') })
  expect(came.error).toMatchObject({ name: 'ResilientError' })
})

test('a second model of another provider is asked, and its calls start early, too (RS6, RS13)', async () => {
  const first = model([[...says('m1', 'Let '), breaks()]], 'first')
  const second = model([slowly(answer(2)), last], 'second')
  const begun = await beginnings(resilient([first, second]), eagerly('read'))
  const alone = await beginnings(model([slowly(answer(2)), last]), eagerly('read'))
  expect(begun).toEqual(alone)
  expect(second).toBeInstanceOf(Played)
})
