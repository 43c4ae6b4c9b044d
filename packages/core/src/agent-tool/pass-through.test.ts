import { call, respond, type ScriptResponse, type ScriptStep, say, scriptedModel } from '@meanwhile/assemble/testing'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import { played } from '../../test/played-runs.ts'
import {
  type AgentEvent,
  type AgentResult,
  type AgentRun,
  agentTool,
  type Checkpoint,
  createAgent,
  interrupt,
  type Middleware,
  type Model,
  memoryStore,
  type Tool,
  tool,
} from '../index.ts'

// Questions inside calls, with and without a `wrapAgent` that only passes on.

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

/** What one call of the outer agent does. A question is asked after its number of tenths of a second. */
type Work = ToolWork | AgentWork

interface ToolWork {
  readonly is: 'asks' | 'asks in a call'
  readonly ms: number
}

interface AgentWork {
  readonly is: 'agent' | 'background agent'
  readonly questions: readonly number[]
  /** Whether it asks each question in its own step. */
  readonly inSteps: boolean
}

interface Program {
  readonly works: readonly Work[]
  /** Which open question is answered next; `-1`: a resume without an answer. */
  readonly order: readonly number[]
  /** Before these resumes the process is killed: the resume continues from an earlier save. */
  readonly kills: readonly boolean[]
}

const delay = fc.integer({ min: 1, max: 40 })
const agents = ['agent', 'background agent'] as const
const work: fc.Arbitrary<Work> = fc.oneof(
  fc.record<ToolWork>({ is: fc.constantFrom('asks', 'asks in a call'), ms: delay }),
  fc.record<AgentWork>({
    is: fc.constantFrom(...agents),
    questions: fc.uniqueArray(delay, { minLength: 1, maxLength: 2 }),
    inSteps: fc.boolean(),
  }),
)
const programs: fc.Arbitrary<Program> = fc.record({
  works: fc.array(work, { minLength: 1, maxLength: 3 }).map((works) => [...works, background]),
  order: fc.array(fc.integer({ min: -1, max: 5 }), { minLength: 12, maxLength: 12 }),
  kills: fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }),
})
const background: Work = { is: 'background agent', questions: [7], inSteps: false }

/** A model whose answer depends only on the history, so that a repeated request gets the same answer. */
function modelOf(answer: (turn: number) => ScriptResponse): Model {
  return {
    provider: 'scripted',
    id: 'scripted-1',
    stream: (request) =>
      scriptedModel([answer(request.messages.filter(({ role }) => role === 'assistant').length)]).stream(request),
  }
}

const ask = tool({
  name: 'ask',
  description: 'Asks.',
  input: z.object({ ms: z.number() }),
  async execute({ ms }, { answers: [answer] }) {
    // All saves end between two questions, so that a kill finds the same save with and without wraps.
    await sleep(100 * ms)
    if (answer === undefined) throw interrupt({ after: ms })
    return `answered ${JSON.stringify(answer)}`
  },
}) as Tool

const relay = tool({
  name: 'relay',
  description: 'Asks in a call that it makes.',
  input: z.object({ ms: z.number() }),
  async execute(input, { run }) {
    const message = await run?.callTool({ type: 'tool-call', id: 'inside', name: 'ask', input })
    return message?.content
  },
}) as Tool

const passes: readonly Middleware[] = [
  {
    name: 'yields',
    async *wrapAgent(setup, next) {
      return yield* next(setup)
    },
  },
  { name: 'returns', wrapAgent: (setup, next) => next(setup) },
]

/** `wraps`: where wraps that only pass on are added. */
function agentOf({ works }: Program, wraps: { readonly outer: boolean; readonly inner: boolean }) {
  const tools: Tool[] = [ask, relay]
  const calls = works.map((one, index): ScriptStep => {
    const id = `c${index}`
    if ('ms' in one) return call(one.is === 'asks' ? 'ask' : 'relay', { ms: one.ms }, { id })
    const { questions, inSteps } = one
    const asked = questions.map((ms) => call('ask', { ms }, { id: `${id} ${ms}` }))
    const steps = inSteps ? asked.map((step) => respond(step)) : [respond(...asked)]
    const inner = createAgent({
      name: `agent_${index}`,
      description: 'Asks.',
      model: modelOf((turn) => steps[turn] ?? respond(say(`done ${index}`))),
      tools: [ask],
      middleware: wraps.inner ? passes : [],
    })
    tools.push({ ...agentTool(inner), background: one.is === 'background agent' } as Tool)
    return call(`agent_${index}`, { request: 'Go' }, { id })
  })
  const checkpoints = memoryStore()
  const saves: Checkpoint[] = []
  const agent = createAgent({
    name: 'outer',
    model: modelOf((turn) => (turn === 0 ? respond(...calls) : respond(say(`end ${turn}`)))),
    tools,
    middleware: wraps.outer ? passes : [],
    checkpoints: {
      ...checkpoints,
      async save(id, checkpoint, revision) {
        saves.push(structuredClone(checkpoint) as Checkpoint)
        await sleep(3)
        return checkpoints.save(id, checkpoint, revision)
      },
    },
  })
  return { agent, saves }
}

