import { unhandledRejections } from '@meanwhile/tests/rejections'
import { APICallError } from 'ai'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { begin, bench, breaks, call, finish, model, type Part, run, text } from '../../test/broken-models.ts'
import { resilient } from './index.ts'

unhandledRejections()
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }))
afterEach(() => void vi.useRealTimers())

test('vercel/ai#2636: a second provider answers when the first one is down, refuses, or breaks off in the middle (RS4, RS6)', async () => {
  const refusal = (statusCode: number) =>
    new APICallError({ message: 'no', url: 'http://m', requestBodyValues: {}, statusCode })
  const down: readonly Part[][] = [
    [breaks(refusal(503))],
    [breaks(refusal(401))],
    [breaks(refusal(429))],
    [begin, ...text('The capital of ', 'Norway').slice(0, -1), breaks()],
  ]
  for (const broken of down) {
    const other = model([[begin, ...text('The capital of Norway ', 'is Oslo.'), finish()]], { modelId: 'other' })
    const came = await run({ model: resilient([model([broken]), other]) })
    expect(came.shown).toBe('The capital of Norway is Oslo.|')
    expect(came.errors).toEqual([])
    expect(other.doStreamCalls).toHaveLength(1)
  }
})

test('vercel/ai#18667: a stream that breaks after 13 tool calls loses none of them, and repeats none (RS3)', async () => {
  const steps = Array.from({ length: 13 }, (_, at): Part[] => [
    begin,
    ...call(`c${at}`, at % 2 ? 'send' : 'look', at % 2 ? { to: `${at}` } : { q: `${at}` }),
    finish('tool-calls'),
  ])
  const broken: Part[] = [begin, ...text('All ', 'thir').slice(0, -1), breaks()]
  const end: Part[] = [begin, ...text('All ', 'thirteen are done.'), finish()]
  const stopWhen = () => false
  const plain = await run({ model: model([...steps, broken, end]), stopWhen })
  expect(plain.errors).toHaveLength(1)
  const made = bench()
  const came = await run({ model: resilient([model([...steps, broken, end])]), stopWhen }, made)
  expect(came.errors).toEqual([])
  expect(came.content.at(-1)).toEqual([{ type: 'text', text: 'All thirteen are done.' }])
  expect(made.ran).toHaveLength(13)
  expect(new Set(made.ran).size).toBe(13)
})
