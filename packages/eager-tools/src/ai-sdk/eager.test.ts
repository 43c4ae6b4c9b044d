import type { ConfigError } from '@meanwhile/core'
import { keptOf } from '@meanwhile/tests/garbage'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { sized } from '@meanwhile/tests/size'
import { isStepCount, type LanguageModelMiddleware, ToolLoopAgent, type ToolSet, tool, wrapLanguageModel } from 'ai'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import {
  answer,
  bench,
  breaks,
  call,
  finish,
  type Given,
  generated,
  model,
  type Part,
  plainAndEager,
  play,
  streamed,
  wait,
  whole,
} from '../../test/sdk.ts'
import type { StepSavings } from '../savings.ts'
import { type EagerSettings, eager } from './index.ts'

unhandledRejections()
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }))
afterEach(() => {
  vi.useRealTimers()
  globalThis.AI_SDK_DEFAULT_PROVIDER = undefined
})

const once: Part[][] = [[...whole('1'), wait(50), call('1'), finish()], answer]
const a = '{"q":"a","n":1}'

test('an undeclared tool stays the same object, and without declared tools so do the options (R1)', () => {
  const { tools } = bench()
  const options = { model: model(once), tools, prompt: 'go' }
  const made = eager(options, { look: 'read' })
  expect([made.tools.send === tools.send, made.tools.look === tools.look]).toEqual([true, false])
  expect(Object.keys(made.tools)).toEqual(['look', 'send'])
  expect(eager(options, {})).toBe(options)
  expect(eager(options, { look: 'external' })).toBe(options)
  const bare: { readonly tools?: ToolSet } = {}
  expect(eager(bare, {})).toBe(bare)
})

const refused: readonly (readonly [option: string, options: unknown, effects: unknown, settings?: unknown])[] = [
  ['options', undefined, {}],
  ['effects', { tools: {} }, undefined],
  ['effects.lok', { tools: { look: {} } }, { lok: 'read' }],
  ['effects.look', { tools: { look: {} } }, { look: 'reversible' }],
  ['effects.look', {}, { look: 'read' }],
  ['independent', { tools: { look: {} } }, { look: 'read' }, { independent: 'look' }],
  ['independent', { tools: { look: {} } }, { look: 'read' }, { independent: ['lok'] }],
  ['approval', { tools: { look: {} } }, { look: 'read' }, { approval: ['lok'] }],
  ['schemas', { tools: { look: {} } }, { look: 'read' }, { schemas: { lok: 'fixed' } }],
  ['schemas.look', { tools: { look: {} } }, { look: 'read' }, { schemas: { look: 'free' } }],
  ['options', new ToolLoopAgent({ model: model(once), tools: {} }), {}, {}],
  ['tools', { tools: [{ name: 'look' }] }, { look: 'read' }, {}],
  ['alwaysStream', { tools: { look: {} } }, { look: 'read' }, { alwaysStream: 'never' }],
  ['alwaysstream', { tools: { look: {} } }, { look: 'read' }, { alwaysstream: true }],
]

test.for(refused)(
  'an invalid %s is refused with a ConfigError that names it (R11, A2)',
  ([option, options, effects, settings]) => {
    const make = () => eager(options as { tools: ToolSet }, effects as object, settings as EagerSettings)
    expect(make).toThrow(expect.objectContaining({ name: 'ConfigError', option } satisfies Partial<ConfigError>))
  },
)

test('tools that are class instances, and members that a copy would lose, are kept (R2)', async () => {
  class Look {
    readonly inputSchema = z.object({ q: z.string() })
    readonly #word = 'found'
    execute(input: { readonly q: string }) {
      return `${this.#word} ${input.q}`
    }
    toModelOutput({ output }: { readonly output: unknown }) {
      return { type: 'text', value: `${this.#word}: ${String(output)}` }
    }
  }
  const made = bench()
  const look = Object.defineProperty(new Look(), 'hidden', { value: 7, enumerable: false })
  const tools: ToolSet = { ...made.tools, look: look as never }
  const given: Given & { tools: ToolSet } = { model: model(once), tools, stopWhen: isStepCount(2), prompt: 'go' }
  const options = eager(given, { look: 'read' })
  expect(Reflect.get(options.tools.look ?? {}, 'hidden')).toBe(7)
  const going = streamed(options)
  await vi.runAllTimersAsync()
  expect(await going).toMatchObject({ told: expect.arrayContaining([['result', '1', 'found a', false]]), text: 'done' })
})

