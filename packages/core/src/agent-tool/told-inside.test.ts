import { call, respond, type ScriptResponse, type ScriptStep, say, scriptedModel } from '@meanwhile/assemble/testing'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import { settled } from '../../test/played-runs.ts'
import {
  type Agent,
  type AgentError,
  type AgentResult,
  agentTool,
  type Checkpoint,
  createAgent,
  interrupt,
  type Message,
  type Middleware,
  type Model,
  type Tool,
  textOf,
  tool,
} from '../index.ts'

// What the model of the next run reads of calls inside calls whose run was closed, cancelled or aborted.

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

/** What one call does. `pays asking`: the tool asks first. `pays, then asks`: a wrap asks afterwards. `relays`: in an inner call. */
type Work = PayWork | AgentWork

interface PayWork {
  readonly is: 'pays' | 'pays asking' | 'pays, then asks' | 'relays' | 'relays, then asks'
  readonly ms: number
}

interface AgentWork {
  readonly is: 'agent' | 'background agent'
  readonly works: readonly Work[]
  /** Whether each call has its own step. */
  readonly inSteps: boolean
  /** Whether the agent reads the history of the calling run. */
  readonly history: boolean
}

const delay = fc.integer({ min: 1, max: 30 })
const pays = fc.constantFrom('pays', 'pays asking', 'pays, then asks', 'relays', 'relays, then asks')
const { works } = fc.letrec<{ works: Work[]; work: Work }>((tie) => ({
  work: fc.oneof(
    { depthSize: 'small', maxDepth: 2 },
    fc.record({ is: pays, ms: delay }),
    fc.record({
      is: fc.constantFrom('agent', 'background agent'),
      works: tie('works'),
      inSteps: fc.boolean(),
      history: fc.boolean(),
    }),
  ) as fc.Arbitrary<Work>,
  works: fc.array(tie('work'), { minLength: 1, maxLength: 3 }),
}))

/** How the run ends: after some answers, at a question or after some milliseconds. */
interface Ending {
  readonly answers: readonly number[]
  readonly is: 'close' | 'cancel' | 'cancel, then close' | 'abort'
  readonly ms: number
}

const endings: fc.Arbitrary<Ending> = fc.record({
  answers: fc.array(fc.nat(5), { maxLength: 4 }),
  is: fc.constantFrom('close', 'cancel', 'cancel, then close', 'abort'),
  ms: fc.integer({ min: 0, max: 60 }),
})

/** A model whose answer depends only on the history, so that a repeated request gets the same answer. */
function modelOf(answer: (messages: readonly Message[]) => ScriptResponse): Model {
  return {
    provider: 'scripted',
    id: 'scripted-1',
    stream: (request) => scriptedModel([answer(request.messages)]).stream(request),
  }
}

const input = z.object({ what: z.string(), ms: z.number() })
const asksAfterwards: Middleware = {
  name: 'afterwards',
  async *wrapToolCall(call, next, { answers: [answer] }) {
    const message = yield* next(call)
    if (call.name === 'pay_then_ask' && answer === undefined) interrupt('Keep it?')
    return message
  },
}

function toolsOf(journal: string[]): readonly Tool[] {
  async function pay(what: string, ms: number) {
    journal.push(what)
    await sleep(ms)
    return 'paid'
  }
  const made = (name: string, execute: NonNullable<Tool<z.infer<typeof input>>['execute']>) =>
    tool({ name, description: name, input, execute }) as Tool
  const relays = (name: string, asks: boolean) =>
    made(name, async ({ what, ms }, { run, answers: [answer] }) => {
      const message = await run?.callTool({
        type: 'tool-call',
        id: `in ${what}`,
        name: 'pay',
        input: { what: `#${what}#`, ms },
      })
      if (asks && answer === undefined) interrupt('Go on?')
      return message?.isError ? 'failed' : `relayed #${what}#`
    })
  return [
    made('pay', ({ what, ms }) => pay(what, ms)),
    made('ask_then_pay', ({ what, ms }, { answers: [answer] }) =>
      answer === undefined ? interrupt('Pay?') : pay(what, ms),
    ),
    made('pay_then_ask', ({ what, ms }) => pay(what, ms)),
    relays('relay', false),
    relays('relay_then_ask', true),
  ]
}

