/**
 * Converts messages, instructions and tools to the form of the GenAI conventions for spans (`gen-ai-input-messages.json`,
 * `gen-ai-output-messages.json`, `gen-ai-system-instructions.json`, `gen-ai-tool-definitions.json`).
 */

import type {
  AssistantMessage,
  AssistantPart,
  ContentPart,
  FilePart,
  FinishReason,
  Message,
  ToolCall,
  ToolMessage,
} from '../vocabulary/message.ts'
import type { ModelRequest, ToolDefinition } from '../vocabulary/model.ts'
import type { ListForm } from './bounded-json.ts'
import type { SemanticAttributes } from './semconv.ts'

/** The content of a model request, or of the beginning of a run. */
export function contentsOfRequest({ instructions, messages, tools = [] }: Asked): Contents {
  return {
    'gen_ai.system_instructions': () => (instructions ? [text(instructions)] : undefined),
    'gen_ai.input.messages': () => messages.map((message) => ({ role: message.role, parts: partsOf(message) })),
    'gen_ai.tool.definitions': () => (tools.length > 0 ? tools.map(toolJson) : undefined),
  }
}

type Asked = Pick<ModelRequest, 'instructions' | 'messages'> & { readonly tools?: readonly ToolDefinition[] }

/** The content of the answer of a model or a run. A tool's result has no finish reason itself. */
export function contentsOfAnswer(
  message: AssistantMessage | ToolMessage,
  reason: FinishReason = message.role === 'tool' ? 'other' : message.finishReason,
): Contents {
  const finish_reason = FINISH_REASONS[reason] ?? reason
  // The member that may have to be cut comes last.
  const output = () => [{ role: message.role, finish_reason, parts: partsOf(message) }]
  return { 'gen_ai.output.messages': () => (message.content.length > 0 ? output() : undefined) }
}

const PARTS: ListForm = { keeps: 'first', omitted: (count) => text(`${count} further parts left out`) }

const MESSAGES: ListForm = {
  keeps: 'last',
  lists: new Map([['parts', PARTS]]),
  omitted: (count) => ({ role: 'system', parts: [text(`${count} earlier messages left out`)] }),
}

/** A definition that does not fit keeps only its name, because half a schema is not a schema. */
const DEFINITIONS: ListForm = {
  keeps: 'first',
  omitted: (count) => ({ type: 'omitted', name: `${count} further tools left out` }),
  brief: (tool) => {
    const { type, name } = Object(tool)
    return { type, name }
  },
}

/** How these attributes keep the form of the conventions if they do not fit. */
export const LIST_FORMS: ReadonlyMap<string, ListForm> = new Map([
  ['gen_ai.input.messages', MESSAGES],
  ['gen_ai.output.messages', MESSAGES],
  ['gen_ai.tool.definitions', DEFINITIONS],
] satisfies [keyof SemanticAttributes, ListForm][])

function toolJson({ name, description, inputSchema }: ToolDefinition): unknown {
  return { type: 'function', name, description, parameters: inputSchema }
}

const FINISH_REASONS: { readonly [Reason in FinishReason]?: string } = {
  'tool-calls': 'tool_call',
  'content-filter': 'content_filter',
}

function partsOf(message: Message): unknown[] {
  if (typeof message.content === 'string') return [text(message.content)]
  if (message.role === 'tool')
    return [{ type: 'tool_call_response', id: message.callId, response: responseOf(message.content) }]
  return message.content.flatMap((part) => (part.type === 'tool-call' ? callJson(part) : partJson(part)))
}

/** A provider's own tool has its call and its result in one part of our format. */
function callJson({ id, name, input, providerResult }: ToolCall): unknown[] {
  if (providerResult === undefined) return [{ type: 'tool_call', id, name, arguments: input }]
  return [
    { type: 'server_tool_call', id, name, server_tool_call: { type: name, arguments: input } },
    { type: 'server_tool_call_response', id, server_tool_call_response: { type: name, result: providerResult } },
  ]
}

function partJson(part: ContentPart | Exclude<AssistantPart, ToolCall>): unknown {
  if (part.type === 'file') return fileJson(part)
  return part.type === 'text' ? text(part.text) : { type: 'reasoning', content: part.text }
}

/** The bytes of a file are not recorded. */
function fileJson({ mediaType, data }: FilePart): unknown {
  const kind = mediaType.split('/')[0] ?? ''
  const about = { mime_type: mediaType, modality: ['image', 'video', 'audio'].includes(kind) ? kind : 'document' }
  if (typeof data === 'object' && !data.url.startsWith('data:')) return { type: 'uri', ...about, uri: data.url }
  return { type: 'blob', ...about, content: '' }
}

function responseOf(content: readonly ContentPart[]): unknown {
  if (content.every((part) => part.type === 'text')) return content.map((part) => part.text).join('')
  return content.map(partJson)
}

function text(content: string): unknown {
  return { type: 'text', content }
}

/** Attributes with a function that returns their value. `undefined` means that there is none. */
export type Contents = { readonly [Name in keyof SemanticAttributes]?: () => unknown }