test('all callbacks of the user are called with the same arguments as before (R12)', async () => {
  const heard: Record<string, string[]> = { plain: [], eager: [] }
  for (const way of ['plain', 'eager']) {
    const note = (name: string) => (event: object) => {
      heard[way]?.push(`${name} ${'stepNumber' in event ? String(event.stepNumber) : ''}`)
    }
    const callbacks = {
      onStepStart: note('onStepStart'),
      onLanguageModelCallStart: note('onLanguageModelCallStart'),
      onStepFinish: note('onStepFinish'),
      onFinish: note('onFinish'),
      onToolExecutionStart: note('onToolExecutionStart'),
      onToolExecutionEnd: note('onToolExecutionEnd'),
      prepareStep: ({ model, stepNumber }: { readonly model: object; readonly stepNumber: number }) =>
        void heard[way]?.push(`prepareStep ${stepNumber} ${model === given}`),
    }
    let given: object | undefined
    await play(
      {
        responses: once,
        options: () => callbacks,
        go: (options) => {
          given ??= way === 'plain' ? Object(options.model) : given
          return streamed(options)
        },
      },
      way === 'eager',
    )
  }
  expect(heard.plain).toHaveLength(11)
  expect(heard.eager?.map((line) => line.replace('false', 'true'))).toEqual(heard.plain)
})

test('prepareStep receives the model of the options, and may return another one, whose calls start early, too (R2)', async () => {
  const seen: unknown[] = []
  const { eager: came } = await plainAndEager({
    responses: once,
    options: () => {
      const [first, second] = [model([[breaks()]]), model(once)]
      return {
        model: first,
        prepareStep: (step: { readonly model: object }) => {
          seen.push(step.model === first)
          return { model: second }
        },
      }
    },
  })
  expect(seen).toEqual([true, true, true, true])
  expect(came.log).toEqual([`0 1 ${a}`])
})

test('a model given by name is resolved when its step begins (R2)', async () => {
  const { eager: came, plain } = await plainAndEager({
    responses: once,
    options: () => ({ model: 'some/model' }),
    go: (options) => {
      const made = model(once)
      Object.assign(globalThis, { AI_SDK_DEFAULT_PROVIDER: { languageModel: () => made, specificationVersion: 'v4' } })
      return streamed(options)
    },
  })
  expect(came.result).toEqual(plain.result)
  expect([plain.log, came.log]).toEqual([[`50 1 ${a}`], [`0 1 ${a}`]])
})

test('a wrapped model is observed from outside of its middleware (R2)', async () => {
  const { eager: came } = await plainAndEager({
    responses: once,
    options: () => ({ model: wrapLanguageModel({ model: model(once), middleware: { specificationVersion: 'v4' } }) }),
  })
  expect(came.log).toEqual([`0 1 ${a}`])
})

test('a guardrail that has only wrapGenerate runs in generateText: nothing starts early, and one warning says how that changes (W48)', async () => {
  const guarded: string[] = []
  const messages: string[] = []
  const middleware = (name: string): LanguageModelMiddleware => ({
    specificationVersion: 'v4',
    wrapGenerate: ({ doGenerate }) => {
      guarded.push(`${name} generate`)
      return doGenerate()
    },
  })
  const { plain, eager: came } = await plainAndEager({
    responses: once,
    settings: { alwaysStream: true, onWarning: ({ code, message }) => void messages.push(`${code}: ${message}`) },
    options: () => ({
      model: wrapLanguageModel({ model: model(once), middleware: [middleware('outer'), middleware('inner')] }),
    }),
    go: generated,
  })
  expect([came.result, came.log]).toEqual([plain.result, plain.log])
  expect(guarded).toEqual(Array(4).fill(['outer generate', 'inner generate']).flat())
  expect(messages).toEqual([
    "model-wrapped: no tool starts early in generateText: the model m may have middleware with a wrapGenerate, which would not run if the response were streamed. If each middleware with a wrapGenerate has an equal wrapStream, set alwaysStream: 'wrapped'",
  ])
})

test("with alwaysStream: 'wrapped' a model with middleware is streamed from, and its wrapStream runs (R2)", async () => {
  const guarded: string[] = []
  const wrapStream: LanguageModelMiddleware['wrapStream'] = ({ doStream }) => {
    guarded.push('stream')
    return doStream()
  }
  const { plain, eager: came } = await plainAndEager({
    responses: once,
    settings: { alwaysStream: 'wrapped' },
    options: () => ({
      model: wrapLanguageModel({ model: model(once), middleware: { specificationVersion: 'v4', wrapStream } }),
    }),
    go: generated,
  })
  expect(came).toEqual({ result: plain.result, log: [`0 1 ${a}`], warnings: [] })
  expect(guarded).toEqual(['stream', 'stream'])
})

