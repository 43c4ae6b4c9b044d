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

/** The schema of a tool with the names of the wire, and these names in both directions. */
interface Renamed {
  readonly schema: JsonSchema
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

/** By the name of the tool. */
function renamedIn(target: Target, { tools }: ModelRequest): ReadonlyMap<string, Renamed> {
  const renamed = new Map<string, Renamed>()
  for (const tool of tools) {
    const own = renamedOf(inputSchema(tool, target))
    if (own) renamed.set(tool.name, own)
  }
  return renamed
}

/** By schema, because a tool has the same schema in every request; `null` for one that keeps its names. */
const known = new WeakMap<object, Renamed | null>()

function renamedOf(schema: Schema): Renamed | null {
  const found = known.get(schema)
  if (found !== undefined) return found
  const { properties } = schema
  const keys = isRecord(properties) ? Object.keys(properties) : []
  const wrong = keys.filter((key) => !/^[\w.-]{1,64}$/.test(key))
  const made = wrong.length === 0 ? null : renaming(schema, new Map(named(wrong, new Set(keys))))
  known.set(schema, made)
  return made
}

type Schema = Readonly<Record<string, unknown>>

/** Each of these keys with its name on the wire, which is not one of the `used` names. */
function* named(keys: readonly string[], used: Set<string>): Generator<readonly [key: string, name: string]> {
  /** How many names each word has had. */
  const counts = new Map<string, number>()
  for (const key of keys) {
    const word = (key.replaceAll(/[^\w.-]+/g, '_') || '_').slice(0, LONGEST)
    let n = counts.get(word) ?? 0
    let name: string
    do {
      n += 1
      const end = n === 1 ? '' : `_${n}`
      name = word.slice(0, LONGEST - end.length) + end
    } while (used.has(name))
    counts.set(word, n)
    used.add(name)
    yield [key, name]
  }
}

function renaming(schema: Schema, onWire: Names): Renamed {
  const { properties, required, dependentRequired, description } = schema
  const all = (keys: unknown) => (Array.isArray(keys) ? keys.map((key: unknown) => nameIn(onWire, String(key))) : keys)
  // Texts of the tool, and rules in its description, have the names of the tool.
  const said = [...onWire].map(([key, name]) => `${name} is ${JSON.stringify(key)}`).join(', ')
  const renamed = {
    ...schema,
    properties: membersNamed(properties, onWire),
    ...(required !== undefined && { required: all(required) }),
    ...(isRecord(dependentRequired) && {
      dependentRequired: Object.fromEntries(
        Object.entries(dependentRequired).map(([key, keys]) => [nameIn(onWire, key), all(keys)]),
      ),
    }),
    description: [description, `Members with other names here: ${said}.`].filter(Boolean).join('\n\n'),
  } as object as JsonSchema
  return { schema: renamed, onWire, back: new Map([...onWire].map(([key, name]) => [name, key])) }
}

function onWire(request: ModelRequest, renamed: ReadonlyMap<string, Renamed>): ModelRequest {
  if (renamed.size === 0) return request
  const tools = request.tools.map((tool) => withNames(tool, renamed.get(tool.name)))
  const messages = request.messages.map((message) => withCalls(message, renamed, 'onWire'))
  return { ...request, tools, messages }
}

function withNames(tool: ToolDefinition, renamed: Renamed | undefined): ToolDefinition {
  if (!renamed) return tool
  const { schema, onWire } = renamed
  return { ...tool, inputSchema: schema, ...(tool.needs && { needs: tool.needs.map((key) => nameIn(onWire, key)) }) }
}

function nameIn(names: Names, key: string): string {
  return names.get(key) ?? key
}

/**
 * The value with its members named like this; any value that has no members is unchanged. An input may also have a member
 * that is not in the schema: one with the new name of another is left out.
 */
function membersNamed(value: unknown, names: Names): unknown {
  if (!isRecord(value) || Array.isArray(value)) return value
  const entries = Object.entries(value)
  const taken = new Set(entries.map(([key]) => names.get(key)))
  return Object.fromEntries(
    entries
      .filter(([key]) => names.has(key) || !taken.has(key))
      .map(([key, member]) => [nameIn(names, key), member] as const),
  )
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
