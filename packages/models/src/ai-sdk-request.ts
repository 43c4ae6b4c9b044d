/** Converts a model request to the call options of the AI SDK's specification. */

import type {
  AssistantMessage,
  AssistantPart,
  FilePart,
  Message,
  ModelRequest,
  ModelSettings,
  OutputFormat,
  TextPart,
  ToolCall,
  ToolMessage,
  UserMessage,
} from '@meanwhile/core'
import { messageOf } from '@meanwhile/core'
import type { Dialect } from './ai-sdk-content.ts'
import { FALLBACK, type Keeper, type Kept, optionsOf } from './ai-sdk-kept.ts'
import type {
  AssistantContent,
  CallOptions,
  JsonValue,
  PromptMessage,
  ResultContent,
  TextContent,
  Version,
} from './ai-sdk-model.ts'
import { UNSIGNED } from './chat-request.ts'
import { inputOf, joinText, nameOf } from './content.ts'
import { defined } from './defined.ts'
import { noReasoningOf, type ProviderOptions, type Target } from './families.ts'
import { isRecord } from './is-record.ts'
import { isBlank } from './outgoing.ts'
import { jsonSchemaFormat } from './output-schema.ts'
import { withFittingBudget } from './thinking-budget.ts'
import { offeredTools } from './tool-choice.ts'
import { inputSchema } from './tool-schema.ts'

/**
 * Returns the call options of an outgoing request. The specification has all settings except `parallelToolCalls`, which
 * is set only for OpenAI and Anthropic.
 */
export function callOptions<V extends Version>(
  request: ModelRequest,
  target: Target,
  kept: Keeper,
  dialect: Dialect<V>,
): CallOptions<V> {
  const { settings, output } = request
  const options = withFittingBudget(target, settings, () => beginsWithThought(request, kept))
  return {
    prompt: promptOf(request, target, kept, dialect),
    ...toolsOf(request, target),
    ...defined({
      maxOutputTokens: settings.maxTokens,
      temperature: settings.temperature,
      topP: settings.topP,
      topK: settings.topK,
      frequencyPenalty: settings.frequencyPenalty,
      presencePenalty: settings.presencePenalty,
      stopSequences: settings.stopSequences && [...settings.stopSequences],
      seed: settings.seed,
      responseFormat: output && responseFormat(output),
    }),
    ...optionsOf(withParallel(request, target, options)),
    abortSignal: request.signal,
  }
}

function responseFormat(output: OutputFormat): CallOptions<Version>['responseFormat'] {
  const { name, schema } = jsonSchemaFormat(output)
  return { type: 'json', name, schema }
}

/** A choice of the user's own options stands. */
function withParallel(
  { tools, settings: { parallelToolCalls: parallel } }: ModelRequest,
  { host, wire }: Target,
  options: ProviderOptions,
): ProviderOptions {
  if (parallel === undefined || tools.length === 0) return options
  const { openai, anthropic } = options
  if (host.isOpenAI) return { ...options, openai: { parallelToolCalls: parallel, ...openai } }
  if (wire !== 'anthropic') return options
  return { ...options, anthropic: { disableParallelToolUse: !parallel, ...anthropic } }
}

function toolsOf(request: ModelRequest, target: Target): Pick<CallOptions<Version>, 'tools' | 'toolChoice'> {
  const { tools, toolChoice } = offeredTools(request, target)
  if (tools.length === 0) return {}
  return {
    tools: tools.map((tool) => ({
      type: 'function',
      name: tool.name,
      description: tool.description,
      inputSchema: inputSchema(tool, target),
    })),
    toolChoice: typeof toolChoice === 'string' ? { type: toolChoice } : { type: 'tool', toolName: toolChoice.tool },
  }
}