test('an agent call that is prepared with other tools gets those (R3)', async () => {
  const other: string[] = []
  const look = tool({ inputSchema: z.object({ q: z.string() }), execute: ({ q }) => void other.push(q) })
  const { eager: came, plain } = await plainAndEager({
    responses: once,
    options: () => ({
      prepareCall: (given: { readonly tools: ToolSet }) => ({ ...given, tools: { ...given.tools, look } }),
    }),
    go: agentText,
  })
  expect([came.result, came.log]).toEqual([plain.result, []])
  expect(other).toEqual(['a', 'a'])
})

test('an agent call that is prepared with an approval keeps its tools from starting early (R6)', async () => {
  const { eager: came, plain } = await plainAndEager({
    responses: once,
    options: () => ({ prepareCall: (given: object) => ({ ...given, toolApproval: { look: 'approved' } }) }),
    go: agentText,
  })
  expect([came.result, came.log]).toEqual([plain.result, plain.log])
})

test('the sandbox of one agent call is passed to a tool that starts early (R2)', async () => {
  const sandbox = { id: 'own' }
  const { eager: came, plain } = await plainAndEager({
    responses: once,
    look: ({ log, now }) =>
      tool({
        inputSchema: z.object({ q: z.string() }),
        execute: (_, { experimental_sandbox }) => void log.push(`${now()} ${experimental_sandbox === Object(sandbox)}`),
      }),
    go: (options) => agentText(options, { experimental_sandbox: sandbox }),
  })
  expect([plain.log, came.log]).toEqual([['50 true'], ['0 true']])
})

async function agentText(options: Given, call: object = {}): Promise<unknown> {
  const agent = new ToolLoopAgent(options as ConstructorParameters<typeof ToolLoopAgent>[0])
  const { text } = await agent.stream({ prompt: 'go', options: undefined, ...call })
  return text
}

test("a tool's timeout counts from its early start, and the loop gets the same error (R12)", async () => {
  vi.useRealTimers()
  const outcomes: unknown[] = []
  for (const isEager of [false, true]) {
    const made = bench(500)
    const given = {
      model: model(once),
      tools: made.tools,
      timeout: { toolMs: 60 },
      stopWhen: isStepCount(2),
      prompt: 'go',
    }
    outcomes.push(await streamed((isEager ? eager(given, { look: 'read' }) : given) as Given))
    expect(made.log).toHaveLength(2)
  }
  expect(outcomes[1]).toEqual(outcomes[0])
  expect(JSON.stringify(outcomes[0])).toContain('timeout')
})

// Requests and executions are linked to steps by object identities, which are not documented.

const steps: Part[][] = Array.from({ length: 6 }, (_, n) => [...whole(`${n}`), wait(50), call(`${n}`), finish()])

test('if requests do not reach the model of their step, nothing starts early, and one warning names the library and its version (R10)', async () => {
  const messages: string[] = []
  const { eager: came, plain } = await plainAndEager({
    responses: steps,
    settings: { onWarning: ({ message }) => void messages.push(message) },
    go: (options) => {
      const { prepareStep } = Object(options)
      if (!prepareStep) return streamed(options)
      const cut = async (step: object) => ({ ...(await prepareStep(step)), model: undefined })
      return streamed({ ...options, prepareStep: cut } as Given)
    },
  })
  expect([came.result, came.log]).toEqual([plain.result, plain.log])
  expect(messages).toEqual([expect.stringContaining('eager() needs ai 7; is another version installed?')])
})

test('if no execution can be linked to its step, reads are made twice in three steps, then no more (R10)', async () => {
  /** The same tools, executed with a copy of the messages of their step. */
  const cut = (options: Given): Given => {
    const look = new Proxy(Object(options.tools?.look), {
      get: (target, key) =>
        key !== 'execute'
          ? Reflect.get(target, key)
          : (input: unknown, asked: { readonly messages: readonly object[] }) =>
              target.execute(input, { ...asked, messages: [...asked.messages] }),
    })
    const began = Object(options).experimental_onStepStart
    const experimental_onStepStart = (event: object) => began({ ...event, tools: options.tools })
    return { ...options, tools: { ...options.tools, look }, experimental_onStepStart } as Given
  }
  const { eager: came, plain } = await plainAndEager({
    responses: [...steps, answer],
    settings: { alwaysStream: true },
    options: () => ({ stopWhen: isStepCount(6) }),
    go: (options) => generated(Object(options).experimental_onStepStart ? cut(options) : options),
  })
  expect(came.result).toEqual(plain.result)
  const twice = [0, 1, 2].flatMap((n) => [`${n * 70} ${n} ${a}`, `${n * 70 + 50} ${n} ${a}`])
  expect(came.log).toEqual([...twice, ...[3, 4, 5].map((n) => `${n * 70 + 50} ${n} ${a}`)])
  expect(came.warnings).toEqual(['switched-off'])
})

