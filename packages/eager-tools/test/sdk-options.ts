/** Values for each option of the AI SDK's loops. A new option of the SDK has no value here, so the types do not fit. */

import { sleep } from '@meanwhile/tests/clock'
import {
  experimental_createSteering,
  experimental_toolCaller,
  type generateText,
  hasToolCall,
  isStepCount,
  Output,
  type streamText,
  type ToolLoopAgent,
  type ToolLoopAgentSettings,
  tool,
} from 'ai'
import { z } from 'zod'
import { answer, type Bench, call, finish, model, type Part, said, wait, whole } from './sdk.ts'

type KeysOf<Options> = Options extends unknown ? keyof Options : never

export type OptionName =
  | KeysOf<Parameters<typeof streamText>[0]>
  | KeysOf<Parameters<typeof generateText>[0]>
  | KeysOf<ToolLoopAgentSettings>
  | KeysOf<Parameters<ToolLoopAgent['stream']>[0]>
  | KeysOf<Parameters<ToolLoopAgent['generate']>[0]>

/** One run of the loop, for which a value is created. */
export interface Trial extends Bench {
  /** A function of the user has been called. */
  hear(name: string, event?: unknown): void
  /** A tool has been executed. */
  ran(name: string, input: unknown): void
  readonly signal: AbortController
}

type Value = (trial: Trial) => unknown

/** A step with text and a call of each tool, one with another call, and the answer. */
export const script: readonly Part[][] = [
  [
    ...said('let me'),
    ...whole('1'),
    call('1'),
    wait(20),
    ...whole('2', '{"key":"x"}', 'put'),
    call('2', '{"key":"x"}', 'put'),
    wait(20),
    ...whole('3', '{"to":"y"}', 'send'),
    call('3', '{"to":"y"}', 'send'),
    wait(20),
    finish(),
  ],
  [...whole('4', '{"q":"b"}'), call('4', '{"q":"b"}'), wait(30), finish()],
  answer,
]

const callback =
  (name: string): Value =>
  ({ hear }) =>
  (event: unknown) =>
    hear(name, event)

const failing =
  (name: string): Value =>
  ({ hear }) =>
  () => {
    hear(name)
    throw new Error(`${name} threw`)
  }

const callbacks = (name: string): readonly Value[] => [callback(name), failing(name)]
const same = (...values: readonly unknown[]): readonly Value[] => values.map((value) => () => value)
const window = [{ role: 'user', content: 'the window' }]

const approvals: readonly Value[] = [
  ...same(
    { look: 'user-approval' },
    { put: 'approved', send: 'user-approval' },
    { send: { type: 'denied', reason: 'no' } },
  ),
  ...same({ look: 'not-applicable' }, {}),
  ({ hear }) => ({
    look: (input: unknown) => {
      hear('approval of look', input)
      return 'approved'
    },
  }),
  ({ hear }) =>
    ({ toolCall }: { readonly toolCall: { readonly toolName: string; readonly input: unknown } }) => {
      hear('approval', [toolCall.toolName, toolCall.input])
      return toolCall.toolName === 'put' ? 'denied' : undefined
    },
]

const repairs: readonly Value[] = [
  ({ hear }) =>
    () => {
      hear('repair')
      return null
    },
]

/** With these, `send` has become a tool that calls others. */
const caller: Value = ({ tools, hear }) => ({
  ...tools,
  send: experimental_toolCaller(tools.send, {
    type: 'local',
    bind: () => tool({ inputSchema: z.object({ to: z.string() }), execute: ({ to }) => hear('bound', to) }),
  }),
})