const NAMES = {
  pays: 'pay',
  'pays asking': 'ask_then_pay',
  'pays, then asks': 'pay_then_ask',
  relays: 'relay',
  'relays, then asks': 'relay_then_ask',
} as const

/** What an agent has read of payments: they are named in calls that have paid, and in other results. */
function readBy(messages: readonly Message[]): string {
  const calls = new Map<string, string>()
  for (const { role, content } of messages)
    if (role === 'assistant')
      for (const part of content) if (part.type === 'tool-call') calls.set(part.id, JSON.stringify(part.input))
  return messages
    .map((message) => {
      if (message.role === 'user') return message.origin === 'background' ? textOf(message) : ''
      if (message.role === 'assistant') return ''
      const paid = /^(pay|ask_then_pay|pay_then_ask)$/.test(message.name) && !textOf(message).startsWith('Not run')
      const own = paid ? calls.get(message.callId) : ''
      return `${own} ${textOf(message)}`
    })
    .join(' ')
}

function agentOf(name: string, works: readonly Work[], inSteps: boolean, journal: string[]): Agent {
  const tools = [...toolsOf(journal)]
  const calls = works.map((work, index): ScriptStep => {
    const id = `${name}_${index}`
    if ('ms' in work) {
      const what = work.is.startsWith('relays') ? id : `#${id}#`
      return call(NAMES[work.is], { what, ms: work.ms }, { id })
    }
    const inner = agentOf(id, work.works, work.inSteps, journal)
    const made = agentTool(inner, { history: work.history, maxDepth: 9 })
    tools.push((work.is === 'agent' ? made : { ...made, background: true }) as Tool)
    return call(id, { request: `Go ${id}` }, { id })
  })
  const steps = inSteps ? calls.map((one) => respond(one)) : [respond(...calls)]
  const model = modelOf((messages) => {
    const begin = messages.findLastIndex(({ role, content }) => role === 'user' && content === `Go ${name}`)
    const own = messages.slice(begin)
    const turn = own.filter(({ role }) => role === 'assistant').length
    return steps[turn] ?? respond(say(`I read: ${readBy(own)}`))
  })
  return createAgent({ name, description: name, model, tools, middleware: [asksAfterwards], grace: 5 })
}

/** The history that the next run begins with; `undefined` if the run has completed before. */
async function historyAfter(agent: Agent, { answers, is, ms }: Ending): Promise<readonly Message[] | undefined> {
  let result: AgentResult | undefined
  const stop = new AbortController()
  for (const [index, place] of [...answers, 0].entries()) {
    const isLast = index === answers.length
    if (isLast && is === 'close' && result) break
    const { signal } = stop
    const [asked] = result?.interrupts ? [result.interrupts[place % result.interrupts.length]] : []
    const run = result
      ? agent.resume(result.checkpoint ?? '', asked ? { [asked.id]: 'yes' } : {}, { signal })
      : agent.stream('Go top', { signal })
    if (isLast && is !== 'close') setTimeout(() => (is === 'abort' ? stop.abort() : void run.cancel()), ms)
    const ended = await settled(run)
    if (ended.error) return (ended.error as AgentError).messages
    result = ended.result
    if (result?.status !== 'interrupted') break
  }
  if (!result || result.status === 'completed') return undefined
  if (result.status === 'cancelled' && is === 'cancel') return result.messages
  return (await agent.close(result.checkpoint, { reason: 'Closed.' })).messages
}