function promptOf<V extends Version>(
  { instructions, messages, settings }: ModelRequest,
  target: Target,
  kept: Keeper,
  dialect: Dialect<V>,
): PromptMessage<V>[] {
  const prompt: PromptMessage<V>[] = []
  const fill = fillFor(target, settings)
  if (instructions !== '') prompt.push({ role: 'system', content: instructions })
  for (const message of messages) {
    const next = promptMessage(message, target, kept, dialect, fill)
    const last = prompt.at(-1)
    // The results of a step belong together.
    if (next.role === 'tool' && last?.role === 'tool') last.content.push(...next.content)
    else if (next.content.length > 0) prompt.push(next)
  }
  return prompt
}

/** What a provider requires before a call, or in it, if its model did not write it. */
interface Fill {
  readonly reasoning?: string
  /** The name of the provider whose signature a call needs. */
  readonly signatureOf?: string
}

function fillFor(target: Target, settings: ModelSettings): Fill {
  const { host, family } = target
  if (host.signsCalls && family.isGemini3) return { signatureOf: host.signsCalls }
  // The packages do not send an empty text.
  return noReasoningOf(target, settings) === undefined ? {} : { reasoning: ' ' }
}

function beginsWithThought({ messages }: ModelRequest, kept: Keeper): boolean {
  const last = messages.findLastIndex(({ role }) => role === 'assistant')
  const answer = messages[last]
  if (answer?.role !== 'assistant' || messages[last + 1]?.role === 'user') return true
  const [first] = standing(answer, kept).filter((part) => part.type !== 'text' || !isBlank(part.text))
  return first?.type === 'reasoning' && optionsOf(first.providerMetadata).providerOptions?.anthropic !== undefined
}

function promptMessage<V extends Version>(
  message: Message,
  target: Target,
  kept: Keeper,
  dialect: Dialect<V>,
  fill: Fill,
): PromptMessage<V> {
  switch (message.role) {
    case 'user':
      return { role: 'user', content: userContent(message, dialect) }
    case 'assistant':
      return {
        role: 'assistant',
        content: assistantContents(message, target, kept, dialect, fill),
        ...opaqueOf(message, kept),
      }
    case 'tool':
      return { role: 'tool', content: [resultContent(message, dialect)] }
  }
}

/** A message is sent back up to its last part that is not reasoning: Anthropic and OpenAI reject the rest. */
function assistantContents<V extends Version>(
  message: AssistantMessage,
  target: Target,
  kept: Keeper,
  dialect: Dialect<V>,
  { reasoning, signatureOf }: Fill,
): AssistantContent<V>[] {
  const all = standing(message, kept)
    .map((part) => ({ part, content: assistantContent(part, target, kept, dialect) }))
    .filter(({ content }) => content.length > 0)
  const written = all.slice(0, all.findLastIndex(({ part }) => part.type !== 'reasoning') + 1)
  const call = written.find(({ part }) => part.type === 'tool-call' && part.providerResult === undefined)
  if (call?.part.type === 'tool-call' && signatureOf !== undefined) call.content = [signed(call.part, signatureOf)]
  const isThought = written.some(({ part }) => part.type === 'reasoning' && part.text !== '')
  const content = written.flatMap(({ content }) => content)
  return call && reasoning !== undefined && !isThought ? [{ type: 'reasoning', text: reasoning }, ...content] : content
}

/** The call with a signature: its own, or the one that Google documents for calls of other models. */
function signed(call: ToolCall, provider: string): OwnCall {
  const content = ownCall(call)
  const { providerOptions = {} } = content
  if (Object.values(providerOptions).some((own) => own.thoughtSignature)) return content
  return { ...content, providerOptions: { ...providerOptions, [provider]: { thoughtSignature: UNSIGNED } } }
}

/**
 * Returns the parts to send back. If another model continued, they leave out the reasoning and the open calls of the
 * previous one (qA11).
 */
function standing({ content }: AssistantMessage, kept: Keeper): readonly AssistantPart[] {
  const last = content.findLastIndex((part) => kept.of(part)?.custom === FALLBACK)
  return content.filter((part, i) => {
    if (i >= last) return true
    return part.type === 'tool-call' ? isRecord(part.providerResult) : part.type === 'text'
  })
}

