/** Converts a model request to a request of OpenAI's Responses API. */

import type { AssistantMessage, ContentPart, Message, ModelRequest, ToolCall, ToolMessage } from '@meanwhile/core'
import type OpenAI from 'openai'
import { argumentsOf, fileUrl, joinText, metadataFor, nameOf, refuseFile } from './content.ts'
import { defined } from './defined.ts'
import { isRecord } from './is-record.ts'
import { jsonSchemaFormat } from './output-schema.ts'
import { isOpaque } from './responses-content.ts'

type Body = OpenAI.Responses.ResponseCreateParamsStreaming
type Item = OpenAI.Responses.ResponseInputItem

/** OpenAI's models that do not reason. They reject a request for encrypted reasoning. */
const DOES_NOT_REASON = /(^|\/)(gpt-[34]|chatgpt|gpt-5[\d.]*-chat)/

/**
 * Every request contains the whole history, so nothing is stored at the provider (`store: false`), and the model's
 * reasoning is sent encrypted in both directions. The wire supports the settings `maxTokens`, `temperature`, `topP` and
 * `parallelToolCalls`; `providerOptions` of the provider are added to the body last.
 */
export function responsesRequest(model: string, provider: string, request: ModelRequest): Body {
  const { settings, instructions } = request
  return {
    model,
    input: inputItems(request.messages, provider),
    ...(instructions !== '' && { instructions }),
    ...toolsOf(request),
    ...defined({
      max_output_tokens: settings.maxTokens,
      temperature: settings.temperature,
      top_p: settings.topP,
    }),
    store: false,
    ...(!DOES_NOT_REASON.test(model) && { include: ['reasoning.encrypted_content' as const] }),
    ...settings.providerOptions?.[provider],
    ...formatOf(request, provider),
    stream: true,
  }
}

export function inputItems(messages: readonly Message[], provider: string): Item[] {
  return messages.flatMap((message): Item[] => {
    if (message.role === 'assistant') return assistantItems(message, provider)
    if (message.role === 'tool') return [resultItem(message, provider)]
    const { content } = message
    return [{ role: 'user', content: typeof content === 'string' ? content : partsOf(content, provider) }]
  })
}

/** Keeps the user's other members of `text`. */
function formatOf({ output, settings }: ModelRequest, provider: string): Partial<Body> {
  if (!output) return {}
  const own = settings.providerOptions?.[provider]?.text
  return { text: { format: { type: 'json_schema', ...jsonSchemaFormat(output) }, ...(isRecord(own) && own) } }
}

function toolsOf({ tools, toolChoice, settings }: ModelRequest): Partial<Body> {
  if (tools.length === 0) return {}
  return defined({
    tools: tools.map((tool) => ({
      type: 'function' as const,
      name: tool.name,
      description: tool.description,
      parameters: tool.inputSchema,
      // The wire's own default is strict, which not every schema supports.
      strict: false,
    })),
    tool_choice: toolChoice === 'auto' ? undefined : choiceOf(toolChoice),
    parallel_tool_calls: settings.parallelToolCalls,
  })
}

function choiceOf(choice: Exclude<ModelRequest['toolChoice'], 'auto'>): NonNullable<Body['tool_choice']> {
  return typeof choice === 'string' ? choice : { type: 'function', name: choice.tool }
}

function assistantItems({ content }: AssistantMessage, provider: string): Item[] {
  return content.flatMap((part): Item[] => {
    if (part.type === 'text') {
      return part.text === '' ? [] : [{ ...metadataFor(provider, part), role: 'assistant', content: part.text }]
    }
    if (part.type === 'reasoning') {
      const item = metadataFor(provider, part)
      return goesBack(item) ? [item] : []
    }
    if (part.providerResult !== undefined) return ownItem(part, provider)
    const { namespace, caller } = metadataFor(provider, part)
    const own: Readonly<Record<string, unknown>> = defined({ namespace, caller })
    return [{ ...own, type: 'function_call', call_id: part.id, name: nameOf(part), arguments: argumentsOf(part) }]
  })
}

/** The item of a call that this provider ran itself, unchanged. */
function ownItem(call: ToolCall, provider: string): Item[] {
  const { type } = metadataFor(provider, call)
  const item = call.providerResult
  return type !== undefined && isRecord(item) && item.type === type ? [item as object as Item] : []
}

/**
 * Whether an item is sent back unchanged. A reasoning item is, if it contains more than an id, which is unknown when
 * nothing is stored.
 */
function goesBack(item: object): item is Item {
  if (isOpaque(item)) return true
  if (!('type' in item && item.type === 'reasoning')) return false
  return ('encrypted_content' in item && !!item.encrypted_content) || ('content' in item && !!item.content)
}

function resultItem({ callId, content }: ToolMessage, provider: string): Item {
  const onlyText = content.every((part) => part.type === 'text')
  const output = onlyText ? joinText(content, () => '') : partsOf(content, provider)
  return { type: 'function_call_output', call_id: callId, output }
}

function partsOf(content: readonly ContentPart[], provider: string): OpenAI.Responses.ResponseInputMessageContentList {
  return content.map((part) => {
    const own = metadataFor(provider, part)
    if (part.type === 'text') return { ...own, type: 'input_text', text: part.text }
    if (part.mediaType.startsWith('image/')) {
      return { detail: 'auto', ...own, type: 'input_image', image_url: fileUrl(part) }
    }
    if (part.mediaType !== 'application/pdf') return refuseFile('OpenAI Responses', part)
    const file = typeof part.data === 'string' ? { file_data: fileUrl(part) } : { file_url: part.data.url }
    return { ...own, type: 'input_file', filename: part.filename ?? 'document.pdf', ...file }
  })
}
