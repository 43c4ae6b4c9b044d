import {
  call,
  collect,
  end,
  fail,
  respond,
  type ScriptResponse,
  say,
  scriptedModel,
  wait,
} from '@meanwhile/assemble/testing'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import { afterEvents, early, withdrawing } from '../../test/early-calls.ts'
import { observed } from '../../test/observed.ts'
import { Vandal } from '../../test/vandal.ts'
import {
  type AgentError,
  type AgentOptions,
  type AgentResult,
  type AgentRun,
  type AgentState,
  agentTool,
  type CheckpointStore,
  createAgent,
  type Interrupt,
  interrupt,
  type Message,
  type Middleware,
  type ModelError,
  map,
  memoryStore,
  type Progress,
  type Run,
  runLocal,
  runTool,
  type Tool,
  tool,
  type UserMessage,
} from '../index.ts'

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 })
  return () => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  }
})

/** What a run shows to code that has its view. */
const seenOf = (run: Run | undefined) => ({
  usage: run?.usage,
  setup: run?.setup,
  answers: run?.answers,
  status: run?.toolStatus('c1'),
})

/** A middleware with every hook and wrap, each of which passes what it receives to the vandal. */
function handling(vandal: Vandal): Middleware {
  const notes = runLocal({ key: 'notes', schema: z.object({ seen: z.array(z.string()) }), initial: { seen: [] } })
  const note = (run: Run, what: string) => {
    notes(run).value = vandal.gave({ seen: [...vandal.handed(notes(run).value).seen, what] })
    vandal.handed(seenOf(run))
  }
  return {
    name: 'handling',
    aroundSideCalls: true,
    beforeAgent(setup, run) {
      vandal.handed(setup)
      note(run, 'beforeAgent')
    },
    beforeModel(state, run) {
      vandal.handed(state)
      note(run, 'beforeModel')
    },
    async afterModel(state, run) {
      vandal.handed(state)
      vandal.handed(await run.callModel({ messages: [{ role: 'user', content: 'Psst' }], model: aside() }))
      note(run, 'afterModel')
    },
    beforeFinalAnswer(state, run) {
      vandal.handed(state)
      note(run, 'beforeFinalAnswer')
      run.warn(vandal.gave({ code: 'seen', message: 'an answer' }))
      return vandal.gave(run.step < 4 ? { accept: false, feedback: 'Better.' } : { accept: true })
    },
    async *wrapAgent(setup, next, run) {
      vandal.handed([setup, seenOf(run)])
      return vandal.handed(yield* next(setup))
    },
    async *wrapModel(request, next, run) {
      vandal.handed([request, seenOf(run)])
      return vandal.handed(yield* next(request))
    },
    async *wrapToolCall(call, next, run) {
      vandal.handed([call, seenOf(run)])
      return vandal.handed(yield* next(call))
    },
  }
}

const aside = () => scriptedModel([respond(say('On the side.'))])

interface Log {
  readonly inputs: unknown[]
  readonly undone: unknown[]
}

function toolsOf(vandal: Vandal, { inputs, undone }: Log): readonly Tool[] {
  const look = tool({
    name: 'look',
    description: 'l',
    input: z.object({ at: z.object({ n: z.number() }) }),
    effect: 'read',
    aliases: { input: { at: ['where'] } },
    async *execute(input, context): AsyncGenerator<Progress, object> {
      inputs.push(structuredClone(input))
      const found = { n: input.at.n }
      const progress = { progress: 0.5, metadata: { files: ['a.ts'] } }
      yield progress
      vandal.gave(progress)
      vandal.handed([input, context.answers, seenOf(context.run)])
      const side = { type: 'tool-call', id: `${context.callId}/side`, name: 'side', input: { deep: { n: 1 } } } as const
      const calling = context.run?.callTool(vandal.gave(side))
      vandal.handed(await calling)
      await sleep(10)
      return { found }
    },
  })
  const side = tool({
    name: 'side',
    description: 's',
    input: z.object({ deep: z.object({ n: z.number() }) }),
    effect: 'read',
    execute(input) {
      inputs.push(structuredClone(input))
      const { n } = input.deep
      vandal.handed(input)
      return { n }
    },
  })
  const book = tool({
    name: 'book',
    description: 'b',
    input: z.object({ seats: z.array(z.number()) }),
    effect: 'reversible',
    execute(input, context) {
      inputs.push(structuredClone(input))
      vandal.handed([input, seenOf(context.run)])
      return { booked: true }
    },
    compensate(input, output) {
      undone.push(structuredClone([input, output]))
      vandal.handed([input, output])
    },
  })
  const ask = tool({
    name: 'ask',
    description: 'a',
    input: z.object({ question: z.object({ text: z.string() }) }),
    execute({ question }, { answers }) {
      inputs.push(structuredClone([question, answers]))
      vandal.handed(answers)
      if (answers.length > 0) return { said: answers[0] }
      const payload = vandal.gave({ question: { text: 'Really?' } })
      try {
        return interrupt(payload)
      } catch (asked) {
        vandal.handed((asked as Interrupt).payload)
        throw asked
      }
    },
  })
  const inner = createAgent({
    name: 'inner',
    description: 'i',
    model: scriptedModel([respond(say('Inside.'))]),
    middleware: [{ ...handling(vandal), afterModel: () => undefined, beforeFinalAnswer: () => undefined }],
  })
  return [look, side, book, ask, agentTool(inner)] as readonly Tool[]
}

