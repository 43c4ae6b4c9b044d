import { sleep } from '@meanwhile/tests/clock'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import {
  experimental_toolCaller,
  generateText,
  type ModelMessage,
  ToolLoopAgent,
  type ToolSet,
  tool,
  toolSearch,
} from 'ai'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import {
  answer,
  type Bench,
  call,
  finish,
  type Given,
  generated,
  model,
  type Part,
  type Played,
  plainAndEager,
  said,
  streamed,
  wait,
  whole,
} from '../../test/sdk.ts'

unhandledRejections()
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }))
afterEach(() => void vi.useRealTimers())

/** A call that is sealed at 20 ms, in a step of 100 ms. */
const once: Part[][] = [[...whole('1'), wait(20), call('1'), wait(80), ...said('so'), finish()], answer]
const a = '{"q":"a","n":1}'
const sealing = 'openai.responses'
const fixed = { look: 'fixed' } as const

/** Ways to pass on the options that `eager()` returned. */
const ways: Readonly<Record<string, (options: Given, added: object) => Promise<unknown>>> = {
  'streamText({ ...shared, … })': (options, added) => streamed({ ...options, ...added }),
  'a mutation': (options, added) => streamed(Object.assign(options, added)),
  'agent.stream({ … })': (options, added) => agentText(options, added),
  'new ToolLoopAgent({ ...shared, … })': (options, added) => agentText({ ...options, ...added }, {}),
}

async function agentText(options: Given, added: object): Promise<unknown> {
  const agent = new ToolLoopAgent(options as ConstructorParameters<typeof ToolLoopAgent>[0])
  const { text, steps } = await agent.stream({ prompt: 'go', options: undefined, ...added })
  return [await text, (await steps).map(({ content }) => content.map(({ type }) => type))]
}

async function agentGenerated(options: Given): Promise<unknown> {
  const agent = new ToolLoopAgent(options as ConstructorParameters<typeof ToolLoopAgent>[0])
  const { text, steps } = await agent.generate({ prompt: 'go', options: undefined })
  return [text, steps.map(({ content }) => content.map(({ type }) => type))]
}

const approvals: Readonly<Record<string, unknown>> = {
  'that asks the user': { look: 'user-approval' },
  'for all tools': () => 'user-approval',
  'with a function for the tool': { look: () => ({ type: 'denied', reason: 'no' }) },
}

for (const way of Object.keys(ways)) {
  test.for(Object.entries(approvals))(
    `an approval %s that is added in ${way} keeps the tool from starting early (W47)`,
    async ([, toolApproval]) => {
      for (const effect of ['read', 'idempotent'] as const)
        for (const provider of [sealing, 'mock.chat']) {
          const { plain, eager } = await plainAndEager({
            responses: once,
            provider,
            effects: { look: effect },
            settings: { schemas: fixed },
            go: async (options) => ways[way]?.(options, { toolApproval }),
          })
          expect([eager.result, eager.log]).toEqual([plain.result, plain.log])
          expect(plain.log).toEqual([])
        }
    },
  )
}

test('with options added, a call starts as soon as the SDK has asked for its approval (R2, W47)', async () => {
  for (const added of [{}, { toolApproval: undefined }, { temperature: 0 }]) {
    const { plain, eager } = await plainAndEager({
      responses: once,
      provider: sealing,
      go: (options) => streamed({ ...options, ...added } as Given),
    })
    const isAsked = !('toolApproval' in added)
    expect(eager.result).toEqual(plain.result)
    expect([plain.log, eager.log]).toEqual([[`100 1 ${a}`], [`${isAsked ? 20 : 100} 1 ${a}`]])
    expect(eager.warnings).toEqual(isAsked ? [] : ['option-replaced'])
  }
})

test('options that are passed on as they are, also to an agent, start calls when their arguments have closed (R2)', async () => {
  const onStart = () => undefined
  for (const go of [streamed, (options: Given) => agentText(options, { onStepEnd: () => undefined })])
    for (const callbacks of [{}, { onStart }, { onStart, onStepStart: onStart }]) {
      const { plain, eager } = await plainAndEager({ responses: once, options: () => callbacks, go })
      expect([eager.result, eager.log, eager.warnings]).toEqual([plain.result, [`0 1 ${a}`], []])
    }
})

