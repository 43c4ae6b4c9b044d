import { InMemoryStore, MemorySaver } from '@langchain/langgraph'
import { byTurns } from '@meanwhile/tests/size'
import * as langchain from 'langchain'
import { type AgentMiddleware, type CreateAgentParams, createMiddleware, tool } from 'langchain'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import {
  type Agent,
  answer,
  begin,
  type Config,
  callOptions,
  human,
  looks,
  more,
  type Options,
  played,
  Scripted,
  shown,
  text,
  wait,
} from '../../test/langchain.ts'
import { inNoOrder, telling } from '../../test/langchain-told.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const two = [
  begin(0, '1', 'look'),
  more(0, '{"q":"a"}'),
  begin(1, '2', 'send'),
  more(1, '{"q":"b"}'),
  wait(50),
  text('x'),
]
const responses = [looks('0', 'z', 30), two, answer]
const schema = z.object({ q: z.string() })

const ways = ['given to eager()', 'added to its options']

/** In small runs each option, member and middleware is given in one of the ways, by turns. */
const waysOf = (place: number) => byTurns(ways, { small: 1, middle: 1, whole: 2 }, place)

interface Given {
  /** Options of `createAgent` that are given to `eager()`. */
  readonly options?: object
  /** Options that are added to what `eager()` has returned. */
  readonly added?: object
  /** What is given with the call. */
  readonly config?: object
  readonly settings?: object
}

/** Everything that a user sees, and how the calls were executed. */
async function seen({ options = {}, added = {}, config = {}, settings }: Given, isEager: boolean) {
  const told: unknown[] = []
  const go = async (agent: Agent) => {
    const own: object = { configurable: { thread_id: 't' }, ...config }
    const callbacks = [telling(told), ...(Object(own).callbacks ?? [])]
    return shown(await agent.invoke(human(), { ...own, callbacks } as Config))
  }
  const given = isEager ? { options: () => options } : { options: () => ({ ...options, ...added }) }
  const cut = (from: Options): Options => ({ ...from, ...added })
  const played_ = await played(
    {
      responses,
      streaming: true,
      go,
      cut,
      ...given,
      settings: { alwaysStream: false, independent: ['send'], ...settings },
    },
    isEager,
  )
  return { ...played_, told: inNoOrder(told) }
}

const untimed = (log: readonly string[]) => log.map((line) => line.slice(line.indexOf(' ') + 1)).sort()

interface Expected {
  readonly warnings?: readonly string[]
  readonly wasted?: number
  /** Whether the first call starts while the model is still streaming. */
  readonly isEarly?: boolean
}

async function expectEqual(given: Given, { warnings = [], wasted = 0, isEarly = true }: Expected = {}) {
  const plain = await seen(given, false)
  const eager = await seen(given, true)
  expect({ result: eager.result, told: eager.told }).toEqual({ result: plain.result, told: plain.told })
  const executed = untimed(eager.log).filter((line) => !line.endsWith('aborted'))
  if (wasted === 0) expect(executed).toEqual(untimed(plain.log))
  else expect(executed).toHaveLength(plain.log.length + wasted)
  expect(eager.warnings).toEqual(warnings)
  const [first, sooner] = [plain, eager].map(({ log }) => Number.parseInt(log[0] ?? '', 10))
  expect(Number(sooner) < Number(first)).toBe(isEarly)
}

/** Each option of `createAgent`: a new one is missing here, and does not compile. */
const options: { readonly [Option in keyof Required<CreateAgentParams>]: () => unknown } = {
  model: () => new Scripted(responses, true),
  tools: () => ['look', 'send'].map((name) => tool(({ q }) => `ok ${q}`, { name, description: name, schema })),
  systemPrompt: () => 'be brief',
  stateSchema: () => z.object({ city: z.string().default('Oslo') }),
  contextSchema: () => z.object({ user: z.string().default('u') }),
  checkpointer: () => new MemorySaver(),
  store: () => new InMemoryStore(),
  responseFormat: () => undefined,
  middleware: () => [createMiddleware({ name: 'idle', afterModel: () => undefined })],
  name: () => 'researcher',
  description: () => 'looks things up',
  includeAgentName: () => 'inline',
  signal: () => new AbortController().signal,
  version: () => 'v1',
  streamTransformers: () => [],
}

/** These replace what `eager()` has returned, so nothing starts early. */
const replaced: Readonly<Record<string, readonly string[]>> = { model: ['model-replaced'], tools: ['tool-replaced'] }

test.for(Object.keys(options).flatMap((option, at) => waysOf(at).map((way) => [option, way] as const)))(
  'createAgent, %s, %s: calls, order, callbacks and texts are equal (W48)',
  async ([option, way]) => {
    // Each run gets its own.
    const own = {
      get [option]() {
        return options[option as keyof CreateAgentParams]?.()
      },
    }
    const isAdded = way !== 'given to eager()'
    await expectEqual(isAdded ? { added: own } : { options: own }, {
      warnings: isAdded ? (replaced[option] ?? []) : [],
      // The functions of the other tools note nothing.
      isEarly: option !== 'tools' && !(isAdded && option in replaced),
    })
  },
)

test.for(Object.keys(callOptions))(
  'a call with %s: calls, order, callbacks and texts are equal (W48)',
  async (option) => {
    await expectEqual({ config: { [option]: callOptions[option as keyof typeof callOptions]() } })
  },
)

type Member = Exclude<keyof AgentMiddleware, '~middlewareTypes' | 'name'>

