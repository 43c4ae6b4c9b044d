import { call, collect, respond, type ScriptedResponse, say, scriptedModel } from '@meanwhile/assemble/testing'
import { expect, test, vi } from 'vitest'
import { sleep } from '../../test/clock.ts'
import { played, settled } from '../../test/played-runs.ts'
import { answersTo, textsOf } from '../../test/results.ts'
import { travelAgent } from '../../test/travel-agent.ts'
import {
  type Agent,
  type AgentRun,
  agentTool,
  type Checkpoint,
  type CheckpointStore,
  ConfigError,
  createAgent,
  interrupt,
  type Json,
  type Middleware,
  memoryStore,
  type ResumeOptions,
  UnknownInterruptError,
} from '../index.ts'

const { did, book, agentOf, interrupted } = travelAgent()

test('an answer to an unknown or old question is refused, and nothing runs (L5)', async () => {
  const { result, checkpoint } = await interrupted()
  did.length = 0
  const { agent, model } = agentOf([])
  for (const id of ['interrupt_x', '__proto__', 'constructor', '']) {
    const answers = Object.fromEntries([...Object.entries(answersTo(result)), [id, 1]])
    const { error, events } = await settled(agent.resume(checkpoint, answers))
    expect(error).toBeInstanceOf(UnknownInterruptError)
    expect(error).toMatchObject({ ids: [id] })
    expect(events).toEqual([])
  }
  const once = await played(agentOf([respond(call('book'))]).agent.resume(checkpoint, answersTo(result)))
  expect(once.result.status).toBe('interrupted')
  did.length = 0
  const old = await settled(agent.resume(once.result.checkpoint as Checkpoint, answersTo(result)))
  expect(old.error).toBeInstanceOf(UnknownInterruptError)
  expect([did, model.requests]).toEqual([[], []])
})

test('ids of questions depend only on run, address and count: they are the same in every process (L5)', async () => {
  const { result, checkpoint } = await interrupted()
  const one = await played(agentOf([]).agent.resume(checkpoint))
  const two = await played(agentOf([]).agent.resume(JSON.parse(JSON.stringify(checkpoint)) as Checkpoint))
  expect(one.result.interrupts).toEqual(result.interrupts)
  expect(two.result.interrupts).toEqual(result.interrupts)
})

test.each([null, 'yes', ['yes'], 7])(
  'answers that are not an object by id are refused, and nothing runs: %j (L5)',
  async (answers) => {
    const { result, checkpoint } = await interrupted()
    const { agent, model } = agentOf([])
    did.length = 0
    const run: AgentRun = Reflect.apply(agent.resume, agent, [checkpoint, answers])
    const error = await run.result.catch((error: unknown) => error)
    expect(error).toBeInstanceOf(ConfigError)
    expect(error).toMatchObject({
      option: 'answers',
      message: `answers: must be an object with an answer for each interrupt, by its id, not ${JSON.stringify(answers)}`,
    })
    expect(did).toEqual([])
    expect(model.requests).toEqual([])
    const again = agentOf([respond(say('Done'))]).agent
    expect((await settled(again.resume(checkpoint, answersTo(result)))).result?.status).toBe('completed')
  },
)

test('an answer to a nested agent is kept when the run stops in beforeAgent (L4, L8)', async () => {
  let asks = false
  const asking: Middleware = {
    name: 'asking',
    beforeAgent: (_, run) => {
      if (asks && run.answers.length === 0) throw interrupt('who are you?')
    },
  }
  const model = scriptedModel([respond(call('book')), respond(say('Booked.'))])
  const expert = createAgent({ model, name: 'expert', description: 'Books.', tools: [book] })
  const responses = [respond(call('expert', { request: 'Book' })), respond(say('Done'))]
  const { agent } = agentOf(responses, { tools: [agentTool(expert)], middleware: [asking] })
  const first = await played(agent.stream('Go'))
  asks = true
  const second = await played(agent.resume(first.checkpoint as Checkpoint, answersTo(first.result)))
  expect(second.result.interrupts).toMatchObject([{ payload: 'who are you?' }])
  const third = await played(agent.resume(second.checkpoint as Checkpoint, answersTo(second.result)))
  expect(third.result.text).toBe('Done')
  expect(did).toEqual(['book 1 []', 'book 2 ["yes"]'])
})

/** A run whose agent has asked two questions inside a call, and a function that cancels a resume of it after some milliseconds. */
async function askedTwice(isBackground: boolean) {
  const model = scriptedModel([respond(call('book'), call('book', { n: 2 })), respond(say('Booked.'))])
  const expert = createAgent({ model, name: 'expert', description: 'Books.', tools: [book] })
  const tools = [{ ...agentTool(expert), background: isBackground }]
  const meanwhile = isBackground ? [respond(say('Meanwhile'))] : []
  const { agent } = agentOf([respond(call('expert', { request: 'Book' })), ...meanwhile, respond(say('Done'))], {
    tools,
  })
  const { result, checkpoint } = await played(agent.stream('Go'))
  const stored = memoryStore()
  const checkpoints: CheckpointStore = { ...stored, save: (...saved) => sleep(100).then(() => stored.save(...saved)) }
  const slow = agentOf([], { tools, checkpoints }).agent
  const cancelled = async (after: number, from: Checkpoint, answers: Record<string, Json>) => {
    const run = slow.resume(from, answers)
    const reading = collect(run)
    if (after > 0) await vi.advanceTimersByTimeAsync(after)
    void run.cancel()
    await vi.runAllTimersAsync()
    const { result } = await reading
    expect(result?.status).toBe('cancelled')
    return JSON.parse(JSON.stringify(result?.checkpoint)) as Checkpoint
  }
  return { agent, result, checkpoint: checkpoint as Checkpoint, cancelled }
}