test('if a provider sends whole calls only at the end, a warning says what to write instead of adding options (W48)', async () => {
  const messages: string[] = []
  const { plain, eager } = await plainAndEager({
    responses: [[...whole('1'), wait(50), call('1'), finish()], answer],
    settings: { onWarning: ({ code, message }) => void messages.push(`${code}: ${message}`) },
    go: (options) => streamed({ ...options, temperature: 0 }),
  })
  expect([eager.result, eager.log]).toEqual([plain.result, plain.log])
  expect(messages).toEqual([
    'options-added: look did not start early: options were added to those that eager() returned, so it waits until the AI SDK asks for an approval, which it does at the end of this response. Add them before: eager({ ...options, prompt }, …)',
  ])
})

test('if a request adds `streamRetries`, with which the SDK asks at the end, the same warning says so (W48)', async () => {
  const warned = async (added: object, response: Part[]) => {
    const { plain, eager } = await plainAndEager({
      responses: [response, answer],
      provider: sealing,
      go: (options) => streamed({ ...options, ...added } as Given),
    })
    expect(eager.result).toEqual(plain.result)
    return eager.warnings
  }
  const retries = { streamRetries: 1 }
  const goesOn = once[0] ?? []
  const isLast = [...whole('1'), wait(20), call('1'), finish()]
  expect(await warned(retries, goesOn)).toEqual(['options-added'])
  expect(await warned(retries, isLast)).toEqual([])
  expect(await warned({ temperature: 0 }, goesOn)).toEqual([])
  // The SDK reads such a response as fast as it can.
  const atOnce = [...whole('1'), call('1'), ...said('so'), finish()]
  expect(await warned({ temperature: 0 }, atOnce)).toEqual([])
  expect(await warned({ ...retries, toolApproval: undefined }, goesOn)).toEqual(['option-replaced'])
})

test('an approval that is added to generateText is found after one early run, and that tool then starts early no more, with one warning (W47)', async () => {
  const messages: string[] = []
  const { plain, eager } = await plainAndEager({
    responses: once,
    settings: { alwaysStream: true, onWarning: ({ message }) => void messages.push(message) },
    options: () => ({ model: model(once.slice(0, 1)) }),
    go: async (options) => {
      const results: unknown[] = []
      for (let n = 0; n < 3; n++)
        results.push(await generated({ ...options, toolApproval: { look: 'user-approval' } } as Given))
      return results.map((result) => JSON.stringify(result).replaceAll(/aitxt-\w+/g, 'id'))
    },
  })
  expect(eager.result).toEqual(plain.result)
  expect([plain.log, eager.log]).toEqual([[], [`0 1 ${a}`]])
  expect(messages).toEqual([
    'look does not start early any more: a call of it had already run when the AI SDK asked for its approval, because that approval was added to the options after eager(). Add it before: eager({ ...options, toolApproval }, …)',
  ])
})

test('such an approval is also found in a later step, if callbacks of the request keep its end from being reported (W47)', async () => {
  const toolApproval = { look: () => ({ type: 'denied', reason: 'no' }) }
  const callbacks = { onStepEnd: () => undefined, onEnd: () => undefined }
  const to = '{"to":"ada"}'
  const { plain, eager } = await plainAndEager({
    responses: [[...whole('0', to, 'send'), call('0', to, 'send'), finish()], ...once],
    settings: { alwaysStream: true },
    go: async (options) => Object(await generated({ ...options, ...callbacks, toolApproval } as Given)).text,
  })
  expect(eager.result).toEqual(plain.result)
  expect(eager.warnings).toEqual(['approval-added'])
})

test('an approval in the options of generateText keeps its tool from starting early (R6)', async () => {
  const { plain, eager } = await plainAndEager({
    responses: once,
    settings: { alwaysStream: true },
    options: () => ({ toolApproval: { look: () => 'approved' } }),
    go: async (options) => Object(await generated(options)).text,
  })
  expect([eager.result, eager.log, eager.warnings]).toEqual([plain.result, plain.log, []])
})

/** Members that make the SDK do something before it executes a tool. */
const delaying: Readonly<Record<string, object>> = {
  needsApproval: { needsApproval: true },
  'a function needsApproval': { needsApproval: () => true },
  onInputAvailable: { onInputAvailable: () => sleep(10) },
  contextSchema: { contextSchema: z.object({}).optional() },
}

test.for(Object.entries(delaying))(
  'a copy of a tool with %s that is added does not start early, with or without an added onStepStart (W47)',
  async ([, member]) => {
    for (const effect of ['read', 'idempotent'] as const)
      for (const callbacks of [{}, { onStepStart: () => undefined }]) {
        const { plain, eager } = await plainAndEager({
          responses: once,
          provider: sealing,
          effects: { look: effect },
          settings: { schemas: fixed },
          go: (options) => {
            const look = { ...options.tools?.look, ...member } as ToolSet[string]
            return streamed({ ...options, ...callbacks, tools: { ...options.tools, look } })
          },
        })
        expect([eager.result, eager.log]).toEqual([plain.result, plain.log])
      }
  },
)

