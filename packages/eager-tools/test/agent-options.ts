/** Values for each option of an agent, a runner, a run and a tool of `@openai/agents`, and where its types name them. */

import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sleep } from '@meanwhile/tests/clock'
import { Agent, type MCPServer, MemorySession, RunContext } from '@openai/agents'
import ts from 'typescript'
import { z } from 'zod'
import type { Tell } from './agent-programs.ts'
import { answer, done, type Part, requested, Script, sealed } from './agents.ts'

/** By the option: the values to try. */
export type Values = Readonly<Record<string, (tell: Tell) => readonly unknown[]>>

const inputGuardrail = (tell: Tell, runInParallel: boolean, tripwireTriggered: boolean, ms: number) => ({
  name: 'g',
  runInParallel,
  execute: async ({ input, agent, context }: Readonly<Record<string, unknown>>) => {
    tell('input guardrail', input, agent, context)
    await sleep(ms)
    return { tripwireTriggered, outputInfo: {} }
  },
})
const inputGuardrails = (tell: Tell) => [
  [inputGuardrail(tell, true, false, 10)],
  [inputGuardrail(tell, true, true, 50)],
  [inputGuardrail(tell, false, false, 10)],
  [inputGuardrail(tell, false, true, 10)],
]
const outputGuardrails = (tell: Tell) =>
  [true, false].map((tripwireTriggered) => [
    {
      name: 'g',
      execute: async ({ agentOutput, agent, context }: Readonly<Record<string, unknown>>) => {
        tell('output guardrail', agentOutput, agent, context)
        return { tripwireTriggered, outputInfo: {} }
      },
    },
  ])
const modelSettings = () => [
  { toolChoice: 'required', parallelToolCalls: false },
  { retry: { maxRetries: 1, policy: () => true, backoff: { initialDelayMs: 10, jitter: false } } },
]
const sessionInputCallback = (tell: Tell) => [
  (history: unknown[], input: unknown[]) => {
    tell('sessionInputCallback', history, input)
    return [...history, ...input]
  },
]
const callModelInputFilter = (tell: Tell) => [
  ({ modelData, agent, context }: { modelData: object; agent: unknown; context: unknown }) => {
    tell('callModelInputFilter', modelData, agent, context)
    return { ...modelData, instructions: 'filtered' }
  },
]
const toolErrorFormatter = (tell: Tell) => [
  ({ kind, callId, runContext }: Readonly<Record<string, unknown>>) => {
    tell('toolErrorFormatter', kind, { toolCall: { callId } }, runContext)
    return 'formatted'
  },
]
const outputGuardrailBlockedMessage = (tell: Tell) => [
  'blocked',
  ({ guardrailName }: { guardrailName: string }) => {
    tell('outputGuardrailBlockedMessage', guardrailName)
    return 'blocked'
  },
]
const toolExecution = () => [{ maxFunctionToolConcurrency: 1 }, { preApprovalInputGuardrails: true }]
const toolNotFoundBehavior = () => ['raise_error', 'return_error_to_model']
const toolNameCollisionPolicy = () => ['warn', 'error']
const reasoningItemIdPolicy = () => ['preserve', 'omit']

const server = (tell: Tell): MCPServer => ({
  name: 'm',
  cacheToolsList: false,
  connect: async () => undefined,
  close: async () => undefined,
  invalidateToolsCache: async () => undefined,
  listTools: async () => {
    tell('listTools')
    const properties = { q: { type: 'string' } }
    return [
      {
        name: 'look',
        description: 'f',
        inputSchema: { type: 'object', properties, required: ['q'], additionalProperties: false },
      },
    ]
  },
  async callTool(_, args) {
    await sleep(50)
    if (Object(args).q === 'throws') throw new Error('broken')
    return [{ type: 'text', text: `page ${JSON.stringify(args)}` }]
  },
})