test('whenever a run is closed, cancelled or aborted, what the model reads next names each payment that has begun inside its calls once (L9, L21)', async () => {
  await fc.assert(
    fc.asyncProperty(works, fc.boolean(), endings, async (works, inSteps, ending) => {
      const journal: string[] = []
      const messages = await historyAfter(agentOf('top', works, inSteps, journal), ending)
      if (!messages) return
      const read = readBy(messages)
      for (const what of new Set(journal)) expect([what, read.split(what).length - 1, read]).toEqual([what, 1, read])
    }),
    propertyRuns({ small: 6, middle: 9, whole: 20_000 }),
  )
})

const done = tool({
  name: 'done',
  description: 'd',
  input: z.object({ of: z.string() }),
  execute: ({ of }) => `did ${of}`,
}) as Tool
const asks = tool({ name: 'asks', description: 'a', input: z.object({}), execute: () => interrupt('Well?') }) as Tool

/** The messages after a run whose agent inside makes these calls and asks was closed. */
async function closedWith(calls: readonly ScriptStep[], background = false) {
  const model = modelOf(() => respond(...calls, call('asks', {}, { id: 'asks' })))
  const inner = createAgent({ name: 'inner', description: 'i', model, tools: [done, asks] })
  const outer = createAgent({
    model: modelOf(({ length }) =>
      length > 1 ? respond(say('Well.')) : respond(call('inner', { request: 'Go' }, { id: 'c' })),
    ),
    tools: [{ ...agentTool(inner), background } as Tool],
  })
  const { result } = await settled(outer.stream('Go'))
  const closed = await outer.close(result?.checkpoint ?? '', { reason: 'The user left.' })
  return { outer, closed }
}

test('the result of a closed call names the calls inside it in call order, and is bounded (L9, M4)', async () => {
  const { closed } = await closedWith([call('done', { of: 'a' }, { id: 'a' }), call('nothing', {}, { id: 'n' })])
  expect(closed.messages.slice(2).map(textOf)).toEqual([
    [
      'The user left.',
      'Inside this call:',
      '- done {"of":"a"} returned: did a',
      '- nothing {} failed: There is no tool named "nothing". Available tools: done, asks.',
      '- asks {} has no result.',
    ].join('\n'),
  ])
  const long = await closedWith([call('done', { of: 'x'.repeat(5_000) }, { id: 'a' })])
  const [text = ''] = long.closed.messages.slice(2).map(textOf)
  expect(text.length).toBeLessThan(4_500)
  expect(text).toContain('xxx… (5009 characters) returned: did xxx')
  const many = await closedWith(Array.from({ length: 150 }, (_, n) => call('done', { of: `${n}` }, { id: `${n}` })))
  const lines = many.closed.messages.slice(2).map(textOf).join('\n').split('\n')
  expect([lines.length, lines.at(-2), lines.at(-1)]).toEqual([
    103,
    '- done {"of":"99"} returned: did 99',
    '- and 51 more calls',
  ])
})

test('the result of a closed call names the files in the results of calls inside it (L9)', async () => {
  const shot = tool({
    name: 'shot',
    description: 's',
    input: z.object({}),
    execute: () => 'aGk=',
    toContent: (data) => [
      { type: 'text', text: 'The page: ' },
      { type: 'file', mediaType: 'image/png', data },
    ],
  })
  const model = scriptedModel([respond(call('shot', {}, { id: 's' })), respond(call('asks', {}, { id: 'q' }))])
  const inner = createAgent({ name: 'inner', description: 'i', model, tools: [shot as Tool, asks] })
  const outer = createAgent({
    model: scriptedModel([respond(call('inner', { request: 'Go' }, { id: 'c' }))]),
    tools: [agentTool(inner) as Tool],
  })
  const { result } = await settled(outer.stream('Go'))
  const { messages } = await outer.close(result?.checkpoint ?? '', { reason: 'Closed.' })
  expect(messages.slice(-1).map(textOf)).toEqual([
    'Closed.\nInside this call:\n- shot {} returned: The page: (a file of type image/png)\n- asks {} has no result.',
  ])
})

