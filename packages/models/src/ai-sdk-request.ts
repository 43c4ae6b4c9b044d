/** Converts a model request to the call options of the AI SDK's specification. */

import type {
  AssistantMessage,
  AssistantPart,
  Message,
  ModelRequest,
  ModelSettings,
  OutputFormat,
  TextPart,
  ToolCall,
  ToolMessage,
  UserMessage,
} from '@meanwhile/core'
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
import { joinText, nameOf } from './content.ts'
import { defined } from './defined.ts'
import { isRecord } from './is-record.ts'
import { jsonSchemaFormat } from './output-schema.ts'

/**
 * Returns the call options. The specification has all settings except `parallelToolCalls`, which is set only for OpenAI
 * and Anthropic.
 */
export function callOptions<V extends Version>(
  request: ModelRequest,
  provider: string,
  kept: Keeper,
  dialect: Dialect<V>,
): CallOptions<V> {
  const { settings, output } = request
  return {
    prompt: promptOf(request, kept, dialect),
    ...toolsOf(request),
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
    ...optionsOf({ ...settings.providerOptions, ...parallelOption(provider, settings) }),
    abortSignal: request.signal,
  }
}

function responseFormat(output: OutputFormat): CallOptions<Version>['responseFormat'] {
  const { name, schema } = jsonSchemaFormat(output)
  return { type: 'json', name, schema }
}

function parallelOption(provider: string, { parallelToolCalls, providerOptions }: ModelSettings): object {
  if (parallelToolCalls === undefined) return {}
  if (provider.startsWith('openai.')) return { openai: { parallelToolCalls, ...providerOptions?.openai } }
  if (!provider.startsWith('anthropic.')) return {}
  return { anthropic: { disableParallelToolUse: !parallelToolCalls, ...providerOptions?.anthropic } }
}

function toolsOf({ tools, toolChoice }: ModelRequest): Pick<CallOptions<Version>, 'tools' | 'toolChoice'> {
  if (tools.length === 0) return {}
  return {
    tools: tools.map(({ name, description, inputSchema }) => ({ type: 'function', name, description, inputSchema })),
    toolChoice: typeof toolChoice === 'string' ? { type: toolChoice } : { type: 'tool', toolName: toolChoice.tool },
  }
}

function promptOf<V extends Version>(
  { instructions, messages }: ModelRequest,
  kept: Keeper,
  dialect: Dialect<V>,
): PromptMessage<V>[] {
  const prompt: PromptMessage<V>[] = []
  if (instructions !== '') prompt.push({ role: 'system', content: instructions })
  for (const message of messages) {
    const next = promptMessage(message, kept, dialect)
    const last = prompt.at(-1)
    // The results of a step belong together.
    if (next.role === 'tool' && last?.role === 'tool') last.content.push(...next.content)
    else if (next.content.length > 0) prompt.push(next)
  }
  return prompt
}

function promptMessage<V extends Version>(message: Message, kept: Keeper, dialect: Dialect<V>): PromptMessage<V> {
  switch (message.role) {
    case 'user':
      return { role: 'user', content: userContent(message, dialect) }
    case 'assistant':
      return {
        role: 'assistant',
        content: standing(message, kept).flatMap((part) => assistantContent(part, kept, dialect)),
        ...opaqueOf(message, kept),
      }
    case 'tool':
      return { role: 'tool', content: [resultContent(message, dialect)] }
  }
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
  // Empty text, which providers reject, is sent only if it carries their metadata.
  return part.text === '' && !options.providerOptions ? [] : [textContent(part)]
}

/** A call that a provider executed is sent back, with its result, only to that provider. */
function callContent(call: ToolCall, kept: Kept): AssistantContent<never>[] {
  const content: AssistantContent<never> = {
    type: 'tool-call',
    toolCallId: call.id,
    toolName: call.providerResult === undefined ? nameOf(call) : call.name,
    input: inputOf(call),
    ...optionsOf(call.providerMetadata),
  }
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

/**
 * Some wires require an object: any other value, such as arguments that are not JSON, is sent as `{ arguments: … }`.
 */
function inputOf({ input }: ToolCall): object {
  return isRecord(input) && !Array.isArray(input) ? input : { arguments: input }
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
    value: content.map((part) => (part.type === 'text' ? textContent(part) : dialect.resultFile(part))),
  }
}