export const AGENT: Values = {
  name: () => ['other'],
  instructions: (tell) => [
    'other',
    async (context: unknown, agent: unknown) => {
      tell('instructions', context, agent)
      return 'told'
    },
  ],
  prompt: (tell) => [
    { promptId: 'p' },
    async (context: unknown, agent: unknown) => {
      tell('prompt', context, agent)
      return { promptId: 'p' }
    },
  ],
  handoffDescription: () => ['d'],
  handoffs: () => [[new Agent({ name: 'other', instructions: 'i', model: 'scripted' })]],
  handoffOutputTypeWarningEnabled: () => [false],
  model: () => ['other', '', new Script(SCRIPT)],
  modelSettings,
  tools: () => [[]],
  mcpServers: (tell) => [[server(tell)]],
  mcpConfig: () => [{ convertSchemasToStrict: true, includeServerInToolNames: true }, { errorFunction: null }],
  inputGuardrails,
  outputGuardrails,
  outputType: () => ['text', z.object({ a: z.string() })],
  toolUseBehavior: (tell) => [
    'run_llm_again',
    'stop_on_first_tool',
    { stopAtToolNames: ['book'] },
    async (context: unknown, results: unknown) => {
      tell('toolUseBehavior', context, results)
      return { isFinalOutput: true, isInterrupted: undefined, finalOutput: 'ended' }
    },
  ],
  resetToolChoice: () => [false],
}

export const RUNNER: Values = {
  model: () => ['other', new Script(SCRIPT)],
  modelProvider: () => [{ getModel: () => new Script(SCRIPT) }, { getModel: async () => new Script(SCRIPT) }],
  modelSettings,
  handoffInputFilter: (tell) => [
    (data: object) => {
      tell('handoffInputFilter', data)
      return data
    },
  ],
  inputGuardrails,
  outputGuardrails,
  tracingDisabled: () => [true],
  traceIncludeSensitiveData: () => [false, true],
  workflowName: () => ['w'],
  traceId: () => ['trace_1'],
  groupId: () => ['g'],
  traceMetadata: () => [{ m: 'm' }],
  tracing: () => [{ apiKey: 'k' }],
  sandbox: () => [{}],
  toolExecution,
  toolNotFoundBehavior,
  toolNameCollisionPolicy,
  sessionInputCallback,
  callModelInputFilter,
  toolErrorFormatter,
  outputGuardrailBlockedMessage,
  reasoningItemIdPolicy,
}

export const RUN: Values = {
  stream: () => [true, false],
  context: () => [{ user: 'ann' }, new RunContext({ user: 'ann' })],
  maxTurns: () => [1, 2, null],
  signal: () => {
    const controller = new AbortController()
    setTimeout(() => controller.abort(new Error('stop')), 80)
    return [new AbortController().signal, controller.signal]
  },
  previousResponseId: () => ['r0'],
  conversationId: () => ['c'],
  session: () => [new MemorySession({ sessionId: 's' })],
  sessionInputCallback,
  callModelInputFilter,
  toolErrorFormatter,
  outputGuardrailBlockedMessage,
  reasoningItemIdPolicy,
  tracing: () => [{ apiKey: 'k' }],
  sandbox: () => [{}],
  toolExecution,
  toolNotFoundBehavior,
  toolNameCollisionPolicy,
  errorHandlers: (tell) => [
    {
      maxTurns: ({ error, context, runData }: Readonly<Record<string, unknown>>) => {
        tell('errorHandlers.maxTurns', error, context, Object(runData).history)
        return { finalOutput: 'handled' }
      },
    },
  ],
}

const toolGuardrail = (tell: Tell, type: 'tool_input' | 'tool_output', behavior: object) => [
  {
    type,
    name: 'g',
    run: async ({ toolCall, output, agent, context }: Readonly<Record<string, unknown>>) => {
      tell(type, { toolCall }, output, agent, context)
      return { behavior }
    },
  },
]
const behaviors = [{ type: 'allow' }, { type: 'rejectContent', message: 'no' }, { type: 'throwException' }]