test('a call inside which nothing has run gets only the reason (L9)', async () => {
  const { closed } = await closedWith([])
  expect(closed.messages.slice(2).map(textOf)).toEqual(['The user left.'])
})

test('an agent in the background whose run is closed gets a result, and `tool_status` of a resume has it (L9, P19)', async () => {
  const { outer, closed } = await closedWith([call('done', { of: 'a' }, { id: 'a' })], true)
  const told = closed.messages.filter(({ role }) => role === 'user').map(textOf)
  expect(told.slice(1)).toEqual([
    'The background call c of inner has failed:The user left.\nInside this call:\n- done {"of":"a"} returned: did a\n- asks {} has no result.',
  ])
  expect(closed.checkpoint.calls).toMatchObject([{ id: 'c', isWork: true, isRead: true, message: { isError: true } }])
  const { result } = await settled(outer.resume(closed.checkpoint))
  expect(result?.messages.filter(({ role }) => role === 'user')).toHaveLength(2)
  expect(result?.status).toBe('completed')
})

test('the error of an agent that fails names what it has done (M3)', async () => {
  const inner = createAgent({
    name: 'inner',
    description: 'i',
    model: scriptedModel([respond(call('done', { of: 'a' }))]),
    tools: [done],
    maxSteps: 2,
  })
  const model = scriptedModel([respond(call('inner', { request: 'Go' })), respond(say('Well.'))])
  const { result } = await settled(createAgent({ model, tools: [agentTool(inner) as Tool] }).stream('Go'))
  const [message] = result?.messages.filter(({ role }) => role === 'tool') ?? []
  expect(message && textOf(message)).toMatch(
    /^inner failed: .*\nInside this call:\n- done \{"of":"a"\} returned: did a$/s,
  )
})

test('a result lists calls inside even if they equal earlier calls of the outer run, but no calls of shared messages (L9)', async () => {
  const same = respond(call('done', { of: 'a' }, { id: 'call_1' }))
  for (const history of [false, true]) {
    const asking = respond(call('asks', {}, { id: 'call_2' }))
    const inner = createAgent({
      name: 'inner',
      description: 'i',
      model: scriptedModel([same, asking]),
      tools: [done, asks],
    })
    const outer = createAgent({
      model: scriptedModel([same, respond(call('inner', { request: 'Go' }, { id: 'call_2' }))]),
      tools: [done, agentTool(inner, { history }) as Tool],
    })
    const { result } = await settled(outer.stream('Go'))
    for (const checkpoint of [result?.checkpoint ?? '', JSON.parse(JSON.stringify(result?.checkpoint)) as Checkpoint]) {
      const { messages } = await outer.close(checkpoint, { reason: 'Closed.' })
      expect(messages.slice(-1).map(textOf)).toEqual([
        'Closed.\nInside this call:\n- done {"of":"a"} returned: did a\n- asks {} has no result.',
      ])
    }
  }
})

test('what an agent inside shares with the outer history is recognized without writing it as JSON (L9)', async () => {
  const inner = createAgent({
    name: 'inner',
    description: 'i',
    model: modelOf(() => respond(call('done', { of: 'a' }))),
    tools: [done],
    maxSteps: 2,
  })
  const model = scriptedModel([respond(call('inner', { request: 'Go' })), respond(say('Well.'))])
  const agent = createAgent({ model, tools: [agentTool(inner, { history: true }) as Tool] })
  const history: Message[] = Array.from({ length: 9 }, () => ({ role: 'user', content: 'An image.' }))
  const run = agent.stream(history)
  const written = vi.spyOn(JSON, 'stringify')
  try {
    const { result } = await settled(run)
    expect(result?.messages.map(textOf).join('\n')).toContain('Inside this call:\n- done {"of":"a"} returned: did a')
    const images = written.mock.calls.filter(([value]) => (value as Message | undefined)?.content === 'An image.')
    expect(images).toEqual([])
  } finally {
    written.mockRestore()
  }
})
