import { readFile } from 'node:fs/promises'
import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { answersTo, tools } from '../../test/checkpoint-fixtures.ts'
import {
  agentTool,
  type Checkpoint,
  type CheckpointStore,
  createAgent,
  interrupt,
  type Json,
  type Middleware,
  memoryStore,
  type Tool,
  tool,
} from '../index.ts'
import { signed } from './checkpoint.ts'

async function pinned(): Promise<Checkpoint> {
  const file = new URL('../../test-data/checkpoints/format-1-interrupted.json', import.meta.url)
  return JSON.parse(await readFile(file, 'utf8'))
}

const fixtureAgent = (did: string[] = []) =>
  createAgent({ name: 'fixture', model: scriptedModel([respond(say('Done'))]), tools: tools(did) })

const idsOf = ({ interrupts = [] }: { readonly interrupts?: readonly { readonly id: string }[] | undefined }) =>
  interrupts.map(({ id }) => id)

const ask = tool({
  name: 'ask',
  description: 'a',
  input: z.looseObject({}),
  execute: (_, { answers }) => (answers.length === 0 ? interrupt('Well?') : answers[0]),
}) as Tool

test('two questions whose ids had one hash have different ids (W51)', async () => {
  const ids = ['mplskc77b5f', '3leycd5a5ka']
  const pay = { ...ask, name: 'pay' }
  const asks: Middleware = {
    name: 'approve',
    async *wrapToolCall(call, next, run) {
      if (run.answers.length === 0) interrupt(call.id)
      return yield* next(call)
    },
  }
  const model = scriptedModel([respond(...ids.map((id) => call('pay', {}, { id }))), respond(say('Done'))])
  const result = await createAgent({ model, tools: [pay], middleware: [asks] }).run('Go', { id: 'order-17' })
  expect(new Set(idsOf(result)).size).toBe(2)
  expect(result.interrupts?.map(({ payload }) => payload)).toEqual(ids)
})

const parts = fc.constantFrom('a', 'b', '_', '_91_', '"', ',', '[', ']', '"],[', ' ', '1', '\u{1f600}', '\ud83d', 'é')
const texts = fc.array(parts, { minLength: 1, maxLength: 4 }).map((some) => some.join(''))

test('questions of different runs and calls have different ids of letters, digits and underscores, whatever ids these have (W51, L5)', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(texts, { minLength: 2, maxLength: 3 }),
      fc.uniqueArray(texts, { minLength: 2, maxLength: 4 }),
      async (runs, calls) => {
        const ids: string[] = []
        for (const id of runs) {
          const model = scriptedModel([respond(...calls.map((id) => call('ask', {}, { id })))])
          ids.push(...idsOf(await createAgent({ model, tools: [ask] }).run('Go', { id })))
        }
        expect(ids).toHaveLength(runs.length * calls.length)
        expect(new Set(ids).size).toBe(ids.length)
        for (const id of ids) expect(id).toMatch(/^interrupt_\w+$/)
      },
    ),
    propertyRuns({ small: 8, middle: 12, whole: 5_000 }),
  )
})

test('the open questions of a stored checkpoint keep their ids, also when another one is answered, and are answered by them (L18, L5)', async () => {
  const checkpoint = await pinned()
  const ids = idsOf(checkpoint)
  expect(ids.length).toBeGreaterThan(0)
  for (const id of ids) expect(id).toMatch(/^interrupt_\w+$/)
  const again = await fixtureAgent().resume(checkpoint).result
  expect(idsOf(again)).toEqual(ids)
  for (const id of ids) {
    const some = await fixtureAgent().resume(checkpoint, { [id]: 'yes' }).result
    expect(idsOf(some)).toEqual(ids.filter((one) => one !== id))
  }
  const last = await fixtureAgent().resume(again.checkpoint ?? '', answersTo(checkpoint)).result
  expect(last.status).toBe('completed')
})

