/** Converts a model request to a request of Anthropic's Messages API. */

import type Anthropic from '@anthropic-ai/sdk'
import type {
  AssistantMessage,
  AssistantPart,
  ContentPart,
  FilePart,
  Message,
  ModelRequest,
  ModelSettings,
  ToolCall,
  ToolMessage,
  UserMessage,
} from '@meanwhile/core'
import { inputOf, metadataFor, nameOf, refuseFile } from './content.ts'
import { defined } from './defined.ts'
import type { Target } from './families.ts'
import { isRecord } from './is-record.ts'
import { onceFor } from './once.ts'
import { isBlank, outgoing, outgoingMessages } from './outgoing.ts'
import { strictSchema } from './output-schema.ts'
import { withFittingBudget } from './thinking-budget.ts'
import { offeredTools } from './tool-choice.ts'
import { inputSchema } from './tool-schema.ts'

/** The wire requires a limit. */
export const MAX_TOKENS = 16_384

type Body = Anthropic.MessageCreateParamsStreaming
type Block = Anthropic.ContentBlockParam
type ContentBlock = Anthropic.TextBlockParam | Anthropic.ImageBlockParam | Anthropic.DocumentBlockParam

/**
 * The wire supports the settings `maxTokens`, `temperature`, `topP`, `topK`, `stopSequences` and `parallelToolCalls`;
 * `providerOptions` of the provider are added to the body last.
 */
export function messagesRequest(target: Target, maxTokens: number, given: ModelRequest): Body {
  const request = outgoing(given, target)
  const { settings, instructions } = request
  const { model, provider } = target
  const messages = params(request.messages.map((message) => blocksOnce(message, target)))
  return {
    model,
    max_tokens: settings.maxTokens ?? maxTokens,
    messages,
    ...(instructions !== '' && { system: instructions }),
    ...toolsOf(request, target),
    ...defined({
      temperature: settings.temperature,
      top_p: settings.topP,
      top_k: settings.topK,
      stop_sequences: settings.stopSequences && [...settings.stopSequences],
    }),
    ...withFittingBudget(target, settings, () => beginsWithThought(messages))[provider],
    ...formatOf(request, provider),
    stream: true,
  }
}

/** The messages of a history, for a loop that makes its own requests. */
export function messageParams(messages: readonly Message[], target: Target): Anthropic.MessageParam[] {
  return params(outgoingMessages(messages, target).map((message) => blocksOf(message, target)))
}

interface Param {
  role: 'user' | 'assistant'
  content: Block[]
}

/** Consecutive messages of one role become one: the results of a step belong together, before the user's message. */
function params(messages: readonly Readonly<Param>[]): Param[] {
  const params: Param[] = []
  for (const { role, content } of messages) {
    const last = params.at(-1)
    if (last?.role === role) last.content.push(...content)
    else if (content.length > 0) params.push({ role, content: [...content] })
  }
  return params
}

/** Most blocks of a request are shared with the requests of other steps, and frozen. */
const blocksOnce = onceFor(blocksOf)

function blocksOf(message: Message, { provider }: Target): Param {
  if (message.role === 'assistant') return { role: 'assistant', content: assistantBlocks(message, provider) }
  return { role: 'user', content: userBlocks(message, provider) }
}

function beginsWithThought(messages: readonly Param[]): boolean {
  const last = messages.findLastIndex(({ role }) => role === 'assistant')
  const isInTurn = messages[last + 1]?.content.some(({ type }) => type === 'tool_result') ?? true
  const [first] = messages[last]?.content ?? []
  return !isInTurn || first === undefined || isThought(first)
}

/** Keeps the user's other members of `output_config`. */
function formatOf({ output, settings }: ModelRequest, provider: string): Partial<Body> {
  const schema = output && strictSchema(output.schema)?.schema
  if (!schema) return {}
  const own = settings.providerOptions?.[provider]?.output_config
  return { output_config: { format: { type: 'json_schema', schema }, ...(isRecord(own) && own) } }
}

function toolsOf(request: ModelRequest, target: Target): Partial<Body> {
  const offer = offeredTools(request, target)
  if (offer.tools.length === 0) return {}
  return defined({
    tools: offer.tools.map((tool) => ({
      name: tool.name,
      description: tool.description,
      input_schema: { ...inputSchema(tool, target), type: 'object' as const },
    })),
    tool_choice: choiceOf(offer.toolChoice, request.settings),
  })
}

function choiceOf(toolChoice: ModelRequest['toolChoice'], settings: ModelSettings): Anthropic.ToolChoice | undefined {
  if (toolChoice === 'none') return { type: 'none' }
  const single =
    settings.parallelToolCalls === undefined ? {} : { disable_parallel_tool_use: !settings.parallelToolCalls }
  if (toolChoice === 'required') return { type: 'any', ...single }
  if (toolChoice !== 'auto') return { type: 'tool', name: toolChoice.tool, ...single }
  // `auto` is the wire's default.
  return settings.parallelToolCalls === undefined ? undefined : { type: 'auto', ...single }
}