/** Keeps what it receives, and passes it to the vandal. */
function storeOf(vandal: Vandal): CheckpointStore {
  const store = memoryStore()
  return {
    ...store,
    async save(id, checkpoint, expected) {
      await store.save(id, checkpoint, expected)
      vandal.handed(checkpoint)
    },
  }
}

const used = end({ usage: { inputTokens: 3, outputTokens: 5 } })

const script: readonly ScriptResponse[] = [
  respond(say('Let me see.'), fail({ status: 529 })),
  respond(
    call('look', { where: { n: 1 } }, { id: 'c1' }),
    call('book', { seats: [1, 2] }, { id: 'c2' }),
    call('nothing', { a: { b: 1 } }, { id: 'c3' }),
    call('inner', { request: 'Go' }, { id: 'c4' }),
    used,
  ),
  respond(
    call('ask', { question: { text: 'Why?' } }, { id: 'c5' }),
    call('look', { where: { n: 2 } }, { id: 'c6' }),
    used,
  ),
  respond(call('final_answer', { sum: { n: 1 } }, { id: 'c7' }), used),
  respond(call('final_answer', { sum: { n: 2 } }, { id: 'c8' }), used),
]

const again: Middleware = {
  name: 'again',
  async *wrapModel(request, next) {
    try {
      return yield* next(request)
    } catch {
      return yield* next(request)
    }
  },
}

/**
 * Everything that is left of an interrupted and resumed run, whose reader, tools, hooks, wraps, functions and store passed everything to
 * the vandal.
 */
async function played(vandal: Vandal) {
  let ids = 0
  vi.spyOn(crypto, 'randomUUID').mockImplementation(() => `00000000-0000-0000-0000-00000000000${++ids}`)
  vi.spyOn(crypto, 'getRandomValues').mockImplementation((zeros) => zeros)
  const log: Log = { inputs: [], undone: [] }
  const model = scriptedModel(script)
  const store = storeOf(vandal)
  const agent = createAgent({
    name: 'outer',
    model,
    tools: toolsOf(vandal, log),
    middleware: [handling(vandal), again],
    output: z.object({ sum: z.object({ n: z.number() }) }),
    checkpoints: store,
    settings: { stopSequences: ['!'] },
    prepareInput(input, call) {
      vandal.handed([input, call])
      return vandal.gave(structuredClone(input))
    },
    unknownTool: (call) => `There is none: ${JSON.stringify(vandal.handed(call).input)}`,
  } satisfies AgentOptions)
  const events: object[] = []
  const read = async (run: AgentRun): Promise<AgentResult> => {
    for await (const event of run) {
      events.push(JSON.parse(JSON.stringify(event)))
      vandal.handed(event)
    }
    return vandal.handed(await run.result)
  }
  const input: Message[] = [{ role: 'user', content: [{ type: 'text', text: 'Go' }] }]
  const run = agent.stream(input)
  const said: UserMessage = { role: 'user', content: [{ type: 'text', text: 'Hurry.' }] }
  run.send(vandal.gave(said))
  vandal.handed(input)
  const first = await read(run)
  const answers = Object.fromEntries((first.interrupts ?? []).map(({ id }) => [id, { yes: true }]))
  const resumed = agent.resume(first.checkpoint ?? '', answers)
  vandal.handed(answers)
  const last = await read(resumed)
  vandal.handed(resumed.toolStatus('c6'))
  return JSON.parse(
    JSON.stringify({
      first,
      last,
      status: resumed.toolStatus('c6'),
      stored: await store.load(first.checkpoint?.runId ?? ''),
      requests: model.requests.map(({ model: _, signal: __, takenIds, toolNames = [], ...request }) => [
        request,
        [...takenIds],
        [...toolNames],
      ]),
      events,
      log,
    }),
  )
}