/** What a `prepareCall` may do with the tool `look` of the options. */
const replacing: Readonly<Record<string, (look: ToolSet[string] | undefined, bench: Bench) => object>> = {
  'adds an approval to': (look) => ({ ...look, needsApproval: true }),
  'adds onInputAvailable to': (look) => ({ ...look, onInputAvailable: () => sleep(10) }),
  wraps: (look) => ({
    ...look,
    execute: (...args: Parameters<NonNullable<ToolSet[string]['execute']>>) => look?.execute?.(...args),
  }),
  'puts back': (_, { tools }) => tools.look,
  'puts another tool in the place of': (_, { log }) =>
    tool({ inputSchema: z.object({ q: z.string() }), execute: () => void log.push('theirs') }),
}

test.for(Object.entries(replacing))(
  'an agent whose prepareCall %s a tool executes it as without eager(), with or without an added onStepStart (W46, W47)',
  async ([, changed]) => {
    for (const effect of ['read', 'idempotent'] as const)
      for (const added of [{}, { onStepStart: () => undefined }])
        for (const settings of [{}, { alwaysStream: true }]) {
          const { plain, eager } = await plainAndEager({
            responses: once,
            effects: { look: effect },
            settings: { schemas: fixed, ...settings },
            options: (bench) => ({
              prepareCall: (call: Given) => ({
                ...call,
                tools: { ...call.tools, look: changed(call.tools?.look, bench) },
              }),
            }),
            go: (options) =>
              'alwaysStream' in settings
                ? agentGenerated({ ...options, ...added })
                : agentText({ ...options, ...added }, {}),
          })
          expect([eager.result, eager.log, eager.warnings]).toEqual([plain.result, plain.log, []])
        }
  },
)

test('a copy of a tool with another description starts early, and is executed once (R2, W46)', async () => {
  const { plain, eager } = await plainAndEager({
    responses: once,
    provider: sealing,
    go: (options) => {
      const look = { ...options.tools?.look, description: 'other' } as ToolSet[string]
      return streamed({ ...options, onStepStart: () => undefined, tools: { ...options.tools, look } })
    },
  })
  expect([eager.result, eager.log, eager.warnings]).toEqual([plain.result, [`20 1 ${a}`], []])
})

/** The tool `look` is executed by something else than its `execute`. */
const others: Readonly<Record<string, Partial<Played> & { readonly added?: object }>> = {
  'bind() of a tool caller': {
    look: ({ log, work }) =>
      experimental_toolCaller(tool({ inputSchema: z.object({ q: z.string() }), execute: work }), {
        type: 'local',
        bind: () => tool({ inputSchema: z.object({ q: z.string() }), execute: () => void log.push('bound') }),
      }),
    added: { experimental_toolCallers: { send: ['look'] } },
  },
  'toolSearch()': {
    look: ({ log }) =>
      toolSearch({
        search: ({ query }) => [log.push(`searched ${query}`), 'send'].slice(1) as string[],
      }) as ToolSet[string],
    responses: [[...whole('1', '{"query":"x"}'), wait(20), call('1', '{"query":"x"}'), wait(80), finish()], answer],
  },
  'a refined input': { added: { experimental_refineToolInput: { look: () => ({ q: 'refined', n: 2 }) } } },
  'a replaced tool': {
    added: { tools: { look: tool({ inputSchema: z.object({ q: z.string() }), execute: () => 'theirs' }) } },
  },
}

test.for(Object.entries(others))(
  '%s is executed as without eager(), whether it is given or added (W47)',
  async ([, { added = {}, ...played }]) => {
    for (const effect of ['read', 'idempotent'] as const)
      for (const isGiven of [true, false]) {
        if (isGiven && 'tools' in added) continue
        const { plain, eager } = await plainAndEager({
          responses: once,
          provider: sealing,
          ...played,
          effects: { look: effect },
          settings: { schemas: fixed },
          options: () => (isGiven ? added : {}),
          go: (options) => streamed(isGiven ? options : ({ ...options, ...added } as Given)),
        })
        expect([eager.result, eager.log]).toEqual([plain.result, plain.log])
      }
  },
)

