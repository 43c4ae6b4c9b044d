import { AIMessage } from '@langchain/core/messages'
import { AsyncLocalStorageProviderSingleton } from '@langchain/core/singletons'
import { keptOf } from '@meanwhile/tests/garbage'
import { sized } from '@meanwhile/tests/size'
import { tool } from 'langchain'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { answer, looks, type Options, plainAndEager, Scripted } from '../../test/langchain.ts'
import { eager } from './index.ts'
import type { ChatModel, NodeConfig } from './library.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const a = '{"q":"a"}'
const fourSteps = [looks('1'), looks('2'), looks('3'), looks('4'), answer]
const fourTimes = [`100 1 ${a}`, `220 2 ${a}`, `340 3 ${a}`, `460 4 ${a}`]

/** The model, with another config for its requests. */
function asking(model: ChatModel, change: (config: NodeConfig | undefined) => NodeConfig | undefined): ChatModel {
  return new Proxy(model, {
    get(of, key) {
      if (key === 'bindTools')
        return (...options: readonly [readonly unknown[]]) => asked(of.bindTools?.(...options), change)
      return Reflect.get(of, key)
    },
  })
}

function asked(
  model: ChatModel | undefined,
  change: (config: NodeConfig | undefined) => NodeConfig | undefined,
): ChatModel {
  if (!model) throw new Error('no model')
  return new Proxy(model, {
    get(of, key) {
      if (key === 'invoke') return (input: unknown, config?: NodeConfig) => of.invoke(input, change(config))
      return Reflect.get(of, key)
    },
  })
}

test('if requests do not contain their task, nothing starts early, with one warning (R10)', async () => {
  const cut = ({ model, ...options }: Options): Options => ({
    ...options,
    model: asking(model, (config) => config && { ...config, metadata: {} }),
  })
  const came = await plainAndEager({ cut, responses: fourSteps })
  expect(came.eager.result).toEqual(came.plain.result)
  expect([came.eager.log, came.plain.log]).toEqual([fourTimes, fourTimes])
  expect(came.eager.warnings).toEqual(['host-unknown'])
})

test('the warning about a model that was replaced says so (R10, W48)', async () => {
  const messages: string[] = []
  const cut = (options: Options): Options => ({ ...options, model: new Scripted(fourSteps) })
  const onWarning = ({ message }: { readonly message: string }) => void messages.push(message)
  await plainAndEager({ cut, responses: fourSteps, settings: { onWarning } })
  expect(messages).toEqual([expect.stringContaining('does not use the model that eager() has returned')])
})

test('if the model was replaced, nothing starts early, with one warning (R10)', async () => {
  const cut = (options: Options): Options => ({ ...options, model: new Scripted(fourSteps) })
  const came = await plainAndEager({ cut, responses: fourSteps })
  expect(came.eager.result).toEqual(came.plain.result)
  expect([came.eager.log, came.eager.warnings]).toEqual([fourTimes, ['model-replaced']])
})

test('if tools do not receive the messages, reads are made twice in three steps, then no more, with one warning (R10)', async () => {
  const cut = ({ tools, ...options }: Options): Options => ({
    ...options,
    tools: tools.map(
      (one) =>
        new Proxy(one, {
          get(of, key) {
            if (key !== 'invoke') return Reflect.get(of, key)
            return (input: unknown, config?: NodeConfig) => {
              const { state: _, ...rest } = config ?? {}
              return of.invoke(input, rest)
            }
          },
        }),
    ),
  })
  const came = await plainAndEager({ cut, responses: fourSteps })
  expect(came.eager.result).toEqual(came.plain.result)
  expect(came.plain.log).toEqual(fourTimes)
  expect(came.eager.log).toEqual([
    `0 1 ${a}`,
    `100 1 ${a}`,
    `120 2 ${a}`,
    `220 2 ${a}`,
    `240 3 ${a}`,
    `340 3 ${a}`,
    `460 4 ${a}`,
  ])
  expect(came.eager.warnings).toEqual(['switched-off'])
})

test('nothing is left after many steps (R7)', async () => {
  const schema = z.object({ q: z.string() })
  const look = tool(({ q }) => q, { name: 'look', description: 'looks', schema })
  const steps = sized({ small: 50, middle: 75, whole: 100_000 })
  const response = looks().filter((part) => !('wait' in part))
  const warnings: string[] = []
  const options = eager(
    { model: new Scripted([response]), tools: [look] },
    { look: 'read' },
    {
      alwaysStream: true,
      onWarning: ({ code }) => void warnings.push(code),
    },
  )
  const model: ChatModel = options.model
  const [joining] = options.tools
  const answers: WeakRef<object>[] = []
  let messages: readonly unknown[] = []
  const step = async (n: number) => {
    const node = { metadata: { langgraph_checkpoint_ns: `model_request:${n}` }, configurable: {} }
    const message = await AsyncLocalStorageProviderSingleton.runWithConfig(node, async () =>
      model.bindTools?.(options.tools).invoke([], { ...node }),
    )
    if (!AIMessage.isInstance(message) || !joining) throw new Error('no message')
    // In half of the steps the call is not used; a third of the runs have no next step.
    messages = n % 3 === 0 ? [] : [message]
    const config = { state: { messages: [message] } }
    const [call] = message.tool_calls ?? []
    if (n % 2 === 0 && call) await joining.invoke({ ...call, type: 'tool_call' }, config as object)
    if (n % 500 < 2) answers.push(new WeakRef(message))
  }
  for (let n = 0; n < steps; n++) await step(n)
  messages = []
  await vi.advanceTimersByTimeAsync(30_000)
  expect([messages, warnings.filter((code) => code !== 'switched-off')]).toEqual([[], []])
  expect(await keptOf(() => answers)).toBe(0)
})
