import Anthropic from '@anthropic-ai/sdk'
import { call, respond, type ScriptResponse, say } from '@meanwhile/assemble/testing'
import { type AgentError, createAgent, type Effect, type Message, type Middleware, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { mockModels, type WireName } from '@meanwhile/harness'
import { watchSpans } from '@meanwhile/harness/assert'
import { type Quirk, quirkResponse, quirks } from '@meanwhile/harness/quirks'
import { retryModel } from '@meanwhile/middleware'
import { anthropic } from '@meanwhile/models/anthropic'
import { openai } from '@meanwhile/models/openai'
import { played } from '@meanwhile/tests/clock'
import { byTurns, everyNth, ofEachKind } from '@meanwhile/tests/size'
import { TracerProvider } from '@opentelemetry/sdk-trace'
import OpenAI from 'openai'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

// Every quirk of the catalogue as the first step of a run, through the official client and the adapter, eager and not.

interface Ran {
  readonly messages: readonly Message[] | undefined
  readonly error: unknown
  /** The inputs of the tools, in order. */
  readonly executions: readonly string[]
  readonly discarded: number
}

interface Play {
  /** The names of the tools. */
  readonly names?: readonly string[]
  /** What the model answers after the quirk. */
  readonly next?: readonly ScriptResponse[]
}

const done: ScriptResponse = respond(say('Done.'))
const anything = z.looseObject({})

function run(...given: Parameters<typeof unplayed>): Promise<Ran> {
  return played(unplayed(...given))
}

async function unplayed(
  quirk: Quirk,
  effect: Effect,
  middleware: readonly Middleware[],
  { names = toolNames(quirk), next = [done, done] }: Play = {},
): Promise<Ran> {
  const mock = mockModels({ script: [quirkResponse(quirk, { slice: { bytes: 7 } }), ...next] })
  const executions: string[] = []
  const tools = names.map((name) =>
    tool({
      name,
      description: name,
      input: anything,
      effect,
      ...(effect === 'reversible' && { compensate: () => undefined }),
      execute(input) {
        executions.push(`${name} ${JSON.stringify(input)}`)
        return `${name} ran`
      },
    }),
  )
  const watch = watchSpans()
  const telemetry = { tracerProvider: new TracerProvider({ spanProcessors: [watch] }) }
  const agent = createAgent({ model: modelOf(quirk.wire, mock.fetch), tools, middleware, telemetry })
  const going = agent.stream('Go.')
  const settled = going.result.then(
    ({ messages }) => ({ messages, error: undefined }),
    (error: AgentError) => ({ messages: error.messages, error: JSON.parse(JSON.stringify(error)) as unknown }),
  )
  let discarded = 0
  try {
    for await (const event of going) if (event.type === 'tool-discarded') discarded += 1
  } catch {
    // The result rejects with it.
  }
  watch.assertEndedOnce()
  return { ...(await settled), executions, discarded }
}

function modelOf(wire: WireName, fetch: typeof globalThis.fetch) {
  const idleTimeout = 200
  if (wire === 'anthropic') {
    const client = new Anthropic({ apiKey: 'none', fetch, maxRetries: 0, logLevel: 'off' })
    return anthropic({ client, model: 'm', idleTimeout })
  }
  const client = new OpenAI({ apiKey: 'none', fetch, maxRetries: 0, logLevel: 'off' })
  return openai({ client, model: 'm', api: wire === 'openai-chat' ? 'chat' : 'responses', idleTimeout })
}

/** The tools that the quirk is expected to call. One of them is missing, so that unknown tools occur, too. */
function toolNames({ expected, declared }: Quirk): string[] {
  const calls = [expected, declared?.expected].flatMap((outcome) => outcome?.calls ?? [])
  return [...new Set(calls.map(({ name }) => name))].filter((name) => name !== '' && name !== 'parallel')
}

function count(executions: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const execution of executions) counts.set(execution, (counts.get(execution) ?? 0) + 1)
  return counts
}

