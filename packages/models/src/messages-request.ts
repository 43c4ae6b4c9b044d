/** Converts a model request to a request of Anthropic's Messages API. */

import type Anthropic from '@anthropic-ai/sdk'
import type {
  AssistantPart,
  ContentPart,
  FilePart,
  Message,
  ModelRequest,
  ToolCall,
  ToolMessage,
} from '@meanwhile/core'
import { metadataFor, nameOf, refuseFile } from './content.ts'
import { defined } from './defined.ts'
import { isRecord } from './is-record.ts'
import { strictSchema } from './output-schema.ts'

type Body = Anthropic.MessageCreateParamsStreaming
type Block = Anthropic.ContentBlockParam
type ContentBlock = Anthropic.TextBlockParam | Anthropic.ImageBlockParam | Anthropic.DocumentBlockParam

/**
 * The wire supports the settings `maxTokens`, `temperature`, `topP`, `topK`, `stopSequences` and `parallelToolCalls`;
 * `providerOptions` of the provider are added to the body last.
 */
export function messagesRequest(model: string, provider: string, maxTokens: number, request: ModelRequest): Body {
  const { settings, instructions } = request
  return {
    model,
    max_tokens: settings.maxTokens ?? maxTokens,
    messages: messageParams(request.messages, provider),
    ...(instructions !== '' && { system: instructions }),
    ...toolsOf(request),
    ...defined({
      temperature: settings.temperature,
      top_p: settings.topP,
      top_k: settings.topK,
      stop_sequences: settings.stopSequences && [...settings.stopSequences],
    }),
    ...settings.providerOptions?.[provider],
    ...formatOf(request, provider),
    stream: true,
  }
}

/** Consecutive messages of one role become one: the results of a step belong together, before the user's message. */
export function messageParams(messages: readonly Message[], provider: string): Anthropic.MessageParam[] {
  const params: { role: 'user' | 'assistant'; content: Block[] }[] = []
  for (const message of messages) {
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const blocks = blocksOf(message, provider)
    const last = params.at(-1)
    if (last?.role === role) last.content.push(...blocks)
    else if (blocks.length > 0) params.push({ role, content: blocks })
  }
  return params
}

/** Keeps the user's other members of `output_config`. */
function formatOf({ output, settings }: ModelRequest, provider: string): Partial<Body> {
  const schema = output && strictSchema(output.schema)?.schema
  if (!schema) return {}
  const own = settings.providerOptions?.[provider]?.output_config
  return { output_config: { format: { type: 'json_schema', schema }, ...(isRecord(own) && own) } }
}

function toolsOf(request: ModelRequest): Partial<Body> {
  if (request.tools.length === 0) return {}
  return defined({
    tools: request.tools.map((tool) => ({
      name: tool.name,
      description: tool.description,
      input_schema: { ...tool.inputSchema, type: 'object' as const },
    })),
    tool_choice: choiceOf(request),
  })
}

function choiceOf({ toolChoice, settings }: ModelRequest): Anthropic.ToolChoice | undefined {
  if (toolChoice === 'none') return { type: 'none' }
  const single =
    settings.parallelToolCalls === undefined ? {} : { disable_parallel_tool_use: !settings.parallelToolCalls }
  if (toolChoice === 'required') return { type: 'any', ...single }
  if (toolChoice !== 'auto') return { type: 'tool', name: toolChoice.tool, ...single }
  // `auto` is the wire's default.
  return settings.parallelToolCalls === undefined ? undefined : { type: 'auto', ...single }
}

function blocksOf(message: Message, provider: string): Block[] {
  if (message.role === 'assistant') {
    return standing(message.content, provider).flatMap((part) => assistantBlock(part, provider))
  }
  if (message.role === 'tool') return [resultBlock(message, provider)]
  const { content } = message
  return contentBlocks(typeof content === 'string' ? [{ type: 'text', text: content }] : content, provider)
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
  if (typeof own.signature !== 'string') return []
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

/** The wire requires an object: any other value, such as arguments that are not JSON, is sent as `{ arguments: … }`. */
function inputOf({ input }: ToolCall): object {
  return isRecord(input) && !Array.isArray(input) ? input : { arguments: input }
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
    if (part.type === 'text') return part.text.trim() === '' ? [] : [{ ...own, type: 'text', text: part.text }]
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
