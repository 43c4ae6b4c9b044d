import { call, collect, respond, type ScriptResponse, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import {
  type Agent,
  agentTool,
  type Checkpoint,
  createAgent,
  interrupt,
  type Middleware,
  memoryStore,
  type Tool,
  tool,
} from '../index.ts'

// Agents that work in the background: their questions, and what a cancel leaves of them.

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const anything = z.record(z.string(), z.unknown())

function plain(name: string, execute: NonNullable<Tool['execute']>, more: Partial<Tool> = {}): Tool {
  return { ...tool({ name, description: name, input: anything, execute }), ...more } as Tool
}

const asks = plain('asks', (_, { answers }) =>
  answers.length > 0 ? `told ${answers[0] as string}` : interrupt('Well?'),
)

/** The tool `child`: an agent with this script. */
function child(says: readonly ScriptResponse[], tools: readonly Tool[], background: Tool['background'] = true): Tool {
  const agent = createAgent({ name: 'child', model: scriptedModel(says), tools })
  return { ...agentTool(agent, { description: 'Works.' }), background }
}

function caller(says: readonly ScriptResponse[], tools: readonly Tool[], more: object = {}): Agent {
  return createAgent({ model: scriptedModel(says), tools, ...more })
}

async function settled<Result>(work: Promise<Result>): Promise<Result> {
  work.catch(() => undefined)
  await vi.runAllTimersAsync()
  return await work
}

const CALL = respond(call('child', { request: 'Work.' }, { id: 'c' }))
const DONE = respond(say('The child is done.'))
const NEWS = 'The child is done.'

const news = (messages: readonly { readonly role: string }[]) =>
  messages.flatMap((message) =>
    'origin' in message && message.origin === 'background' ? [JSON.stringify(message)] : [],
  )

test.for([
  ['before the next step', [CALL, respond(wait(100), call('idle', {}, { id: 'i' })), respond(say('Late.'))], 2],
  ['when the model offers its answer', [CALL, respond(wait(100), say('Meanwhile.')), respond(say('Late.'))], 2],
] as const)(
  'a question of an agent in the background pauses the calling run, and its answer goes to the agent: %s (P19, L9)',
  async ([, says, steps]) => {
    const did: string[] = []
    const note = plain('note', () => `note ${did.push('note')}`)
    const idle = plain('idle', () => 'idle')
    const tools = (part: 'before' | 'after') => {
      const before = [respond(call('note'), call('asks', {}, { id: 'q' }))]
      return [child(part === 'before' ? before : [DONE], [asks, note]), idle]
    }
    const first = await settled(collect(caller(says, tools('before')).stream('Go')))
    const result = first.result
    if (result?.status !== 'interrupted') throw new Error(result?.status)
    expect([result.steps, first.events.filter(({ type }) => type === 'background-end')]).toEqual([steps, []])
    expect(result.interrupts).toMatchObject([
      {
        payload: 'Well?',
        address: [{ agent: null }, { tool: 'child', callId: 'c' }, { agent: 'child' }, { tool: 'asks', callId: 'q' }],
      },
    ])
    const stored = JSON.parse(JSON.stringify(result.checkpoint)) as Checkpoint
    const answers = Object.fromEntries(result.interrupts.map(({ id }) => [id, 'yes']))
    const after = caller([respond(say('Hm.')), respond(say('All done.'))], tools('after'))
    const second = await settled(after.resume(stored, answers).result)
    expect(second.status).toBe('completed')
    expect(news(second.messages)).toEqual([expect.stringContaining(NEWS)])
    expect(did).toEqual(['note'])
  },
)

test('a resume that does not answer an agent in the background asks again with the same id, and runs nothing (P19, L6)', async () => {
  const says = [respond(call('asks', {}, { id: 'q' }))]
  const first = await settled(caller([CALL, respond(wait(100), say('Hm.'))], [child(says, [asks])]).run('Go'))
  const again = await settled(caller([], [child([], [asks])]).resume(first.checkpoint ?? '').result)
  if (first.status !== 'interrupted' || again.status !== 'interrupted') throw new Error('it went on')
  expect(again.interrupts).toEqual(first.interrupts)
})

test('an agent in the background for whose result the answer does not wait asks no question (P19, I17)', async () => {
  const says = [respond(wait(50), call('asks', {}, { id: 'q' }))]
  const agent = caller([CALL, respond(wait(100), say('Never mind.'))], [child(says, [asks], { atEnd: 'cancel' })])
  expect(await settled(agent.run('Go'))).toMatchObject({ status: 'completed', text: 'Never mind.' })
})

test('an agent in the background that asks after its run has handed it over has failed, with the reason (P19, I17)', async () => {
  const says = [respond(wait(500), call('asks', {}, { id: 'q' }))]
  const agent = caller([CALL, respond(say('Later.'))], [child(says, [asks], { atEnd: 'detach' })])
  const result = await settled(agent.run('Go'))
  if (result.status !== 'completed') throw new Error(result.status)
  const [handle] = result.background ?? []
  const message = await handle?.result
  expect(message).toMatchObject({ isError: true })
  expect(JSON.stringify(message?.content)).toContain('a background call cannot get an answer')
})

test.for(['now', 'after-model', 'after-tools'] as const)(
  'a cancel %s keeps what an agent in the background has done, and the resume continues with it (P19, K16, O18)',
  async (at) => {
    const did: string[] = []
    const step = plain('step', () => `step ${did.push('step')}`)
    const slow = plain(
      'slow',
      async (_, { signal }) => {
        did.push('slow')
        await new Promise((resolve, reject) => {
          const timer = setTimeout(resolve, 1_000)
          signal.addEventListener('abort', () => {
            clearTimeout(timer)
            reject(signal.reason)
          })
        })
        return 'slow'
      },
      { effect: 'read' },
    )
    const work = (says: readonly ScriptResponse[]) => child(says, [step, slow])
    const says = [respond(call('step', {}, { id: 's' })), respond(call('slow', {}, { id: 'l' }))]
    const store = memoryStore()
    const before = caller([CALL, respond(wait(300), say('Hm.'))], [work(says)], { checkpoints: store })
    const run = before.stream('Go')
    await vi.advanceTimersByTimeAsync(100)
    const cancelled = run.cancel({ at })
    const first = await settled(run.result)
    expect([await cancelled, first.status]).toEqual([{ status: 'cancelled' }, 'cancelled'])
    const after = caller([respond(say('Hm.')), respond(say('Hm.')), respond(say('All done.'))], [work([DONE])], {
      checkpoints: store,
    })
    const second = await settled(after.resume(run.id).result)
    expect(second.status).toBe('completed')
    expect(news(second.messages)).toEqual([expect.stringContaining(NEWS)])
    expect(did.filter((what) => what === 'step')).toEqual(['step'])
  },
)

test.for(['before', 'after'] as const)(
  'a background call that was cancelled asks nothing: a wrap cancels it and asks, %s its work has begun (P19)',
  async (when) => {
    const asking: Middleware = {
      name: 'asking',
      async *wrapToolCall(call, next, run) {
        if (when === 'before') {
          run.cancelTool(call.id)
          return interrupt('Sure?')
        }
        const message = yield* next(call)
        run.cancelTool(call.id)
        interrupt('Sure?')
        return message
      },
    }
    const long = plain('child', () => new Promise((resolve) => setTimeout(() => resolve('late'), 1_000)), {
      background: true,
    })
    const agent = caller([CALL, respond(say('Hm.')), respond(say('Done.'))], [long], { middleware: [asking] })
    const result = await settled(agent.run('Go'))
    expect(result.status).toBe('completed')
    const answer = result.messages.find((message) => message.role === 'tool')
    expect(JSON.stringify(answer)).toContain('cancelled')
  },
)

test('an agent in the background that is cancelled asks nothing (P19)', async () => {
  const says = [respond(wait(50), call('asks', {}, { id: 'q' }))]
  const agent = caller([CALL, respond(wait(100), say('Hm.')), respond(say('Done.'))], [child(says, [asks])])
  const run = agent.stream('Go')
  await vi.advanceTimersByTimeAsync(20)
  expect(run.cancelTool('c')).toBe(true)
  const result = await settled(run.result)
  expect(result).toMatchObject({ status: 'completed', text: 'Done.' })
  expect(news(result.messages)).toEqual([expect.stringContaining('was cancelled')])
})

test('an agent in the background that asks while the answer of its run is judged has failed, and its handle contains the reason (P19, MA18)', async () => {
  const says = [respond(wait(50), call('asks', {}, { id: 'q' }))]
  const slowGate: Middleware = {
    name: 'slow',
    beforeFinalAnswer: () => new Promise((resolve) => setTimeout(() => resolve({ accept: true }), 500)),
  }
  const detached = child(says, [asks], { atEnd: 'detach' })
  const agent = caller([CALL, respond(say('Later.'))], [detached], { middleware: [slowGate] })
  const result = await settled(agent.run('Go'))
  if (result.status !== 'completed') throw new Error(result.status)
  const message = await result.background?.[0]?.result
  expect(message).toMatchObject({ isError: true })
  expect(JSON.stringify(message?.content)).toContain('a background call cannot get an answer')
})

test('a cancel that comes when the answer is accepted and its work is handed over does not stop the run, so that no resume repeats the work (MA6, MA18)', async () => {
  const did: string[] = []
  const step = plain('step', () => `step ${did.push('step')}`)
  const stubborn = plain('stubborn', () => new Promise((resolve) => setTimeout(() => resolve('late'), 900)), {
    background: { atEnd: 'cancel' },
  })
  const says = [respond(wait(400), call('step', {}, { id: 's' })), DONE]
  const both = respond(call('child', { request: 'Work.' }, { id: 'c' }), call('stubborn', {}, { id: 'u' }))
  const tools = [child(says, [step], { atEnd: 'detach' }), stubborn]
  const run = caller([both, respond(say('Later.'))], tools).stream('Go')
  await vi.advanceTimersByTimeAsync(200)
  const cancelled = run.cancel()
  const result = await settled(run.result)
  expect([await cancelled, result.status]).toEqual([{ status: 'ended' }, 'completed'])
  if (result.status !== 'completed') return
  const handles = await Promise.all((result.background ?? []).map(({ result }) => result))
  expect([handles, did]).toMatchObject([[{ callId: 'c', content: [{ text: NEWS }] }], ['step']])
})