const EFFECTS = ['read', 'idempotent', 'reversible', 'external'] as const

/** In small runs every fourth quirk on each wire: the tests of the adapters read all of them. */
const forms = everyNth(
  ofEachKind(quirks, ({ id, wire }) => `${id} ${wire}`),
  4,
)

const cases = forms.map((quirk, at) => ({
  ...quirk,
  effects: byTurns(EFFECTS, { small: 1, middle: 1, whole: 4 }, at),
}))

test.each(cases)('eager changes only when tools run: $wire $id, $title', async ({ effects, ...quirk }) => {
  for (const effect of effects) {
    const waiting = await run(quirk, effect, [])
    const eager = await run(quirk, effect, [eagerTools()])
    expect(eager.messages).toEqual(waiting.messages)
    expect(eager.error).toEqual(waiting.error)

    if (effect === 'external') expect(eager.executions.toSorted()).toEqual(waiting.executions.toSorted())
    const before = count(waiting.executions)
    for (const [execution, times] of count(eager.executions)) {
      const wasted = times - (before.get(execution) ?? 0)
      // One more than in the other run only if the response was not accepted, or its arguments changed after they had closed.
      expect(wasted, `${effect}: ${execution}`).toBeLessThanOrEqual(stands(quirk) ? 0 : 1)
    }
    for (const execution of before.keys()) expect(eager.executions).toContain(execution)
  }
})

/** Whether the response is accepted with its calls as they had closed: they may run, and nothing after their objects changed them. */
function stands({ expected }: Quirk): boolean {
  if (!('finishReason' in expected) || expected.calls.some(({ invalid }) => invalid)) return false
  return expected.finishReason === 'stop' || expected.finishReason === 'tool-calls'
}

/** Each with two of the effects, by turns; in whole runs with all. */
const withEffects = (some: readonly Quirk[]) =>
  some.map((quirk, at) => ({ ...quirk, effects: byTurns(EFFECTS, { small: 2, middle: 2, whole: 4 }, at) }))

const restarts = withEffects(quirks.filter(({ id }) => id === 'T14'))

test.each(restarts)('on $wire no call runs after a second response: $title (P1)', async ({ effects, ...quirk }) => {
  for (const effect of effects) {
    const waiting = await run(quirk, effect, [])
    const eager = await run(quirk, effect, [eagerTools()])
    expect(waiting).toMatchObject({ error: { code: 'stream_restarted', retryable: true }, executions: [] })
    expect(eager.error).toEqual(waiting.error)
    expect(eager.discarded).toBe(eager.executions.length)
    if (effect === 'external') expect(eager.executions).toEqual([])
  }
})

test.each(restarts)(
  'on $wire the retry after a second response makes each call once: $title (P1)',
  async ({ effects, ...quirk }) => {
    for (const effect of effects) {
      for (const middleware of [[retryModel()], [retryModel(), eagerTools()]]) {
        const running = run(quirk, effect, middleware, { next: [respond(call('f', { x: 1 })), done] })
        expect(await running).toMatchObject({ error: undefined, executions: ['f {"x":1}'], discarded: 0 })
      }
    }
  },
)

const named = withEffects(quirks.filter(({ id }) => ['C9', 'C18', 'C47', 'C48'].includes(id)))

test.each(named)(
  '$wire $id, $title: exactly the intended calls are made, eager or not (P2, P3, P21)',
  async ({ effects, ...quirk }) => {
    const { tools, expected } = quirk.declared ?? { tools: [], expected: quirk.expected }
    const names = tools.length > 0 ? tools.map(({ name }) => name) : toolNames(quirk)
    const meant = (expected.calls ?? []).map(({ name, input }) => `${name} ${JSON.stringify(input)}`)
    for (const effect of effects) {
      for (const middleware of [[], [eagerTools()]]) {
        const { executions, messages } = await run(quirk, effect, middleware, { names })
        expect(executions).toEqual(meant)
        expect(messages?.filter(({ role }) => role === 'tool')).toHaveLength(meant.length)
      }
    }
  },
)
