/** Converts a model request to a request of OpenAI's Chat Completions API. */

import type { AssistantMessage, FilePart, Message, ModelRequest, ToolCall, UserMessage } from '@meanwhile/core'
import type OpenAI from 'openai'
import { argumentsOf, fileUrl, joinText, metadataFor, nameOf, refuseFile } from './content.ts'
import { defined } from './defined.ts'
import { isLikeOpenAI, noReasoningOf, REASONING_CONTENT, type Target } from './families.ts'
import { isRecord } from './is-record.ts'
import { onceFor } from './once.ts'
import { OPAQUE } from './opaque-data.ts'
import { isBlank, outgoing, outgoingMessages } from './outgoing.ts'
import { jsonSchemaFormat } from './output-schema.ts'
import { AUDIO_FORMATS } from './sendable-files.ts'
import { offeredTools } from './tool-choice.ts'
import { inputSchema } from './tool-schema.ts'

type Body = OpenAI.ChatCompletionCreateParamsStreaming
type Param = OpenAI.ChatCompletionMessageParam
type Part = OpenAI.ChatCompletionContentPart
type TextParam = OpenAI.ChatCompletionContentPartText

/**
 * Returns the request. The wire has no `topK`. `maxTokens` is `max_completion_tokens` for OpenAI's own API and the older
 * `max_tokens` for hosts that are known to be others. `providerOptions` of the provider are added to the body last.
 */
export function chatRequest(target: Target, given: ModelRequest): Body {
  const request = outgoing(given, target)
  const { settings, output } = request
  const { model, provider, host } = target
  const limit = isLikeOpenAI(target) ? 'max_completion_tokens' : 'max_tokens'
  return {
    model,
    messages: [...systemParams(request), ...sharedParams(request.messages, target, noReasoningOf(target, settings))],
    ...toolsOf(request, target),
    ...defined({
      [limit]: settings.maxTokens,
      temperature: settings.temperature,
      top_p: settings.topP,
      frequency_penalty: settings.frequencyPenalty,
      presence_penalty: settings.presencePenalty,
      stop: settings.stopSequences && [...settings.stopSequences],
      [host.seed ?? 'seed']: settings.seed,
    }),
    ...(output && { response_format: { type: 'json_schema' as const, json_schema: jsonSchemaFormat(output) } }),
    stream_options: { include_usage: true },
    ...settings.providerOptions?.[provider],
    stream: true,
  }
}

/** The messages of a history, for a loop that makes its own requests. */
export function chatMessages(messages: readonly Message[], target: Target): Param[] {
  return outgoingMessages(messages, target).flatMap((message) => paramOf(message, target).param ?? [])
}

/** The messages of a request. Most are shared with the requests of other steps, and frozen. */
function sharedParams(messages: readonly Message[], target: Target, unthought: string | undefined): Param[] {
  return messages.flatMap((message) => {
    const { param, isUnthought } = writtenOnce(message, target)
    if (!param) return []
    return isUnthought && unthought !== undefined ? { ...param, [REASONING_CONTENT]: unthought } : param
  })
}

/** A message as the wire has it. */
interface Written {
  /** Absent if hosts would reject the message. */
  readonly param?: Param
  /** Whether it has calls and no reasoning, which some hosts require. */
  readonly isUnthought?: boolean
}

const writtenOnce = onceFor(paramOf)

function toolsOf(request: ModelRequest, target: Target): Partial<Body> {
  const { tools, toolChoice } = offeredTools(request, target)
  if (tools.length === 0) return {}
  return defined({
    tools: tools.map((tool) => ({
      type: 'function' as const,
      function: { name: tool.name, description: tool.description, parameters: inputSchema(tool, target) },
    })),
    // `auto` is the wire's default, and not every host accepts it.
    tool_choice: toolChoice === 'auto' ? undefined : choiceOf(toolChoice),
    parallel_tool_calls: request.settings.parallelToolCalls,
  })
}

function choiceOf(choice: Exclude<ModelRequest['toolChoice'], 'auto'>): OpenAI.ChatCompletionToolChoiceOption {
  return typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.tool } }
}

function systemParams({ instructions }: ModelRequest): Param[] {
  return instructions === '' ? [] : [{ role: 'system', content: instructions }]
}

function paramOf(message: Message, target: Target): Written {
  if (message.role === 'user') return { param: userParam(message, target.provider) }
  if (message.role === 'assistant') return assistantParam(message, target)
  return { param: { role: 'tool', tool_call_id: message.callId, content: joinText(message.content, () => '') } }
}

function userParam({ content }: UserMessage, provider: string): Param {
  if (typeof content === 'string') return { role: 'user', content }
  return {
    role: 'user',
    content: content.map((part) =>
      part.type === 'text'
        ? { ...metadataFor(provider, part), type: 'text', text: part.text }
        : filePart(part, provider),
    ),
  }
}