/** An agent whose model answers with the amounts, and whose tool, or a middleware of this kind, asks without saying about what. */
function asker(by: 'tool' | 'agent' | 'wrapToolCall' | 'wrapModel' | 'beforeModel', amounts: readonly number[]) {
  const ran: unknown[] = []
  const asks = (answers: readonly Json[]) => answers.length === 0 && interrupt('Really?')
  const pay = {
    ...tool({
      name: 'pay',
      description: 'p',
      input: z.looseObject({}),
      // Nothing is stored before it starts.
      effect: 'read',
      execute(input, { answers }) {
        if (by === 'tool' || by === 'agent') asks(answers)
        ran.push(input)
        return 'paid'
      },
    }),
  } as Tool
  const middleware: Middleware = {
    name: 'asking',
    ...(by === 'wrapToolCall' && {
      async *wrapToolCall(call, next, run) {
        asks(run.answers)
        return yield* next(call)
      },
    }),
    ...(by === 'wrapModel' && {
      async *wrapModel(request, next, run) {
        const message = yield* next(request)
        asks(run.answers)
        return message
      },
    }),
    ...(by === 'beforeModel' && { beforeModel: (_, run) => void asks(run.answers) }),
  }
  const pays = amounts.map((amount) => respond(call('pay', { amount }, { id: 'pay_1' })))
  const model = scriptedModel([...pays, respond(say('Done'))])
  const inner = createAgent({ name: 'asker', model, tools: [pay], middleware: [middleware] })
  if (by !== 'agent') return { agent: inner, ran }
  const outer = scriptedModel([respond(call('clerk', { request: 'Go' }, { id: 'clerk_1' })), respond(say('Done'))])
  const clerk = agentTool(inner, { name: 'clerk', description: 'c' })
  return { agent: createAgent({ name: 'outer', model: outer, tools: [clerk] }), ran }
}

const ASKERS = ['tool', 'agent', 'wrapToolCall', 'wrapModel', 'beforeModel'] as const

/** A store of a process that ends before it has stored a question. */
const dying = (store: CheckpointStore): CheckpointStore => ({
  ...store,
  async save(id, checkpoint, expected) {
    if ('interrupts' in checkpoint && Object(checkpoint.interrupts).length > 0) throw new Error('the process has ended')
    await store.save(id, checkpoint, expected)
  },
})

test.each(ASKERS)(
  'if the process ends after the event of a question and before the question is stored, its answer is refused for the question of the next process: %s asks (W51, L5)',
  async (by) => {
    const left = memoryStore()
    const first = asker(by, [5]).agent.stream('Go', { id: 'order-17', checkpoints: dying(left) })
    let told = ''
    for await (const event of first) if (event.type === 'question') told = event.id
    await first.result.catch(() => undefined)
    const next = asker(by, [99_999, 99_999])
    const isStored = (await left.load('order-17')) !== undefined
    const again = isStored
      ? await next.agent.resume('order-17', {}, { checkpoints: left }).result
      : await next.agent.run('Go', { id: 'order-17', checkpoints: left })
    const [open = ''] = idsOf(again)
    expect([idsOf(again).length, told === '', open === told]).toEqual([1, false, false])
    const answers = { [told]: 'yes' }
    for (const from of ['order-17', again.checkpoint ?? '']) {
      const refused = next.agent.resume(from, answers, { checkpoints: left }).result
      await expect(refused).rejects.toMatchObject({ name: 'UnknownInterruptError', ids: [told] })
    }
    expect(next.ran).toEqual([])
    await next.agent.resume('order-17', { [open]: 'yes' }, { checkpoints: left }).result
    expect(next.ran).toEqual([{ amount: 99_999 }])
  },
)

test.each(ASKERS)(
  'two runs that begin in the same way, or continue one checkpoint, ask questions with different ids: %s asks (W51)',
  async (by) => {
    const runs = await Promise.all([5, 99_999].map((n) => asker(by, [n]).agent.run('Go', { id: 'order-17' })))
    expect(new Set(runs.flatMap(idsOf)).size).toBe(2)
    const waits = asker('beforeModel', [])
    const { checkpoint } = await waits.agent.run('Go')
    const answers = Object.fromEntries(idsOf({ interrupts: checkpoint?.interrupts }).map((id) => [id, 'yes']))
    const next = [5, 99_999].map((n) => asker(by === 'agent' ? 'tool' : by, [n, n]).agent)
    const resumed = await Promise.all(next.map((agent) => agent.resume(checkpoint ?? '', answers).result))
    expect(new Set(resumed.flatMap(idsOf)).size).toBe(resumed.flatMap(idsOf).length)
  },
)

test('a call that asks again after the answer to a question inside it keeps its question, and has another id if it asks something else (W51, L5)', async () => {
  for (const [payloads, same] of [
    [['Pay 5?', 'Pay 5?'], true],
    [['Pay 5?', 'Pay 99,999?'], false],
  ] as const) {
    let times = 0
    const inner = asker('tool', [5]).agent
    const within = agentTool(inner, { name: 'clerk', description: 'c' })
    const both = {
      ...ask,
      name: 'both',
      async execute(_: unknown, context: Parameters<NonNullable<Tool['execute']>>[1]) {
        const payload = payloads[times++]
        const [one] = await Promise.allSettled([within.execute?.({ request: 'Go' }, context)])
        if (context.answers.length === 0) interrupt(payload)
        return one?.status
      },
    } as Tool
    const agent = createAgent({ model: scriptedModel([respond(call('both')), respond(say('Done'))]), tools: [both] })
    const first = await agent.run('Go')
    const own = first.interrupts?.find(({ payload }) => payload === payloads[0])
    const nested = first.interrupts?.find(({ payload }) => payload === 'Really?')
    expect([own !== undefined, nested !== undefined]).toEqual([true, true])
    const second = await agent.resume(first.checkpoint ?? '', { [nested?.id ?? '']: 'yes' }).result
    expect(second.interrupts?.map(({ payload }) => payload)).toEqual([payloads[1]])
    expect(second.interrupts?.[0]?.id === own?.id).toBe(same)
  }
})