/** Everything that a caller can observe, without random ids. */
type Trace = readonly unknown[]

async function traceOf(program: Program, wraps: { readonly outer: boolean; readonly inner: boolean }): Promise<Trace> {
  const { agent, saves } = agentOf(program, wraps)
  const trace: unknown[] = []
  const note = (run: AgentRun) => noted(run, trace)
  let result = await note(agent.stream('Go', { id: 'run' }))
  for (const [index, place] of program.order.entries()) {
    if (result.status !== 'interrupted') break
    if (program.kills[index] === true) {
      const save = saves.findLast(({ status }) => status === 'running')
      if (save) result = await note(agent.resume(structuredClone({ ...save, revision: saves.at(-1)?.revision ?? 0 })))
      if (result.status !== 'interrupted') break
    }
    const open = result.interrupts
    const one = place < 0 ? undefined : open[place % open.length]
    result = await note(agent.resume(result.checkpoint, one ? { [one.id]: `yes ${JSON.stringify(one.payload)}` } : {}))
  }
  return named(trace)
}

async function noted(run: AgentRun, trace: unknown[]): Promise<AgentResult> {
  const { events, result } = await played(run)
  // What two runs, or two calls, do in the same instant has no order.
  const placeOf = (event: AgentEvent) => JSON.stringify([event.path, 'callId' in event ? event.callId : ''])
  const places = [...new Set(events.map(placeOf))].toSorted()
  trace.push(
    places.map((place) => events.filter((event) => placeOf(event) === place).map(inShort)),
    resultOf(result),
  )
  return result
}

/** Without the id of the run, which the path names, and without the result, which is compared by itself. */
function inShort({ runId: _, ...event }: AgentEvent): unknown {
  return event.type === 'run-end' ? event.type : event
}

function resultOf({ status, text, messages, ...rest }: AgentResult): unknown {
  const interrupts = 'interrupts' in rest ? rest.interrupts : undefined
  return { status, text, messages, interrupts, warnings: rest.warnings, steps: rest.steps }
}

/** Without the random ids of questions and of their runs: their addresses name them. */
function named(trace: Trace): Trace {
  const text = JSON.stringify(trace).replace(/"interrupt_[^"]+"/g, '"a question"')
  return JSON.parse(text.replace(/"innerRun":"[^"]+"/g, '"innerRun":"a run"')) as Trace
}

test('a `wrapAgent` that only passes on changes no question, no event and no result, in whatever order answers come (W1)', async () => {
  const where = fc.constantFrom(
    { outer: true, inner: false },
    { outer: false, inner: true },
    { outer: true, inner: true },
  )
  await fc.assert(
    fc.asyncProperty(programs, where, async (program, wraps) => {
      const without = await traceOf(program, { outer: false, inner: false })
      expect(await traceOf(program, wraps)).toEqual(without)
    }),
    propertyRuns({ small: 3, middle: 4, whole: 2_000 }),
  )
})

test.each(['agent', 'background agent'] as const)(
  'after the answers to all questions of an %s the run is completed, whatever wraps it has (W1)',
  async (is) => {
    const program: Program = { works: [{ is, questions: [3, 5], inSteps: false }], order: [1, -1, 0], kills: [] }
    const { agent } = agentOf(program, { outer: true, inner: true })
    let { result } = await played(agent.stream('Go'))
    const counts: number[] = []
    for (const place of [1, -1, 0]) {
      if (result.status !== 'interrupted') break
      counts.push(result.interrupts.length)
      const one = result.interrupts[place]
      const run = agent.resume(result.checkpoint, one ? { [one.id]: 'yes' } : {})
      ;({ result } = await played(run))
    }
    expect(counts).toEqual([2, 1, 1])
    expect(result.status).toBe('completed')
  },
)