export const OPTIONS: { readonly [Name in OptionName]-?: readonly Value[] } = {
  // The model and its prompt.
  model: [() => model(script, 'openai.responses'), () => model(script, 'mock.chat')],
  system: same('be brief'),
  instructions: same('be brief'),
  prompt: same('other', window),
  messages: same(window),
  allowSystemInMessages: same(true),
  maxOutputTokens: same(100),
  temperature: same(0),
  topP: same(1),
  topK: same(1),
  presencePenalty: same(0),
  frequencyPenalty: same(0),
  stopSequences: same(['x']),
  seed: same(7),
  reasoning: same('low'),
  maxRetries: same(0, 1),
  streamRetries: same(0, 1),
  headers: same({ 'x-mine': '1' }),
  providerOptions: same({ mine: { a: 1 } }),
  include: same({ requestBody: true, requestMessages: true }),
  experimental_include: same({ requestMessages: true }),
  includeRawChunks: same(true),
  experimental_download: same(undefined),
  output: [() => Output.text()],
  // When it ends.
  abortSignal: [({ signal }) => signal.signal],
  timeout: same(60_000, { stepMs: 60_000 }, { toolMs: 60_000 }, { tools: { lookMs: 60_000 } }),
  stopWhen: [() => isStepCount(2), () => hasToolCall('put'), () => [isStepCount(3), hasToolCall('none')]],
  // Tools.
  tools: [
    ({ tools }) => ({ ...tools, extra: tools.send }),
    ({ tools, ran }) => ({
      ...tools,
      look: tool({ inputSchema: z.object({ q: z.string() }), execute: (input) => ran('look', input) }),
    }),
    caller,
  ],
  toolChoice: same('auto', 'none', 'required', { type: 'tool', toolName: 'send' }),
  activeTools: same(['look'], ['put', 'send']),
  toolOrder: same(['send', 'put']),
  toolCallConcurrency: same(1, 2),
  toolsContext: same({ look: { key: 'secret' } }),
  runtimeContext: same({ user: 'ann' }),
  experimental_sandbox: same({ description: 'a sandbox' }),
  toolApproval: approvals,
  experimental_toolApprovalSecret: same('a secret that is long enough to be one'),
  experimental_toolCallers: same({ look: ['AI_SDK_DIRECT_TOOL_CALL'] }, { put: [] }),
  experimental_refineToolInput: [
    ({ hear }) => ({
      look: (input: object) => {
        hear('refine', input)
        return { ...input, n: 9 }
      },
    }),
    ({ hear }) => ({
      put: (input: object) => {
        hear('refine', input)
        return input
      },
    }),
  ],
  repairToolCall: repairs,
  experimental_repairToolCall: repairs,
  experimental_steering: [() => experimental_createSteering()],
  experimental_transform: [() => () => new TransformStream()],
  // Functions.
  prepareStep: [
    ({ hear }) =>
      ({ stepNumber }: { readonly stepNumber: number }) =>
        hear('prepareStep', stepNumber),
    () => () => ({ messages: window }),
    () => async () => {
      await sleep(5)
      return { activeTools: ['look', 'send'], toolsContext: { look: { key: 'step' } } }
    },
    () => () => ({ model: model([script[0] ?? [], answer], 'openai.responses'), toolChoice: 'required' }),
  ],
  prepareCall: [
    ({ hear }) =>
      (given: object) => {
        hear('prepareCall', Object.keys(given).includes('model'))
        return given
      },
    () => (given: object) => ({ ...given, toolApproval: { put: 'denied' }, maxRetries: 0 }),
    () => () => undefined,
  ],
  callOptionsSchema: [() => z.object({ n: z.number() }).optional()],
  options: same(undefined),
  id: same('agent'),
  onStart: callbacks('onStart'),
  experimental_onStart: callbacks('experimental_onStart'),
  onStepStart: callbacks('onStepStart'),
  experimental_onStepStart: callbacks('experimental_onStepStart'),
  onLanguageModelCallStart: callbacks('onLanguageModelCallStart'),
  experimental_onLanguageModelCallStart: callbacks('experimental_onLanguageModelCallStart'),
  onLanguageModelCallEnd: callbacks('onLanguageModelCallEnd'),
  experimental_onLanguageModelCallEnd: callbacks('experimental_onLanguageModelCallEnd'),
  onToolExecutionStart: callbacks('onToolExecutionStart'),
  experimental_onToolCallStart: callbacks('experimental_onToolCallStart'),
  onToolExecutionEnd: callbacks('onToolExecutionEnd'),
  experimental_onToolCallFinish: callbacks('experimental_onToolCallFinish'),
  onStepEnd: callbacks('onStepEnd'),
  onStepFinish: callbacks('onStepFinish'),
  onStepError: callbacks('onStepError'),
  onChunk: callbacks('onChunk'),
  onError: [callback('onError')],
  onAbort: callbacks('onAbort'),
  onEnd: callbacks('onEnd'),
  onFinish: callbacks('onFinish'),
  telemetry: same({ isEnabled: false }, { isEnabled: true, functionId: 'f', integrations: [] }),
  experimental_telemetry: same({ isEnabled: false }),
  _internal: [(_, ids = 0) => ({ generateId: () => `id-${ids++}` }), () => ({ generateCallId: () => 'the same' })],
}