/** Each member of a middleware. */
const members: { readonly [Name in Member]: () => AgentMiddleware[Name] } = {
  stateSchema: () => z.object({ count: z.number().default(0) }) as never,
  contextSchema: () => z.object({ user: z.string().default('u') }),
  tools: () => [tool((input: object) => JSON.stringify(input), { name: 'extra', description: 'extra', schema })],
  streamTransformers: () => [],
  wrapToolCall: () => (request, ask) => ask(request),
  wrapModelCall: () => (request, ask) => ask(request),
  beforeAgent: () => () => undefined,
  beforeModel: () => () => undefined,
  afterModel: () => () => undefined,
  afterAgent: () => () => undefined,
}

test.for(Object.keys(members).flatMap((member, at) => waysOf(at).map((way) => [member, way] as const)))(
  'a middleware with %s, %s: calls, order, callbacks and texts are equal (W48)',
  async ([member, way]) => {
    const middleware = [{ name: 'own', [member]: members[member as Member]() }]
    await expectEqual(way === ways[0] ? { options: { middleware } } : { added: { middleware } })
  },
)

// With `exactOptionalPropertyTypes` some parameters are `never`.
const limits = { runLimit: 5 } as never

/** A middleware of LangChain, and what `eager()` reports of it: when it is given to `eager()`, and when it is added. */
interface Row {
  readonly make: () => object
  readonly warns?: readonly [given: readonly string[], added: readonly string[]]
  /** How many early calls are not used. */
  readonly wasted?: readonly [given: number, added: number]
}

const unknown = ['approval-unknown'] as const
/** Each middleware that LangChain exports: a new one is missing here, and the test below fails. */
const middlewares: Readonly<Record<string, Row>> = {
  contextEditingMiddleware: { make: () => langchain.contextEditingMiddleware() },
  dynamicSystemPromptMiddleware: { make: () => langchain.dynamicSystemPromptMiddleware(() => 'be brief') },
  humanInTheLoopMiddleware: {
    make: () => langchain.humanInTheLoopMiddleware({ interruptOn: { other: true } } as never),
    warns: [unknown, unknown],
  },
  llmToolSelectorMiddleware: {
    make: () => ({ ...langchain.llmToolSelectorMiddleware({ maxTools: 5, alwaysInclude: ['look', 'send'] } as never) }),
  },
  modelCallLimitMiddleware: { make: () => langchain.modelCallLimitMiddleware(limits) },
  modelFallbackMiddleware: { make: () => langchain.modelFallbackMiddleware(new Scripted([answer])) },
  modelRetryMiddleware: { make: () => langchain.modelRetryMiddleware() },
  piiMiddleware: {
    make: () => langchain.piiMiddleware('email', { strategy: 'redact', applyToOutput: true, applyToToolResults: true }),
  },
  piiRedactionMiddleware: {
    make: () => langchain.piiRedactionMiddleware({ rules: { ssn: /\d{3}-\d{2}-\d{4}/g } } as never),
  },
  summarizationMiddleware: {
    make: () =>
      langchain.summarizationMiddleware({ model: new Scripted([answer]), trigger: { tokens: 100_000 } } as never),
  },
  todoListMiddleware: { make: () => langchain.todoListMiddleware() },
  toolCallLimitMiddleware: { make: () => langchain.toolCallLimitMiddleware(limits), warns: [unknown, unknown] },
  toolEmulatorMiddleware: {
    make: () => langchain.toolEmulatorMiddleware({ tools: ['send'], model: new Scripted([[text('emulated')]]) }),
    warns: [unknown, []],
  },
  toolErrorMiddleware: { make: () => langchain.toolErrorMiddleware({ onError: () => undefined }) },
  toolRetryMiddleware: { make: () => langchain.toolRetryMiddleware() },
}

/** They need a provider, or make a middleware. */
const others = [
  'anthropicPromptCachingMiddleware',
  'bedrockPromptCachingMiddleware',
  'createMiddleware',
  'openAIModerationMiddleware',
  'providerToolSearchMiddleware',
]

test('every middleware that LangChain exports has a row (W48)', () => {
  const exported = Object.keys(langchain).filter((name) => name.endsWith('Middleware'))
  expect([...Object.keys(middlewares), ...others].sort()).toEqual(exported.sort())
})

test.for(
  Object.keys(middlewares).flatMap((name, at) => waysOf(at).map((way) => [name, way, ways.indexOf(way)] as const)),
)('%s, %s: calls, order, callbacks and texts are equal (W48)', async ([name, , at]) => {
  const { make, warns = [[], []], wasted = [0, 0] } = middlewares[name] as Row
  const given = {
    get middleware() {
      return [make()]
    },
  }
  await expectEqual(at === 0 ? { options: given } : { added: given }, {
    warnings: warns[at] ?? [],
    wasted: wasted[at] ?? 0,
    isEarly: warns[at] !== unknown,
  })
})

test('a structured response after calls: everything is equal (W48)', async () => {
  const responseFormat = langchain.toolStrategy(z.object({ city: z.string() }))
  const shape = [begin(0, '9', 'shape'), more(0, '{"city":"Oslo"}'), text('x')]
  const results: unknown[] = []
  const starts: number[] = []
  for (const isEager of [false, true]) {
    const { result, log, warnings } = await played(
      { responses: [looks('0', 'z', 30), shape], options: () => ({ responseFormat }) },
      isEager,
    )
    starts.push(Number.parseInt(log[0] ?? '', 10))
    results.push({ result: (result as readonly string[]).slice(0, 4), log: untimed(log), warnings })
  }
  expect(results[1]).toEqual(results[0])
  expect(starts).toEqual([30, 0])
})