function userBlocks(message: UserMessage | ToolMessage, provider: string): Block[] {
  if (message.role === 'tool') return [resultBlock(message, provider)]
  const { content } = message
  return contentBlocks(typeof content === 'string' ? [{ type: 'text', text: content }] : content, provider)
}

/** A message must not end with a thought, so it is sent back up to its last other block. */
function assistantBlocks({ content }: AssistantMessage, provider: string): Block[] {
  const blocks = standing(content, provider).flatMap((part) => assistantBlock(part, provider))
  return blocks.slice(0, blocks.findLastIndex((block) => !isThought(block)) + 1)
}

function isThought({ type }: Block): boolean {
  return type === 'thinking' || type === 'redacted_thinking'
}

/**
 * Returns the parts to send back. If another model continued, the API rejects the reasoning and the open calls of the
 * previous one (qA11).
 */
function standing(content: readonly AssistantPart[], provider: string): readonly AssistantPart[] {
  const last = content.findLastIndex((part) => blockOf(part, provider)?.type === 'fallback')
  return content.filter((part, i) => {
    if (i >= last || part.type === 'text') return true
    return part.type === 'tool-call' ? isRecord(part.providerResult) : blockOf(part, provider) !== undefined
  })
}

function blockOf(part: AssistantPart, provider: string): Readonly<Record<string, unknown>> | undefined {
  const { block } = metadataFor(provider, part)
  return isRecord(block) ? block : undefined
}

function assistantBlock(part: AssistantPart, provider: string): Block[] {
  if (part.type === 'text') return contentBlocks([part], provider)
  const own = metadataFor(provider, part)
  if (part.type === 'tool-call') {
    if (part.providerResult !== undefined) return providerBlocks(part, own)
    return [{ ...own, type: 'tool_use', id: part.id, name: nameOf(part), input: inputOf(part) }]
  }
  // A block that is not interpreted, or a result whose call is in an earlier message.
  if (isRecord(own.block)) return [opaque(own.block)]
  if (typeof own.data === 'string') return [{ type: 'redacted_thinking', data: own.data }]
  // Reasoning without a signature is not Anthropic's, or was truncated: the API rejects it.
  if (typeof own.signature !== 'string' || own.signature === '') return []
  return [{ type: 'thinking', thinking: part.text, signature: own.signature }]
}

/** A call that this provider ran itself, and its result if it has one, unchanged. */
function providerBlocks(call: ToolCall, own: Readonly<Record<string, unknown>>): Block[] {
  if (typeof own.type !== 'string') return []
  const block = { ...own, id: call.id, name: call.name, input: inputOf(call) }
  return isRecord(call.providerResult) ? [opaque(block), opaque(call.providerResult)] : [opaque(block)]
}

/** A block that came from this wire is valid for it. */
function opaque(block: object): Block {
  return block as Block
}

function resultBlock(message: ToolMessage, provider: string): Anthropic.ToolResultBlockParam {
  const content = contentBlocks(message.content, provider)
  return {
    type: 'tool_result',
    tool_use_id: message.callId,
    ...(content.length > 0 && { content }),
    ...(message.isError && { is_error: true }),
  }
}

/** Empty text is omitted, because the API rejects it. */
function contentBlocks(content: readonly ContentPart[], provider: string): ContentBlock[] {
  return content.flatMap((part): ContentBlock[] => {
    const own = metadataFor(provider, part)
    if (part.type === 'text') return isBlank(part.text) ? [] : [{ ...own, type: 'text', text: part.text }]
    return [{ ...own, ...fileBlock(part) }]
  })
}

function fileBlock(part: FilePart): Anthropic.ImageBlockParam | Anthropic.DocumentBlockParam {
  const { mediaType, data } = part
  if (mediaType === 'application/pdf') {
    const source: Anthropic.DocumentBlockParam['source'] =
      typeof data === 'string' ? { type: 'base64', media_type: mediaType, data } : { type: 'url', url: data.url }
    return { type: 'document', source, ...(part.filename !== undefined && { title: part.filename }) }
  }
  if (!mediaType.startsWith('image/')) return refuseFile('Anthropic Messages', part)
  if (typeof data !== 'string') return { type: 'image', source: { type: 'url', url: data.url } }
  if (!isImageType(mediaType)) return refuseFile('Anthropic Messages', part)
  return { type: 'image', source: { type: 'base64', media_type: mediaType, data } }
}

function isImageType(mediaType: string): mediaType is Anthropic.Base64ImageSource['media_type'] {
  return /^image\/(jpeg|png|gif|webp)$/.test(mediaType)
}