/**
 * The order of text and calls is lost here, because a message has one text and one list of calls. A message without any
 * of the two is left out: hosts reject it, also if it has reasoning.
 */
function assistantParam({ content }: AssistantMessage, target: Target): Written {
  const { provider, host } = target
  let text = ''
  let thought = ''
  const reasoning: Record<string, string> = {}
  const extra: Record<string, unknown> = {}
  const calls: OpenAI.ChatCompletionMessageFunctionToolCall[] = []
  for (const part of content) {
    if (part.type === 'text') {
      text += part.text
      const { extra_content } = metadataFor(provider, part)
      if (extra_content !== undefined) extra.extra_content = extra_content
    } else if (part.type === 'tool-call') {
      if (part.providerResult === undefined) calls.push(callParam(part, target, calls.length === 0))
    } else {
      // Sent in the field in which it arrived: hosts whose models reason between calls require their reasoning.
      const { field, ...own } = metadataFor(provider, part)
      for (const name of OPAQUE) if (own[name] !== undefined) extra[name] = own[name]
      if (field === 'content') thought += part.text
      else if (typeof field === 'string') reasoning[field] = (reasoning[field] ?? '') + part.text
    }
  }
  const said = isBlank(text) ? '' : text
  if (said === '' && calls.length === 0) return {}
  const param = { ...reasoningParams(reasoning, extra, target), role: 'assistant' as const }
  const spoken =
    thought === '' || (host.reasoningIn && !host.isMistral) ? said : [thinkingPart(thought), ...textParts(said)]
  if (calls.length === 0) return { param: { ...param, content: spoken } }
  const isSilent = Object.values(reasoning).every((one) => one === '')
  return {
    param: { ...param, content: spoken || null, tool_calls: calls },
    isUnthought: isSilent && !OPAQUE.some((name) => name in param),
  }
}

/** A host that accepts only some members gets its reasoning in one of these, and none if it accepts none. */
function reasoningParams(
  reasoning: Readonly<Record<string, string>>,
  extra: Readonly<Record<string, unknown>>,
  { host, model }: Target,
): object {
  const { reasoningIn, reasoningOf } = host
  if (!reasoningIn) return { ...reasoning, ...extra }
  if (reasoningOf && !reasoningOf.test(model)) return {}
  const [field] = reasoningIn
  const text = Object.values(reasoning).join('')
  return field === undefined || text === '' ? {} : { [field]: text }
}

/**
 * Mistral's format, the only one in which it accepts its reasoning (qC26). It is missing in the types of OpenAI's
 * client.
 */
function thinkingPart(text: string): TextParam {
  return { type: 'thinking', thinking: textParts(text) } as object as TextParam
}

function textParts(text: string): TextParam[] {
  return text === '' ? [] : [{ type: 'text', text }]
}

function callParam(call: ToolCall, target: Target, isFirst: boolean): OpenAI.ChatCompletionMessageFunctionToolCall {
  const { function: called, ...own } = callMembers(call, target, isFirst)
  return {
    ...own,
    id: call.id,
    type: 'function',
    function: { ...(isRecord(called) && called), name: nameOf(call), arguments: argumentsOf(call) },
  }
}

/** What its provider sent with the call. Gemini needs a signature at the first call of a message. */
function callMembers(
  call: ToolCall,
  { provider, host, family }: Target,
  isFirst: boolean,
): Readonly<Record<string, unknown>> {
  // Members of a call on Responses, if the conversation has moved from there.
  const { namespace: _, caller: __, ...own } = metadataFor(provider, call)
  if (host.reasoningIn) return {}
  if (!(isFirst && host.signsCalls && family.isGemini3)) return own
  const extra = isRecord(own.extra_content) ? own.extra_content : {}
  const google = isRecord(extra.google) ? extra.google : {}
  if (typeof google.thought_signature === 'string' && google.thought_signature !== '') return own
  return { ...own, extra_content: { ...extra, google: { ...google, thought_signature: UNSIGNED } } }
}

/** Google documents this value for calls of other models. */
export const UNSIGNED = 'skip_thought_signature_validator'

function filePart(part: FilePart, provider: string): Part {
  const own = metadataFor(provider, part)
  if (part.mediaType.startsWith('image/')) {
    return { type: 'image_url', image_url: { ...own, url: fileUrl(part) } }
  }
  if (typeof part.data !== 'string') return refuseFile('OpenAI Chat', part)
  if (part.mediaType === 'application/pdf') {
    return { ...own, type: 'file', file: { filename: part.filename ?? 'document.pdf', file_data: fileUrl(part) } }
  }
  const format = AUDIO_FORMATS[part.mediaType]
  if (format) return { ...own, type: 'input_audio', input_audio: { data: part.data, format } }
  return refuseFile('OpenAI Chat', part)
}