export const TOOL: Values = {
  name: () => [],
  description: () => ['d'],
  parameters: () => [
    z.object({ q: z.string(), n: z.number().default(1) }),
    { type: 'object', properties: { q: { type: 'string' } }, required: ['q'], additionalProperties: false },
  ],
  execute: () => [() => 'at once'],
  strict: () => [true],
  deferLoading: () => [true],
  providerData: () => [{ a: 1 }],
  allowedCallers: () => [['direct'], ['programmatic'], ['direct', 'programmatic']],
  outputSchema: () => [z.object({ a: z.string() })],
  errorFunction: () => [() => 'sorry', null],
  needsApproval: (tell) => [
    true,
    false,
    ...[true, false].map((needs) => async (context: unknown, input: unknown, callId: unknown) => {
      tell('needsApproval', context, input, { toolCall: { callId } })
      return needs
    }),
  ],
  timeoutMs: () => [10, 50],
  timeoutBehavior: () => ['error_as_result', 'raise_exception'],
  timeoutErrorFunction: (tell) => [
    (_: unknown, error: unknown, details?: { toolCall?: { callId: string } }) => {
      tell('timeoutErrorFunction', error, { toolCall: { callId: details?.toolCall?.callId } })
      return 'late'
    },
  ],
  isEnabled: (tell) => [
    true,
    false,
    ({ runContext, agent }: Readonly<Record<string, unknown>>) => {
      tell('isEnabled', runContext, agent)
      return true
    },
  ],
  inputGuardrails: (tell) => behaviors.map((behavior) => toolGuardrail(tell, 'tool_input', behavior)),
  outputGuardrails: (tell) => behaviors.map((behavior) => toolGuardrail(tell, 'tool_output', behavior)),
  customDataExtractor: (tell) => [
    ({ toolCall, input, output }: Readonly<Record<string, unknown>>) => {
      tell('customDataExtractor', { toolCall }, input, output)
      return { input }
    },
  ],
}

const Q = '{"q":"a"}'
const B = '{"q":"b"}'
const THROWS = '{"q":"throws"}'
/** Each effect, errors, a handoff that may not exist, and an answer. */
export const SCRIPT: readonly Part[][] = [
  [
    ...sealed('1', 'look', Q),
    ...sealed('2', 'book', B, 1),
    ...sealed('3', 'send', Q, 2),
    100,
    done(requested('1', 'look', Q), requested('2', 'book', B), requested('3', 'send', Q)),
  ],
  [
    ...sealed('4', 'look', THROWS),
    ...sealed('5', 'transfer_to_other', '{}', 1),
    100,
    done(requested('4', 'look', THROWS), requested('5', 'transfer_to_other', '{}')),
  ],
  answer,
]

const types = dirname(fileURLToPath(import.meta.resolve('@openai/agents-core')))

const sources = new Map<string, ts.SourceFile>()

function sourceOf(file: string): ts.SourceFile {
  const path = join(types, file)
  const how = { languageVersion: ts.ScriptTarget.Latest, jsDocParsingMode: ts.JSDocParsingMode.ParseNone }
  const source = sources.get(path) ?? ts.createSourceFile(path, readFileSync(path, 'utf8'), how)
  sources.set(path, source)
  return source
}

/** The members of a type of the SDK, as its declarations name them. */
export function membersOf(file: string, name: string): readonly string[] {
  const members = new Set<string>()
  const add = (elements: ts.NodeArray<ts.TypeElement>) => {
    for (const { name } of elements) if (name && ts.isIdentifier(name)) members.add(name.text)
  }
  const visit = (type: ts.TypeNode): void => {
    if (ts.isTypeLiteralNode(type)) add(type.members)
    else if (ts.isIntersectionTypeNode(type) || ts.isUnionTypeNode(type)) type.types.forEach(visit)
    else if (ts.isConditionalTypeNode(type)) [type.trueType, type.falseType].forEach(visit)
  }
  for (const statement of sourceOf(file).statements) {
    if (ts.isInterfaceDeclaration(statement) && statement.name.text === name) add(statement.members)
    if (ts.isTypeAliasDeclaration(statement) && statement.name.text === name) visit(statement.type)
  }
  return [...members]
}