test('a hook whose question a checkpoint has asks it again with the same id, and its next question has another one (L18, L5)', async () => {
  const twice: Middleware = {
    name: 'twice',
    beforeAgent: (_, run) => (run.answers.length < 2 ? interrupt(run.answers.length) : undefined),
  }
  const agent = () => createAgent({ model: scriptedModel([respond(say('Done'))]), middleware: [twice] })
  const { checkpoint: made } = await agent().run('Go')
  if (!made) throw new Error('no checkpoint')
  const [question] = made.interrupts
  const stored = signed({ ...made, interrupts: question ? [{ ...question, id: 'interrupt_stored' }] : [] })
  const again = await agent().resume(stored).result
  expect(idsOf(again)).toEqual(['interrupt_stored'])
  const next = await agent().resume(again.checkpoint ?? '', { interrupt_stored: 'yes' }).result
  expect(next.interrupts).toMatchObject([{ payload: 1, id: expect.not.stringMatching('interrupt_stored') }])
  expect((await agent().resume(next.checkpoint ?? '', { [idsOf(next)[0] ?? '']: 'yes' }).result).text).toBe('Done')
})

test('the payload of an answered question has the place of its answer (W50)', async () => {
  const thrice: Middleware = {
    name: 'thrice',
    beforeAgent: (_, run) => (run.answers.length < 3 ? interrupt(run.answers.length) : undefined),
  }
  const agent = () => createAgent({ model: scriptedModel([respond(say('Done'))]), middleware: [thrice] })
  const answered = async (from: Checkpoint) => {
    const { checkpoint } = await agent().resume(from, answersTo(from)).result
    if (!checkpoint) throw new Error('no checkpoint')
    return checkpoint
  }
  const { checkpoint } = await agent().run('Go')
  if (!checkpoint) throw new Error('no checkpoint')
  const made = await answered(checkpoint)
  expect(Object.values(made.questions)).toMatchObject([{ payloads: [0] }])
  expect(Object.values((await answered(made)).questions)).toMatchObject([{ payloads: [0, 1] }])
})

test('a checkpoint in which two questions have one id is refused, and nobody is asked (W51, L18)', async () => {
  const model = scriptedModel([respond(call('ask'), call('ask')), respond(say('Done'))])
  const { checkpoint } = await createAgent({ model, tools: [ask] }).run('Go')
  if (!checkpoint) throw new Error('no checkpoint')
  const twins = signed({ ...checkpoint, interrupts: checkpoint.interrupts.map((one) => ({ ...one, id: 'one' })) })
  const resumed = createAgent({ model: scriptedModel([]), tools: [ask] }).resume(twins, { one: 'yes' })
  await expect(resumed.result).rejects.toMatchObject({ name: 'CheckpointCorruptError' })
})

/** Runs the tool with another input, and asks before it passes the result on. */
const doubling: Middleware = {
  name: 'doubling',
  async *wrapToolCall(call, next, run) {
    const result = yield* next({ ...call, input: { n: 2 } })
    return run.answers.length === 0 ? interrupt('Well?') : result
  },
}

function spender() {
  const ran: unknown[] = []
  const spend = tool({
    name: 'spend',
    description: 's',
    input: z.object({ n: z.number() }),
    execute: (input) => void ran.push(input),
  }) as Tool
  const model = scriptedModel([respond(call('spend', { n: 1 })), respond(say('Done'))])
  return { ran, agent: createAgent({ model, tools: [spend], middleware: [doubling] }) }
}

test('an execution with another input is known by the input itself: it is not repeated (W51, L18, L7)', async () => {
  const first = spender()
  const { checkpoint, interrupts } = await first.agent.run('Go')
  if (!checkpoint) throw new Error('no checkpoint')
  expect(checkpoint.calls[0]?.outcomes).toMatchObject([{ invocation: { input: '{"n":2}', n: 0 } }])
  const answers = Object.fromEntries((interrupts ?? []).map(({ id }) => [id, 'yes']))
  const model = scriptedModel([respond(say('Done'))])
  const { ran, agent } = spender()
  const next = createAgent({ model, tools: [...agent.tools], middleware: [doubling] })
  const { status } = await next.resume(checkpoint, answers).result
  expect([status, ran]).toEqual(['completed', []])
})
