import { call, collect, respond, type ScriptedResponse, say, scriptedModel } from '@meanwhile/assemble/testing'
import { sized } from '@meanwhile/tests/size'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import { early } from '../../test/early-calls.ts'
import { type AgentOptions, type CheckpointStore, createAgent, memoryStore, tool } from '../index.ts'

// Very large runs: nothing is lost, mixed up or made twice.

const COUNT = sized({ small: 100, middle: 150, whole: 1_000 })
const numbers = Array.from({ length: COUNT }, (_, n) => n)

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

/** Every seventh call takes longer than those after it, and calls with the same last digit touch the same key. */
const durationOf = (n: number) => (n % 7 === 0 ? 20 : n % 3)
const keyOf = (n: number) => `key ${n % 10}`

function slowStore(): CheckpointStore {
  const inner = memoryStore()
  return { ...inner, save: (...saved) => sleep(5).then(() => inner.save(...saved)) }
}

function workshop() {
  const executions: number[] = []
  const work = { atOnce: 0, most: 0, clashes: 0 }
  const held = new Set<string>()
  const made = (name: string, effect: 'read' | 'external', isKeyed: boolean) =>
    tool({
      name,
      description: name,
      input: z.object({ n: z.number() }),
      effect,
      ...(isKeyed && { writes: ({ n }: { readonly n: number }) => [keyOf(n)] }),
      async execute({ n }) {
        executions.push(n)
        work.most = Math.max(work.most, ++work.atOnce)
        if (isKeyed && held.has(keyOf(n))) work.clashes++
        held.add(keyOf(n))
        await sleep(durationOf(n))
        held.delete(keyOf(n))
        work.atOnce--
        return n
      },
    })
  const tools = [made('look', 'read', false), made('send', 'external', false), made('write', 'external', true)]
  return { executions, work, tools }
}

async function ran(responses: readonly ScriptedResponse[], options: Omit<AgentOptions, 'model'>) {
  const model = scriptedModel([...responses, respond(say('Done'))])
  const reading = collect(createAgent({ model, ...options }).stream('Go'))
  await vi.runAllTimersAsync()
  const { result, events, error } = await reading
  const outputs = result?.messages.flatMap((message) => (message.role === 'tool' ? [message.output] : []))
  const ended = events.flatMap((event) => (event.type === 'tool-end' ? [event.message.output] : []))
  return { result, error, outputs, ended }
}

test.each<[string, 'look' | 'send' | 'write', number, Omit<AgentOptions, 'model'>]>([
  ['all at once', 'send', COUNT, {}],
  ['eight at a time', 'send', 8, { toolConcurrency: 8 }],
  ['early', 'look', COUNT, { middleware: [early] }],
  ['early, eight at a time', 'look', 8, { toolConcurrency: 8, middleware: [early] }],
  ['with ten keys', 'write', 10, {}],
  ['one after the other', 'send', 1, { toolConcurrency: 1 }],
  ['into a slow store', 'send', COUNT, { checkpoints: slowStore() }],
])(
  'very many calls in a step, %s: each is made once, and has its result in call order (A14, H26, I7, MA12)',
  async (_, name, most, options) => {
    const { executions, work, tools } = workshop()
    const step = respond(...numbers.map((n) => call(name, { n }, { id: `c${n}` })))
    const { result, outputs, ended } = await ran([step], { tools, ...options })
    expect(result).toMatchObject({ status: 'completed', text: 'Done', steps: 2 })
    expect(outputs).toEqual(numbers)
    expect(executions.toSorted((a, b) => a - b)).toEqual(numbers)
    expect(ended.toSorted((a, b) => Number(a) - Number(b))).toEqual(numbers)
    expect(work.clashes).toBe(0)
    expect(work.most).toBeLessThanOrEqual(most)
    expect(work.most).toBeGreaterThan(most === 1 ? 0 : 7)
  },
)

test.each<[string, Omit<AgentOptions, 'model'>]>([
  ['without early calls', {}],
  ['with early calls', { middleware: [early] }],
])(
  'very many steps with a call each, %s: each call is made once, in order, and has its result in its step (A7, A9, A14, H26, MA12)',
  async (_, options) => {
    const { executions, tools } = workshop()
    const steps = numbers.map((n) => respond(call('look', { n }, { id: `c${n}` })))
    const { result, outputs, ended } = await ran(steps, { tools, maxSteps: COUNT + 1, ...options })
    expect(result).toMatchObject({ status: 'completed', text: 'Done', steps: COUNT + 1 })
    expect(result?.messages.slice(1, -1).map(({ role }) => role)).toEqual(numbers.flatMap(() => ['assistant', 'tool']))
    expect([outputs, executions, ended]).toEqual([numbers, numbers, numbers])
  },
)
