/** Converts a model request to a request of OpenAI's Responses API. */

import type {
  AssistantMessage,
  AssistantPart,
  ContentPart,
  Message,
  ModelRequest,
  ToolCall,
  ToolMessage,
} from '@meanwhile/core'
import type OpenAI from 'openai'
import { argumentsOf, fileUrl, joinText, metadataFor, nameOf, refuseFile } from './content.ts'
import { defined } from './defined.ts'
import type { Target } from './families.ts'
import { isRecord } from './is-record.ts'
import { onceFor } from './once.ts'
import { isBlank, outgoing, outgoingMessages } from './outgoing.ts'
import { jsonSchemaFormat } from './output-schema.ts'
import { isOpaque } from './responses-content.ts'
import { offeredTools } from './tool-choice.ts'
import { inputSchema } from './tool-schema.ts'

type Body = OpenAI.Responses.ResponseCreateParamsStreaming
type Item = OpenAI.Responses.ResponseInputItem

/**
 * Every request contains the whole history, so nothing is stored at the provider (`store: false`), and the model's
 * reasoning is sent encrypted in both directions. The wire supports the settings `maxTokens`, `temperature`, `topP` and
 * `parallelToolCalls`; `providerOptions` of the provider are added to the body last.
 */
export function responsesRequest(target: Target, given: ModelRequest): Body {
  const request = outgoing(given, target)
  const { settings, instructions } = request
  const { model, provider, family } = target
  return {
    model,
    input: sharedItems(request.messages, target),
    ...(instructions !== '' && { instructions }),
    ...toolsOf(request, target),
    ...defined({
      max_output_tokens: settings.maxTokens,
      temperature: settings.temperature,
      top_p: settings.topP,
    }),
    store: false,
    ...(!family.neverReasons && { include: ['reasoning.encrypted_content' as const] }),
    ...settings.providerOptions?.[provider],
    ...formatOf(request, provider),
    stream: true,
  }
}

/** The items of a history, for a loop that makes its own requests. */
export function inputItems(messages: readonly Message[], target: Target): Item[] {
  return withIdsOnce(outgoingMessages(messages, target).flatMap((message) => itemsOf(message, target)))
}

/** The items of a request. Most are shared with the requests of other steps, and frozen. */
function sharedItems(messages: readonly Message[], target: Target): Item[] {
  return withIdsOnce(messages.flatMap((message) => itemsOnce(message, target)))
}

const itemsOnce = onceFor(itemsOf)

function itemsOf(message: Message, target: Target): Item[] {
  if (message.role === 'assistant') return assistantItems(message, target)
  if (message.role === 'tool') return [resultItem(message, target.provider)]
  const { content } = message
  return [{ role: 'user', content: typeof content === 'string' ? content : partsOf(content, target.provider) }]
}

/** The API rejects an id of reasoning that comes twice. */
function withIdsOnce(items: readonly Item[]): Item[] {
  const ids = new Set<string>()
  return items.map((item) => {
    if (item.type !== 'reasoning' || item.id === undefined) return item
    if (ids.size < ids.add(item.id).size) return item
    const { id: _, ...rest } = item
    return rest as object as Item
  })
}

/** Keeps the user's other members of `text`. */
function formatOf({ output, settings }: ModelRequest, provider: string): Partial<Body> {
  if (!output) return {}
  const own = settings.providerOptions?.[provider]?.text
  return { text: { format: { type: 'json_schema', ...jsonSchemaFormat(output) }, ...(isRecord(own) && own) } }
}

function toolsOf(request: ModelRequest, target: Target): Partial<Body> {
  const { tools, toolChoice } = offeredTools(request, target)
  if (tools.length === 0) return {}
  return defined({
    tools: tools.map((tool) => ({
      type: 'function' as const,
      name: tool.name,
      description: tool.description,
      parameters: inputSchema(tool, target),
      // The wire's own default is strict, which not every schema supports.
      strict: false,
    })),
    tool_choice: toolChoice === 'auto' ? undefined : choiceOf(toolChoice),
    parallel_tool_calls: request.settings.parallelToolCalls,
  })
}

function choiceOf(choice: Exclude<ModelRequest['toolChoice'], 'auto'>): NonNullable<Body['tool_choice']> {
  return typeof choice === 'string' ? choice : { type: 'function', name: choice.tool }
}

/** Reasoning must be followed by what it led to, so a message is sent back up to its last other item. */
function assistantItems({ content }: AssistantMessage, target: Target): Item[] {
  const items = content.flatMap((part) => partItems(part, target))
  return items.slice(0, items.findLastIndex((item) => item.type !== 'reasoning') + 1)
}

function partItems(part: AssistantPart, target: Target): Item[] {
  const own = metadataFor(target.provider, part)
  if (part.type === 'text') {
    if (isBlank(part.text)) return []
    return [{ ...defined({ phase: own.phase as Phase }), role: 'assistant', content: part.text }]
  }
  if (part.type === 'reasoning') return isOpaque(own) ? [own as object as Item] : reasoningItems(own, target)
  if (part.providerResult !== undefined) return ownItem(part, target.provider)
  const { namespace, caller } = own
  const members: Readonly<Record<string, unknown>> = defined({ namespace, caller })
  return [{ ...members, type: 'function_call', call_id: part.id, name: nameOf(part), arguments: argumentsOf(part) }]
}

type Phase = OpenAI.Responses.EasyInputMessage['phase']

/**
 * The reasoning item, without members that only an output has. It goes back if it contains more than an id, which is
 * unknown when nothing is stored: encrypted content, or on hosts other than OpenAI's its text.
 */
function reasoningItems(
  { type, id, summary, encrypted_content: encrypted, content }: Readonly<Record<string, unknown>>,
  { host, family }: Target,
): Item[] {
  const isEncrypted = typeof encrypted === 'string' && encrypted !== ''
  const text = Array.isArray(content) && content.length > 0 ? content : undefined
  if (type !== 'reasoning' || family.neverReasons || !(isEncrypted || (text && !host.isOpenAI))) return []
  const isId = typeof id === 'string' && (host.isOpenAI ? id.startsWith('rs') : id !== '')
  const item = {
    type: 'reasoning',
    ...(isId && { id }),
    summary: Array.isArray(summary) ? (summary as readonly unknown[]) : [],
    ...(isEncrypted && { encrypted_content: encrypted }),
    ...(text && { content: text }),
  }
  return [item as object as Item]
}

/** The item of a call that this provider ran itself, unchanged; a function call and its result are two items. */
function ownItem(call: ToolCall, provider: string): Item[] {
  const { type } = metadataFor(provider, call)
  const item = call.providerResult
  if (type === 'function_call' && isRecord(item) && typeof item.call_id === 'string') {
    const called: Item = { type, call_id: item.call_id, name: nameOf(call), arguments: argumentsOf(call) }
    return [called, item as object as Item]
  }
  return type !== undefined && isRecord(item) && item.type === type ? [item as object as Item] : []
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