test('writing to anything that a run passes out reaches neither the run, its result, its requests nor its checkpoint (P15)', async () => {
  const playing = async (isVandal: boolean) => {
    vi.useFakeTimers({ now: 1_000_000 })
    const play = played(new Vandal(isVandal))
    play.catch(() => undefined)
    await vi.runAllTimersAsync()
    return await play
  }
  const undisturbed = await playing(false)
  expect(undisturbed.first.status).toBe('interrupted')
  expect(undisturbed.last).toMatchObject({ status: 'completed', output: { sum: { n: 2 } } })
  expect(await playing(true)).toEqual(undisturbed)
})

test('compensate receives the input of the call, whatever its tool has written to that (P15, H23)', async () => {
  const log: Log = { inputs: [], undone: [] }
  const model = scriptedModel([respond(call('book', { seats: [1, 2] }), wait(50)), respond(say('Done.'))])
  const agent = createAgent({
    model,
    tools: toolsOf(new Vandal(true), log),
    middleware: [withdrawing(), early],
  })
  const running = agent.run('Go')
  await vi.runAllTimersAsync()
  await running
  expect(log.undone).toEqual([[{ seats: [1, 2] }, { booked: true }]])
})

test('writing to what is captured for spans has no effect either: a call is undone with its real output (P15, H23)', async () => {
  const log: Log = { inputs: [], undone: [] }
  const vandal = new Vandal(true)
  const attributes: string[] = []
  const { telemetry } = observed()
  const agent = createAgent({
    model: scriptedModel([respond(call('book', { seats: [1, 2] }), wait(50)), respond(say('Done.'))]),
    tools: toolsOf(new Vandal(false), log),
    middleware: [withdrawing(), early],
    telemetry: {
      ...telemetry,
      captureContent(attribute, value) {
        attributes.push(attribute)
        return vandal.handed(value)
      },
    },
  })
  const running = agent.run('Go')
  await vi.runAllTimersAsync()
  await running
  expect(attributes).toContain('gen_ai.tool.call.result')
  expect(log.undone).toEqual([[{ seats: [1, 2] }, { booked: true }]])
})

test('all readers see the same reports of a tool without a run (P15, I11)', async () => {
  const [look] = toolsOf(new Vandal(false), { inputs: [], undone: [] })
  const run = runTool(look as Tool, { at: { n: 1 } })
  const reports: unknown[] = []
  for (const vandal of [new Vandal(true), new Vandal(false)]) {
    for await (const progress of run.progress) {
      reports.push(JSON.parse(JSON.stringify(vandal.handed(progress))))
      break
    }
  }
  vi.runAllTimers()
  expect(reports).toEqual([
    { progress: 0.5, metadata: { files: ['a.ts'] } },
    { progress: 0.5, metadata: { files: ['a.ts'] } },
  ])
  expect(new Vandal(true).handed(run.status())).not.toBe(run.status())
  expect(run.status()).toMatchObject({ progress: 0.5, metadata: { files: ['a.ts'] } })
})

test('writing to the data of a failed run has no effect: its error has its own messages, usage and calls (P15, A24)', async () => {
  const vandal = new Vandal(true)
  const model = scriptedModel([
    respond(call('look', { at: { n: 1 } }, { id: 'c1' }), used),
    respond(fail({ status: 401 })),
  ])
  const agent = createAgent({ model, tools: toolsOf(new Vandal(false), { inputs: [], undone: [] }) })
  const collecting = collect(agent.stream('Go'))
  await vi.runAllTimersAsync()
  const error = (await collecting).error as AgentError
  const { messages, usage, abandoned } = error
  const before = JSON.stringify([messages, usage, abandoned])
  vandal.handed([messages, usage, abandoned])
  expect(JSON.stringify([error.messages, error.usage, error.abandoned])).toBe(before)
})