test('steps in which the user denies calls that had started do not count, because a denial cannot be known early (R6, R10)', async () => {
  const { eager: came, plain } = await plainAndEager({
    responses: [...steps, answer],
    options: () => ({ stopWhen: isStepCount(6), toolApproval: { look: () => ({ type: 'denied' }) } }),
  })
  expect([came.result, came.log, came.warnings]).toEqual([plain.result, plain.log, []])
})

test('onStep receives the savings of a step (R13, H34)', async () => {
  const told: StepSavings[] = []
  await play({ responses: once, ms: 30, settings: { onStep: (savings) => void told.push(savings) } }, true)
  expect(told).toMatchObject([
    {
      step: 1,
      streamMs: 50,
      savedMs: 30,
      wastedMs: 0,
      calls: [{ callId: '1', tool: 'look', outcome: 'committed', durationMs: 30 }],
    },
  ])
})

test('a limit of early calls does not count as one of the library: savings are not overstated (R13)', async () => {
  const two: Part[] = [...whole('1'), call('1'), ...whole('2'), call('2'), wait(100), finish()]
  const played = { responses: [two, answer], provider: 'openai.responses', ms: 80 }
  for (const [isAdded, toolConcurrency] of [
    [true, undefined],
    [false, 1],
  ] as const) {
    const told: StepSavings[] = []
    const limit = toolConcurrency === undefined ? {} : { toolConcurrency }
    const settings = { ...limit, onStep: (savings: StepSavings) => void told.push(savings) }
    const go = (options: Given) => streamed(isAdded ? { ...options } : options)
    const { log } = await play({ ...played, settings, go }, true)
    expect(log).toEqual([`0 1 ${a}`, `80 2 ${a}`])
    expect(told).toMatchObject([{ stoodMs: 100, actualMs: 160, parallelMs: 180, savedMs: 20 }])
    expect(told[0]?.slots).toBeUndefined()
  }
})

test('onStep receives why a call was discarded, and such discards switch nothing off (R10, R13)', async () => {
  const causes: unknown[] = []
  const onStep = ({ calls }: StepSavings) => void causes.push(...calls.map(({ cause }) => cause))
  const aborting = () => {
    const controller = new AbortController()
    setTimeout(() => controller.abort(new Error('stop')), 20)
    return { abortSignal: controller.signal }
  }
  const begun = [...whole('1'), wait(50)]
  const warnings: string[] = []
  for (const [parts, options] of [
    [[...begun, call('1'), finish('length')], () => ({})],
    [[...begun, breaks()], () => ({})],
    [[...begun, call('1', '{"q":"b"}'), finish()], () => ({})],
    [[...begun, call('1'), finish()], aborting],
  ] as const) {
    const came = await play({ responses: [parts, answer], ms: 200, options, settings: { onStep } }, true)
    warnings.push(...came.warnings)
  }
  expect(causes).toEqual(['stream_truncated', 'stream_error', 'arguments_changed', 'run_aborted'])
  expect(warnings).toEqual(['breaker'])
})

test('an agent keeps nothing of finished runs, complete or aborted (R7)', async () => {
  vi.useRealTimers()
  const look = tool({ inputSchema: z.object({ q: z.string() }), execute: () => 'ok' })
  const histories: WeakRef<object>[] = []
  const runs = sized({ small: 30, middle: 45, whole: 100 })
  const prepareStep = ({ messages }: { readonly messages: object }) => void histories.push(new WeakRef(messages))
  const asking = model([[...whole('1'), wait(1), call('1'), finish()]])
  const options = { model: asking, tools: { look }, prepareStep, stopWhen: isStepCount(2) }
  const agent = new ToolLoopAgent(eager(options, { look: 'read' }))
  for (let n = 0; n < runs; n++) {
    const controller = new AbortController()
    const { fullStream } = await agent.stream({ prompt: `go ${n}`, abortSignal: controller.signal })
    for await (const part of fullStream) if (part.type === 'start-step' && n % 2 === 0) controller.abort()
  }
  // The mock keeps all requests.
  asking.doStreamCalls.length = 0
  expect(histories.length).toBeGreaterThan(runs)
  expect(await keptOf(() => histories, 4)).toBeLessThan(5)
})
