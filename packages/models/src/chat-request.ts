/** Converts a model request to a request of OpenAI's Chat Completions API. */

import type { AssistantMessage, FilePart, Message, ModelRequest, ToolCall, UserMessage } from '@meanwhile/core'
import type OpenAI from 'openai'
import { argumentsOf, fileUrl, joinText, metadataFor, nameOf, refuseFile } from './content.ts'
import { defined } from './defined.ts'
import { isRecord } from './is-record.ts'
import { OPAQUE } from './opaque-data.ts'
import { jsonSchemaFormat } from './output-schema.ts'
import { filesAfterResults } from './result-files.ts'

type Body = OpenAI.ChatCompletionCreateParamsStreaming
type Param = OpenAI.ChatCompletionMessageParam
type Part = OpenAI.ChatCompletionContentPart
type TextParam = OpenAI.ChatCompletionContentPartText

/**
 * Returns the request. The wire has no `topK`. `maxTokens` is `max_completion_tokens` for OpenAI's own models and the
 * older `max_tokens` for others. `providerOptions` of the provider are added to the body last.
 */
export function chatRequest(model: string, provider: string, request: ModelRequest): Body {
  const { settings, output } = request
  const limit = /^(openai|azure)/.test(provider) ? 'max_completion_tokens' : 'max_tokens'
  return {
    model,
    messages: [...systemParams(request), ...chatMessages(request.messages, provider)],
    ...toolsOf(request),
    ...defined({
      [limit]: settings.maxTokens,
      temperature: settings.temperature,
      top_p: settings.topP,
      frequency_penalty: settings.frequencyPenalty,
      presence_penalty: settings.presencePenalty,
      stop: settings.stopSequences && [...settings.stopSequences],
      seed: settings.seed,
    }),
    ...(output && { response_format: { type: 'json_schema' as const, json_schema: jsonSchemaFormat(output) } }),
    stream_options: { include_usage: true },
    ...settings.providerOptions?.[provider],
    stream: true,
  }
}

export function chatMessages(messages: readonly Message[], provider: string): Param[] {
  return filesAfterResults(messages).map((message) => paramOf(message, provider))
}

function toolsOf({ tools, toolChoice, settings }: ModelRequest): Partial<Body> {
  if (tools.length === 0) return {}
  return defined({
    tools: tools.map((tool) => ({
      type: 'function' as const,
      function: { name: tool.name, description: tool.description, parameters: tool.inputSchema },
    })),
    // `auto` is the wire's default, and not every host accepts it.
    tool_choice: toolChoice === 'auto' ? undefined : choiceOf(toolChoice),
    parallel_tool_calls: settings.parallelToolCalls,
  })
}

function choiceOf(choice: Exclude<ModelRequest['toolChoice'], 'auto'>): OpenAI.ChatCompletionToolChoiceOption {
  return typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.tool } }
}

function systemParams({ instructions }: ModelRequest): Param[] {
  return instructions === '' ? [] : [{ role: 'system', content: instructions }]
}

function paramOf(message: Message, provider: string): Param {
  if (message.role === 'user') return userParam(message, provider)
  if (message.role === 'assistant') return assistantParam(message, provider)
  return { role: 'tool', tool_call_id: message.callId, content: joinText(message.content, () => '') }
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

/** The order of text and calls is lost here, because a message has one text and one list of calls. */
function assistantParam({ content }: AssistantMessage, provider: string): Param {
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
      if (part.providerResult === undefined) calls.push(callParam(part, provider))
    } else {
      // Sent in the field in which it arrived: hosts whose models reason between calls require their reasoning.
      const { field, ...own } = metadataFor(provider, part)
      for (const name of OPAQUE) if (own[name] !== undefined) extra[name] = own[name]
      if (field === 'content') thought += part.text
      else if (typeof field === 'string') reasoning[field] = (reasoning[field] ?? '') + part.text
    }
  }
  const param = { ...reasoning, ...extra, role: 'assistant' as const }
  const spoken = thought === '' ? text : [thinkingPart(thought), ...textParts(text)]
  return calls.length === 0 ? { ...param, content: spoken } : { ...param, content: spoken || null, tool_calls: calls }
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

function callParam(call: ToolCall, provider: string): OpenAI.ChatCompletionMessageFunctionToolCall {
  const { function: called, ...own } = metadataFor(provider, call)
  return {
    ...own,
    id: call.id,
    type: 'function',
    function: { ...(isRecord(called) && called), name: nameOf(call), arguments: argumentsOf(call) },
  }
}

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

const AUDIO_FORMATS: Readonly<Record<string, 'wav' | 'mp3'>> = {
  'audio/wav': 'wav',
  'audio/x-wav': 'wav',
  'audio/mpeg': 'mp3',
  'audio/mp3': 'mp3',
}