test('writing to what work in the background passes out has no effect either (P15, I15, I17)', async () => {
  const vandal = new Vandal(true)
  const build = tool({
    name: 'build',
    description: 'b',
    input: z.object({}),
    background: { atEnd: 'detach' },
    execute: () => sleep(50).then(() => ({ built: true })),
  })
  const model = scriptedModel([respond(call('build', {}, { id: 'c1' })), respond(say('Soon.'))])
  const { afterModel: _, beforeFinalAnswer: __, ...middleware } = handling(vandal)
  const run = createAgent({ model, tools: [build as Tool], middleware: [middleware] }).stream('Go')
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(10)
  const { background, messages } = vandal.handed(await run.result)
  vandal.handed((await reading).events)
  expect(messages[2]).toMatchObject({ output: { callId: 'c1', state: 'running' } })
  expect(background).toMatchObject([{ callId: 'c1', name: 'build' }])
  await vi.runAllTimersAsync()
  expect(vandal.handed(await background?.[0]?.result)).toMatchObject({ output: { built: true } })
  expect(await background?.[0]?.result).toMatchObject({ output: { built: true } })
})

test('writing to the partial response of a failed attempt has no effect (P15, A19)', async () => {
  const seen: unknown[] = []
  const looks: Middleware = {
    name: 'looks',
    async *wrapModel(request, next) {
      try {
        return yield* next(request)
      } catch (error) {
        const { partial } = error as ModelError
        new Vandal(true).handed(partial)
        seen.push(structuredClone(partial?.content))
        throw error
      }
    },
  }
  const model = scriptedModel([respond(say('So far.'), fail())])
  await createAgent({ model, middleware: [looks, { ...looks, name: 'looks too' }] })
    .run('Go')
    .catch(() => undefined)
  const partial = [{ type: 'text', text: 'So far.' }]
  expect(seen).toEqual([partial, partial])
})

test('a reader cannot write to the members with which a call may start (P15, H31)', async () => {
  const inputs: unknown[] = []
  const plan = tool({
    name: 'plan',
    description: 'p',
    input: z.object({ to: z.object({ city: z.string() }), notes: z.string() }),
    needs: ['to'],
    effect: 'read',
    // The response ends after 45 ms.
    execute: (input) => void inputs.push([Date.now() - 1_000_000, structuredClone(input)]),
  })
  const starts = afterEvents(async (event, run) => {
    if (event.type !== 'tool-input-ready') return
    await sleep(1)
    const { id, name, input } = event
    run.callTool({ type: 'tool-call', id, name, input }, { rest: new Promise(() => undefined) }).catch(() => undefined)
  })
  const model = scriptedModel(
    [respond(call('plan', { to: { city: 'Bonn' }, notes: 'none' }, { deltas: 8 })), respond(say('Done.'))],
    { pace: { firstToken: 5, betweenTokens: 5 } },
  )
  const vandal = new Vandal(true)
  const run = createAgent({ model, tools: [plan as Tool], middleware: [starts] }).stream('Go')
  const reading = (async () => {
    for await (const event of run) vandal.handed(event)
  })()
  await vi.runAllTimersAsync()
  await reading
  expect(inputs).toEqual([[31, { to: { city: 'Bonn' } }]])
})

test('the state that a hook receives, the messages of an event and what an inner wrapAgent returns are frozen (P15)', async () => {
  const threw: string[] = []
  const tries = (what: string, write: () => void) => {
    try {
      write()
      threw.push(`${what} took it`)
    } catch (error) {
      threw.push(`${what} ${error instanceof TypeError ? 'threw' : 'failed'}`)
    }
  }
  const writes = (name: string) => (state: AgentState) => tries(name, () => Object.assign(state, { messages: [] }))
  const outside: Middleware = {
    name: 'outside',
    beforeModel: writes('beforeModel'),
    afterModel: writes('afterModel'),
    beforeFinalAnswer: writes('beforeFinalAnswer'),
    async *wrapAgent(setup, next) {
      const flow = map(next(setup), (event) => {
        if (event.type === 'step-end') tries('step-end', () => Object.assign(event.messages, [1]))
        return event
      })
      const result = yield* flow
      tries('result', () => Object.assign(result, { text: 'hacked' }))
      return result
    },
  }
  const inside: Middleware = {
    name: 'inside',
    async *wrapAgent(setup, next) {
      return { ...(yield* next(setup)) }
    },
  }
  const model = scriptedModel([respond(say('Hi.'))])
  const { text, messages } = await createAgent({ model, middleware: [outside, inside] }).run('Go')
  expect(threw).toEqual(
    ['beforeModel', 'afterModel', 'beforeFinalAnswer', 'step-end', 'result'].map((what) => `${what} threw`),
  )
  expect([text, messages.length]).toEqual(['Hi.', 2])
})
