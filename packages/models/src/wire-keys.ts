/**
 * Renames members of inputs whose names Anthropic's API rejects (`$top`, `filter[id]`), and names them back in the
 * response: only the wire has the other names.
 */

import {
  type AssistantMessage,
  close,
  type Flow,
  type JsonSchema,
  type Message,
  type ModelEvent,
  type ModelRequest,
  type ToolCall,
  type ToolDefinition,
} from '@meanwhile/core'
import type { Target } from './families.ts'
import { isRecord } from './is-record.ts'
import { inputSchema } from './tool-schema.ts'

type Names = ReadonlyMap<string, string>

/** The names of a tool's members on the wire, and back. */
interface Renamed {
  /** The schema with its own names. */
  readonly schema: Readonly<Record<string, unknown>>
  readonly onWire: Names
  readonly back: Names
}

const LONGEST = 64

/** Sends the request with names that the API accepts. A request without other names is sent unchanged. */
export function withWireKeys(
  target: Target,
  request: ModelRequest,
  send: (request: ModelRequest) => Flow<ModelEvent, AssistantMessage>,
): Flow<ModelEvent, AssistantMessage> {
  const renamed = renamedIn(target, request)
  return renamed.size === 0 ? send(request) : namedBack(send(onWire(request, renamed)), renamed)
}

/** The request with names that the API accepts. */
export function withWireNames(target: Target, request: ModelRequest): ModelRequest {
  return onWire(request, renamedIn(target, request))
}

function renamedIn(target: Target, { tools }: ModelRequest): ReadonlyMap<string, Renamed> {
  const renamed = new Map<string, Renamed>()
  for (const tool of tools) {
    const schema = inputSchema(tool, target)
    const keys = isRecord(schema.properties) ? Object.keys(schema.properties) : []
    const wrong = keys.filter((key) => !/^[\w.-]{1,64}$/.test(key))
    if (wrong.length === 0) continue
    const used = new Set(keys)
    const onWire = new Map(wrong.map((key) => [key, unused(key, used)]))
    const back = new Map([...onWire].map(([key, name]) => [name, key]))
    renamed.set(tool.name, { schema, onWire, back })
  }
  return renamed
}

function onWire(request: ModelRequest, renamed: ReadonlyMap<string, Renamed>): ModelRequest {
  if (renamed.size === 0) return request
  const tools = request.tools.map((tool) => withNames(tool, renamed.get(tool.name)))
  const messages = request.messages.map((message) => withCalls(message, renamed, 'onWire'))
  return { ...request, tools, messages }
}

function unused(key: string, used: Set<string>): string {
  const word = key.replaceAll(/[^\w.-]+/g, '_').slice(0, LONGEST - 4) || '_'
  let name = word
  for (let n = 2; used.has(name); n++) name = `${word}_${n}`
  used.add(name)
  return name
}

function withNames(tool: ToolDefinition, renamed: Renamed | undefined): ToolDefinition {
  if (!renamed) return tool
  const { schema, onWire } = renamed
  const { properties, required } = schema
  const inputSchema = {
    ...schema,
    properties: membersNamed(properties, onWire),
    ...(Array.isArray(required) && { required: required.map((key: unknown) => nameIn(onWire, String(key))) }),
  } as object as JsonSchema
  return { ...tool, inputSchema, ...(tool.needs && { needs: tool.needs.map((key) => nameIn(onWire, key)) }) }
}

function nameIn(names: Names, key: string): string {
  return names.get(key) ?? key
}

/** The value with its members named like this; any value that has no members is unchanged. */
function membersNamed(value: unknown, names: Names): unknown {
  if (!isRecord(value) || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [nameIn(names, key), member]))
}

type Direction = 'onWire' | 'back'

function withCalls<Given extends Message>(message: Given, renamed: ReadonlyMap<string, Renamed>, to: Direction): Given {
  if (message.role !== 'assistant') return message
  const content = message.content.map((part) => (part.type === 'tool-call' ? withKeys(part, renamed, to) : part))
  return content.every((part, i) => part === message.content[i]) ? message : { ...message, content }
}

function withKeys(call: ToolCall, renamed: ReadonlyMap<string, Renamed>, to: Direction): ToolCall {
  const names = renamed.get(call.name)?.[to]
  return names && isRecord(call.input) ? { ...call, input: membersNamed(call.input, names) } : call
}

/** Deltas of such a call have names of the wire, so they are replaced by one delta when the call is whole. */
async function* namedBack(
  flow: Flow<ModelEvent, AssistantMessage>,
  renamed: ReadonlyMap<string, Renamed>,
): Flow<ModelEvent, AssistantMessage> {
  /** The calls with renamed members. */
  const waiting = new Map<string, Names>()
  const told = new Set<string>()
  try {
    for (;;) {
      const { done, value } = await flow.next()
      if (done) return withCalls(value, renamed, 'back')
      if (value.type === 'tool-input-start') {
        const names = renamed.get(value.name)?.back
        if (names) waiting.set(value.id, names)
      }
      if (value.type === 'tool-input-ready') {
        const names = waiting.get(value.id)
        yield names ? { ...value, input: membersNamed(value.input, names) as object as typeof value.input } : value
      } else if (value.type === 'tool-input-closed' || value.type === 'tool-call') {
        const call = withKeys(value.call, renamed, 'back')
        if (waiting.has(call.id) && !told.has(call.id)) {
          told.add(call.id)
          const delta = typeof call.input === 'string' ? call.input : JSON.stringify(call.input)
          if (delta !== '') yield { type: 'tool-input-delta', id: call.id, delta }
        }
        yield { ...value, call }
      } else if (!(value.type === 'tool-input-delta' && waiting.has(value.id))) yield value
    }
  } finally {
    await close(flow)
  }
}