test.for([
  ['a nested agent', 'its set-up', false, 0],
  ['a nested agent', 'the agent continues', false, 50],
  ['an agent in the background', 'its set-up', true, 0],
  ['an agent in the background', 'the agent continues', true, 50],
] as const)('an answer to %s is kept when its run is cancelled before %s (L5, L8, P19)', async (row) => {
  const [, , isBackground, after] = row
  const { agent, result: first, checkpoint, cancelled } = await askedTwice(isBackground)
  const answered = await cancelled(after, checkpoint, answersTo(first))
  expect(answered.interrupts).toEqual([])
  const again = await cancelled(after, answered, {})
  did.length = 0
  const { result } = await played(agent.resume(again))
  expect(result).toMatchObject({ status: 'completed', text: 'Done' })
  expect(did).toEqual(['book 2 ["yes"]', 'book 2 ["yes"]'])
})

test.for([
  ['a nested agent', false],
  ['an agent in the background', true],
] as const)(
  'only the other question of %s is open when a run that got one answer was cancelled before its set-up (L5, L6, P19)',
  async ([, isBackground]) => {
    const { agent, result: first, checkpoint, cancelled } = await askedTwice(isBackground)
    const [one, other] = first.interrupts ?? []
    const answered = await cancelled(0, checkpoint, { [one?.id ?? '']: 'yes' })
    const again = await played(agent.resume(answered))
    expect([answered.interrupts, again.result.interrupts]).toEqual([[other], [other]])
    did.length = 0
    const { result } = await played(agent.resume(again.checkpoint as Checkpoint, answersTo(again.result, 'no')))
    expect(result).toMatchObject({ status: 'completed', text: 'Done' })
    expect(did).toEqual(['book 2 ["yes"]', 'book 2 ["no"]'])
  },
)

test.each([1, 2])(
  'an answer to an agent, %i deep, is kept whenever the process is killed after the claim of its resume (L5, L19)',
  async (depth) => {
    let save = () => {}
    /** The outermost run is saved in the middle of each set-up. */
    const slow: Middleware = { name: 'slow', beforeAgent: () => sleep(10).then(() => save()) }
    const agentsOf = (responses: (request: ReturnType<typeof call>) => readonly ScriptedResponse[]): Agent => {
      const common = { description: 'Books.', middleware: [slow] }
      const expert = { ...common, name: 'expert', tools: [book], model: scriptedModel(responses(call('book'))) }
      let agent = createAgent(expert)
      for (let level = 1; level <= depth; level++) {
        const model = scriptedModel(responses(call(agent.name ?? '', { request: 'Book' })))
        agent = createAgent({ ...common, name: `level-${level}`, model, tools: [agentTool(agent)] })
      }
      return agent
    }
    const first = await played(agentsOf((request) => [respond(request)]).stream('Go'))
    const store = memoryStore()
    const saved: Checkpoint[] = []
    const checkpoints: CheckpointStore = {
      ...store,
      async save(id, checkpoint, expected) {
        await store.save(id, checkpoint, expected)
        saved.push((await store.load(id)) as Checkpoint)
      },
    }
    const from = { ...(first.checkpoint as Checkpoint), revision: 0 }
    const resumedFrom = (checkpoint: Checkpoint, answers: Record<string, Json>, options?: ResumeOptions) =>
      agentsOf(() => Array(5).fill(respond(say('Done')))).resume(checkpoint, answers, options)
    const run = resumedFrom(from, answersTo(first.result), { checkpoints })
    save = () => void run.send('And?')
    expect((await played(run)).result.text).toBe('Done')
    save = () => {}
    const running = saved.filter(({ status }) => status === 'running')
    const texts: string[] = []
    for (const checkpoint of running) texts.push((await played(resumedFrom(checkpoint, {}))).result.text)
    expect(texts).toEqual(running.map(() => 'Done'))
    const inSetUp = running.filter(({ sent, calls }) => sent.length > 0 && calls.some(({ runs }) => runs.length > 0))
    expect(inSetUp.length).toBeGreaterThanOrEqual(depth)
  },
)

test('open calls of a checkpoint are answered by their tools, even if a hook finds no result for them (O16)', async () => {
  const patch: Middleware = {
    name: 'patch',
    beforeModel: ({ messages }) => void did.push(`patch ${messages.length}`),
  }
  const { result, checkpoint } = await interrupted({ middleware: [patch] })
  const { agent } = agentOf([respond(say('Done'))], { middleware: [patch] })
  const done = await played(agent.resume(checkpoint, answersTo(result)))
  expect(did).toEqual(['patch 1', 'book 1 []', 'book 2 ["yes"]', 'patch 3'])
  expect(textsOf(done.result)).toEqual(['Go', 'booked: yes', 'Done'])
})