/** Members of a Chat Completions message, which packages for compatible hosts take from these options. */
function opaqueOf({ content }: AssistantMessage, kept: Keeper): ReturnType<typeof optionsOf> {
  const opaque = content.flatMap((part) => Object.entries(kept.of(part)?.opaque ?? {}))
  return opaque.length === 0 ? {} : optionsOf({ openaiCompatible: Object.fromEntries(opaque) })
}

function userContent<V extends Version>({ content }: UserMessage, dialect: Dialect<V>): (TextContent | V['file'])[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return content.map((part) => (part.type === 'text' ? textContent(part) : dialect.file(part)))
}

function textContent({ text, providerMetadata }: TextPart): TextContent {
  return { type: 'text', text, ...optionsOf(providerMetadata) }
}

function assistantContent<V extends Version>(
  part: AssistantPart,
  { wire }: Target,
  kept: Keeper,
  dialect: Dialect<V>,
): AssistantContent<V>[] {
  const own = kept.of(part)
  if (!own) return []
  if (part.type === 'tool-call') return callContent(part, own)
  const options = optionsOf(part.providerMetadata)
  if (part.type === 'reasoning' && own.opaque) return []
  if (part.type === 'reasoning') return [{ type: 'reasoning', text: part.text, ...options }]
  const { file, custom } = own
  if (file) return [{ ...dialect.file(file), ...options }]
  if (custom) return dialect.custom ? [dialect.custom(custom, part.providerMetadata)] : []
  // Blank text, which providers reject, is sent only if it carries their metadata, and never to Anthropic.
  const isLost = isBlank(part.text) && (wire === 'anthropic' || !options.providerOptions)
  return isLost ? [] : [textContent(part)]
}

type OwnCall = Extract<AssistantContent<never>, { type: 'tool-call' }>

function ownCall(call: ToolCall): OwnCall {
  return {
    type: 'tool-call',
    toolCallId: call.id,
    toolName: call.providerResult === undefined ? nameOf(call) : call.name,
    input: inputOf(call),
    ...optionsOf(call.providerMetadata),
  }
}

/** A call that a provider executed is sent back, with its result, only to that provider. */
function callContent(call: ToolCall, kept: Kept): AssistantContent<never>[] {
  const content = ownCall(call)
  if (call.providerResult === undefined) return [content]
  if (!kept.executed) return []
  const made: AssistantContent<never>[] = kept.resultOf === undefined ? [{ ...content, providerExecuted: true }] : []
  if (call.providerResult === null) return made
  return [
    ...made,
    {
      type: 'tool-result',
      toolCallId: kept.resultOf ?? call.id,
      toolName: call.name,
      // A message is JSON.
      output: { type: kept.isError ? 'error-json' : 'json', value: call.providerResult as JsonValue },
      ...optionsOf(kept.resultMetadata),
    },
  ]
}

function resultContent<V extends Version>(message: ToolMessage, dialect: Dialect<V>): ResultContent<V> {
  return {
    type: 'tool-result',
    toolCallId: message.callId,
    toolName: nameOf(message),
    output: outputOf(message, dialect),
  }
}

/** Text if possible: some providers send everything else as JSON. Only text can be marked as an error. */
function outputOf<V extends Version>(
  { content, isError }: ToolMessage,
  dialect: Dialect<V>,
): ResultContent<V>['output'] {
  if (content.every((part) => part.type === 'text' && !part.providerMetadata)) {
    return { type: isError ? 'error-text' : 'text', value: joinText(content, () => '') }
  }
  return {
    type: 'content',
    value: content.map((part) => (part.type === 'text' ? textContent(part) : resultFile(part, dialect))),
  }
}

/** A sentence for a file that the version of the specification cannot express. */
function resultFile<V extends Version>(file: FilePart, dialect: Dialect<V>): TextContent | V['resultFile'] {
  try {
    return dialect.resultFile(file)
  } catch (error) {
    return { type: 'text', text: `(${file.filename ?? file.mediaType} is not here: ${messageOf(error)})` }
  }
}
