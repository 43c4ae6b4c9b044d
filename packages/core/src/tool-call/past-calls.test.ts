import { keptOf } from '@meanwhile/tests/garbage'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import { early, withdrawing } from '../../test/early-calls.ts'
import {
  type Checkpoint,
  type CheckpointStore,
  createAgent,
  type Middleware,
  type Model,
  memoryStore,
  type Tool,
  tool,
} from '../index.ts'
import { call, respond, say, scriptedModel, wait } from '../testing.ts'

// What a run keeps of calls from earlier steps.

const STEPS = 60

const SAID = 'x'.repeat(100)

/** The size without what a step adds to the history. */
function sizeOfCalls({ calls, questions, values, unknown, abandoned }: Checkpoint): number {
  return JSON.stringify({ calls, questions, values, unknown, abandoned }).length
}

/** Each response requests calls that stay and calls that are withdrawn; some have settled by then, some have not. */
const responses = () =>
  Array.from({ length: STEPS }, (_, n) =>
    respond(
      call('stays', { n, ms: 0 }, { id: `stays ${n}` }),
      call('stays', { n, ms: 30 }, { id: `stays later ${n}` }),
      call('goes', { n, ms: 0 }, { id: `goes ${n}` }),
      call('goes', { n, ms: 30 }, { id: `goes later ${n}` }),
    ),
  )

function calling(name: string): Tool {
  return tool({
    name,
    description: name,
    input: z.object({ n: z.number(), ms: z.number() }),
    effect: 'read',
    async execute({ n, ms }, { run, callId }) {
      await run?.callTool({ type: 'tool-call', id: `part of ${callId}`, name: 'part', input: { n } })
      await sleep(ms)
      return SAID
    },
  }) as Tool
}

const part: Tool = tool({
  name: 'part',
  description: 'p',
  input: z.object({ n: z.number() }),
  effect: 'read',
  execute: ({ n }) => n,
})

test('over 60 steps the stored data of calls stays as small as in the first steps, and no discarded call is stored once its response is accepted (MA13)', async () => {
  vi.useFakeTimers()
  const inner = memoryStore()
  const saved: Checkpoint[] = []
  const store: CheckpointStore = {
    ...inner,
    save(id, checkpoint, revision) {
      saved.push(checkpoint as Checkpoint)
      return inner.save(id, checkpoint, revision)
    },
  }
  const running = createAgent({
    model: scriptedModel([...responses(), respond(say('Done'))]),
    tools: [calling('stays'), calling('goes'), part],
    middleware: [early, withdrawing('goes')],
    checkpoints: store,
    maxSteps: STEPS + 1,
  }).run('Go')
  await vi.runAllTimersAsync()
  const result = await running
  vi.useRealTimers()
  expect(result).toMatchObject({ status: 'completed', steps: STEPS + 1 })
  const largest = (some: readonly Checkpoint[]) => Math.max(...some.map(sizeOfCalls))
  const steps10 = (from: number) => saved.filter(({ steps: { begun } }) => begun > from && begun <= from + 10)
  // Only numbers get longer.
  expect(largest(steps10(STEPS - 10))).toBeLessThan(largest(steps10(0)) * 1.1)
  const late = saved.filter(({ steps }) => steps.current?.phase === 'calls')
  const ids = late.flatMap(({ calls }) => calls.map(({ id }) => id))
  expect(ids.filter((id) => id.includes('goes'))).toEqual([])
  expect(ids.filter((id) => id.includes('part of stays later')).length).toBeGreaterThan(STEPS / 2)
})

test('a run keeps neither input nor output of a call of an earlier step if its history does not contain them (MA13, A23)', async () => {
  vi.useFakeTimers()
  /** By the id of the call. */
  const inputs = new Map<string, WeakRef<object>>()
  const past = ['stays 0', 'goes 0', 'part of stays 0', 'part of goes 0']
  const asked: unknown[] = []
  const forgetting: Middleware = {
    name: 'forgetting',
    async *wrapToolCall(one, next) {
      inputs.set(one.id, new WeakRef(Object(one.input)))
      return yield* next(one)
    },
    beforeModel: ({ messages }, { step }) => (step === 1 ? undefined : { messages: messages.slice(0, 1) }),
    async beforeFinalAnswer(_, run) {
      asked.push(await keptOf(() => past.flatMap((id) => inputs.get(id) ?? [])))
      const again = (id: string, ms: number) => ({ type: 'tool-call', id, name: 'stays', input: { ms, n: 0 } }) as const
      asked.push((await run.callTool(again('stays 0', 0))).output)
      asked.push(await run.callTool(again('stays 0', 1)).catch((error: Error) => error.name))
      asked.push(await run.stood('goes 0').catch((error: Error) => error.message))
    },
  }
  const first = respond(
    call('stays', { n: 0, ms: 0 }, { id: 'stays 0' }),
    call('goes', { n: 0, ms: 0 }, { id: 'goes 0' }),
  )
  // A withdrawn call is kept until a step begins after it has settled.
  const second = respond(wait(10), call('part', { n: 1 }, { id: 'part' }))
  const responses = [first, second, respond(say('Done'))]
  const model: Model = {
    provider: 'p',
    id: 'm',
    stream: (request) => scriptedModel(responses.splice(0, 1)).stream(request),
  }
  const tools = [calling('stays'), calling('goes'), part]
  const running = createAgent({ model, tools, middleware: [early, withdrawing('goes'), forgetting] }).run('Go')
  await vi.runAllTimersAsync()
  await running
  vi.useRealTimers()
  expect([...inputs.keys()]).toEqual(expect.arrayContaining(past))
  expect(asked).toEqual([0, SAID, 'ToolDiscardedError', 'call goes 0 was discarded: call_withdrawn'])
})