test('two requests at once whose prepareStep returns one array execute each call once (W46)', async () => {
  const kept: ModelMessage[] = [{ role: 'user', content: 'kept' }]
  for (const way of [
    streamed,
    (options: Given) => streamed({ ...options }),
    (options: Given) => agentText(options, {}),
  ]) {
    const { plain, eager } = await plainAndEager({
      responses: [once[0] ?? [], once[0] ?? [], answer],
      provider: sealing,
      effects: { look: 'idempotent' },
      settings: { schemas: fixed },
      options: () => ({ prepareStep: () => ({ messages: kept }) }),
      go: (options) => Promise.all([way(options), way(options)]),
    })
    expect(eager.result).toEqual(plain.result)
    expect([plain.log, eager.log]).toEqual([[`100 1 ${a}`, `100 1 ${a}`], Array(2).fill(eager.log[0])])
    expect([[`20 1 ${a}`], [`0 1 ${a}`]]).toContainEqual(eager.log.slice(1))
    expect(eager.warnings).toEqual([])
  }
})

const callbacks = [
  'onStart',
  'experimental_onStart',
  'onStepStart',
  'experimental_onStepStart',
  'onLanguageModelCallStart',
  'experimental_onLanguageModelCallStart',
  'onLanguageModelCallEnd',
  'onStepEnd',
  'onStepFinish',
  'onEnd',
  'onFinish',
  'onToolExecutionStart',
  'onToolExecutionEnd',
] as const

test.for(callbacks)(
  'a callback %s that is added, given, or both is called as without eager(), and calls start early (W48)',
  async (name) => {
    for (const [isGiven, isAdded] of [
      [true, false],
      [false, true],
      [true, true],
    ]) {
      const heard: string[] = []
      const note = (text: string) => ({ [name]: () => void heard.push(text) })
      const { plain, eager } = await plainAndEager({
        responses: once,
        provider: sealing,
        options: () => (isGiven ? note('given') : {}),
        go: async (options) => {
          heard.length = 0
          const result = await streamed(isAdded ? { ...options, ...note('added') } : options)
          return [result, [...heard]]
        },
      })
      expect(eager.result).toEqual(plain.result)
      expect(heard.length).toBeGreaterThan(0)
      expect([eager.log, eager.warnings]).toEqual([[`${isAdded ? 20 : 0} 1 ${a}`], []])
    }
  },
)

test('a prepareStep that is added works, and a warning says what to write (W48)', async () => {
  const messages: string[] = []
  const seen: number[] = []
  const { plain, eager } = await plainAndEager({
    responses: once,
    provider: sealing,
    settings: { onWarning: ({ code, message }) => void messages.push(`${code}: ${message}`) },
    go: (options) => streamed({ ...options, prepareStep: () => void seen.push(1) } as Given),
  })
  expect([eager.result, eager.log, seen.length]).toEqual([plain.result, plain.log, 4])
  expect(messages).toEqual([
    'option-replaced: no tool starts early in a request that replaces the prepareStep of eager(). Add yours before: eager({ ...options, prepareStep }, …)',
  ])
})

test('an onStepStart that is added to generateText works, and a warning names it (W48)', async () => {
  const seen: number[] = []
  const { plain, eager } = await plainAndEager({
    responses: once,
    settings: { alwaysStream: true },
    go: (options) => generated({ ...options, onStepStart: () => void seen.push(1) } as Given),
  })
  expect([eager.result, eager.log, seen.length]).toEqual([plain.result, plain.log, 4])
  expect(eager.warnings).toEqual(['option-replaced'])
})

test('if all callbacks before a request are given, options count as added, without a warning (W48)', async () => {
  const callback = () => undefined
  const { plain, eager } = await plainAndEager({
    responses: [[...whole('1'), wait(50), call('1'), finish()], answer],
    options: () => ({ onStart: callback, onStepStart: callback, onLanguageModelCallStart: callback }),
  })
  expect([eager.result, eager.log, eager.warnings]).toEqual([plain.result, plain.log, []])
})

test('a tool caller whose messages are appended to those of the step does not disturb other tools (W48)', async () => {
  const code = experimental_toolCaller(tool({ inputSchema: z.object({}), execute: () => 1 }), {
    type: 'local',
    bind: () => tool({ inputSchema: z.object({}), execute: () => 2 }),
    prepareModelMessage: () => 'call me',
  })
  for (const isAdded of [false, true]) {
    const { plain, eager } = await plainAndEager({
      responses: once,
      provider: sealing,
      options: ({ tools }) => ({ tools: { ...tools, code }, experimental_toolCallers: { send: ['code'] } }),
      go: (options) => streamed(isAdded ? { ...options } : options),
    })
    expect([eager.result, eager.warnings]).toEqual([plain.result, []])
    expect(eager.log).toEqual([`${isAdded ? 20 : 0} 1 ${a}`])
  }
})

test('a model that is added is observed, too (R2)', async () => {
  const { eager } = await plainAndEager({
    responses: [],
    go: (options) => streamed({ ...options, model: model(once, sealing) }),
  })
  expect([eager.log, eager.warnings]).toEqual([[`20 1 ${a}`], []])
})

test('an approved call that had run early is executed when that run has been undone, and what it yields is streamed (W46)', async () => {
  const log: string[] = []
  const compensate = async () => {
    await sleep(200)
    log.push('undone')
  }
  const asking = model([once[0] ?? [], answer], sealing)
  const { eager } = await plainAndEager({
    responses: [],
    effects: { look: { effect: 'reversible', compensate } },
    settings: { alwaysStream: true, schemas: fixed },
    look: () =>
      tool({
        inputSchema: z.object({ q: z.string() }),
        async *execute() {
          log.push('executed')
          yield 'half'
          yield 'whole'
        },
      }),
    async go(options) {
      if (!('experimental_onStepStart' in options)) return undefined
      const shared = { ...options, model: asking, toolApproval: { look: 'user-approval' } as const }
      const { responseMessages, content } = await generateText(shared as Parameters<typeof generateText>[0])
      const approval = content.find((part) => part.type === 'tool-approval-request')
      const answered: ModelMessage = {
        role: 'tool',
        content: [{ type: 'tool-approval-response', approvalId: approval?.approvalId ?? '', approved: true }],
      }
      const { prompt: _, ...rest } = shared
      return streamed({ ...rest, messages: [{ role: 'user', content: 'go' }, ...responseMessages, answered] } as Given)
    },
  })
  expect(log).toEqual(['executed', 'undone', 'executed'])
  const results = [
    ['result', '1', 'half', true],
    ['result', '1', 'whole', true],
    ['result', '1', 'whole', false],
  ]
  expect(eager.result).toMatchObject({ told: expect.arrayContaining(results), text: 'done' })
})

test('where options were added, early calls run one at a time, because a limit may have been added (W47)', async () => {
  const { plain, eager } = await plainAndEager({
    responses: [[...whole('1'), call('1'), ...whole('2'), call('2'), wait(100), finish()], answer],
    provider: sealing,
    ms: 30,
    go: (options) => streamed({ ...options, toolCallConcurrency: 1 }),
  })
  expect(eager.result).toEqual(plain.result)
  expect(eager.log).toEqual([`0 1 ${a}`, `30 2 ${a}`])
})

test('where another timeout may have been passed, that of the options does not abort an early call (W48)', async () => {
  const timeouts = vi.spyOn(AbortSignal, 'timeout')
  const ways = [
    (options: Given) => streamed({ ...options, timeout: { toolMs: 70 } }),
    (options: Given) => agentText(options, { timeout: { toolMs: 70 } }),
  ]
  for (const go of ways) {
    timeouts.mockClear()
    await plainAndEager({ responses: once, provider: sealing, options: () => ({ timeout: { toolMs: 50 } }), go })
    expect(timeouts.mock.calls.flat()).not.toContain(50)
  }
})

test('a member that is set on the options after eager() counts as added (W47)', async () => {
  const { plain, eager } = await plainAndEager({
    responses: once,
    provider: sealing,
    effects: { look: 'idempotent' },
    settings: { schemas: fixed },
    go: (options) =>
      streamed(Object.assign(options, { experimental_refineToolInput: { look: () => ({ q: 'refined', n: 2 }) } })),
  })
  expect([eager.result, eager.log]).toEqual([plain.result, plain.log])
})

test('a tool that a request wraps is executed as often as without eager() (W46)', async () => {
  for (const effect of ['read', 'idempotent'] as const) {
    const { plain, eager } = await plainAndEager({
      responses: once,
      provider: sealing,
      effects: { look: effect },
      settings: { schemas: fixed },
      go: (options) => {
        const look = options.tools?.look
        const execute = (...args: Parameters<NonNullable<ToolSet[string]['execute']>>) => look?.execute?.(...args)
        const tools = { ...options.tools, look: { ...look, execute } as ToolSet[string] }
        // Without this callback, eager() sees the tools only when it is asked.
        return streamed({ ...options, tools, onStepStart: () => undefined })
      },
    })
    expect([eager.result, eager.log]).toEqual([plain.result, plain.log])
  }
})
