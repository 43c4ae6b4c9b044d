/** Reads a request of any wire into the same parts, once, for all rules. */

import { isRecord } from '@meanwhile/core/calls'
import type { WireName } from '../wires/wire-name.ts'
import type { Host } from './hosts.ts'
import { type Trait, traitsOf } from './models.ts'
import { type SchemaNode, schemaNodes } from './schema-walk.ts'
import { isText, list, type Members, members } from './values.ts'

/** A request, in parts. All lists are in the order of the request. */
export interface Reading {
  readonly wire: WireName
  readonly host: Host
  readonly model: string
  readonly traits: ReadonlySet<Trait>
  readonly body: Members
  /** The betas that the request asks for; undefined if its headers are not known. */
  readonly betas: readonly string[] | undefined
  /** Messages; on Responses the items of the input. */
  readonly entries: readonly Entry[]
  /** The parts of the contents; on Messages a content that is text is one part, and parts of results are `inner`. */
  readonly parts: readonly Part[]
  readonly calls: readonly Call[]
  readonly results: readonly Result[]
  /** The functions that the request declares. */
  readonly tools: readonly Tool[]
  /** The schemas of the functions, then that of the structured output. */
  readonly schemas: readonly DeclaredSchema[]
}

interface Place {
  readonly path: string
}

export interface Entry extends Place {
  readonly index: number
  readonly value: Members
  readonly role: unknown
  /** On Responses the type of the item; an item with a role is a message. */
  readonly type: unknown
  readonly calls: readonly Call[]
  readonly parts: readonly Part[]
}

export interface Part extends Place {
  readonly value: Members
  readonly type: unknown
  readonly entry: Entry
  /** The member of the entry that has it. */
  readonly field: string
  /** Whether it is in a tool's result. */
  readonly inner: boolean
}

export interface Call extends Place {
  readonly id: unknown
  readonly name: unknown
  /** JSON text on the wires of OpenAI, a value on Messages. */
  readonly input: unknown
}

export interface Result extends Place {
  readonly id: unknown
  readonly value: Members
  readonly entry: Entry
}

export interface Tool extends Place {
  readonly value: Members
  readonly name: unknown
}

export interface DeclaredSchema extends Place {
  readonly name: unknown
  readonly what: 'function' | 'response_format'
  readonly strict: boolean
  readonly schema: unknown
  /** The schema and every schema in it. */
  readonly nodes: readonly SchemaNode[]
}

/** What a body has, by wire. */
interface Pieces {
  readonly entries: readonly Entry[]
  readonly results: readonly Result[]
  readonly tools: readonly Tool[]
  readonly schemas: readonly DeclaredSchema[]
}

const READERS: Readonly<Record<WireName, (body: Members) => Pieces>> = {
  'openai-chat': readChat,
  'openai-responses': readResponses,
  anthropic: readMessages,
}

/** The headers of a request, by lower-case name. */
export type RequestHeaders = Readonly<Record<string, string>>

export function readRequest(wire: WireName, body: Members, host: Host, headers?: RequestHeaders): Reading {
  const model = isText(body.model) ? body.model.slice(0, 200) : ''
  const pieces = READERS[wire](body)
  return {
    wire,
    host,
    model,
    traits: traitsOf(model),
    body,
    betas: headers && [...(headers['anthropic-beta'] ?? '').split(/\s*,\s*/), ...list(body.betas).filter(isText)],
    ...pieces,
    parts: pieces.entries.flatMap((entry) => entry.parts),
    calls: pieces.entries.flatMap((entry) => entry.calls),
  }
}

function readChat(body: Members): Pieces {
  const entries = list(body.messages).map((message, index) => {
    const value = members(message)
    const path = `messages[${index}]`
    const calls = list(value.tool_calls).map((one, k) => {
      const call = members(one)
      const of = members(call.function)
      return { path: `${path}.tool_calls[${k}]`, id: call.id, name: of.name, input: of.arguments }
    })
    return entry({ path, index, value, role: value.role, type: undefined, calls }, ['content'])
  })
  const functions = list(body.tools).flatMap((one, i) => {
    const tool = members(one)
    return tool.type === 'function' ? [{ path: `tools[${i}].function`, value: members(tool.function) }] : []
  })
  const format = members(members(body.response_format).json_schema)
  return {
    entries,
    results: entries
      .filter(({ role }) => role === 'tool')
      .map((one) => ({ path: one.path, id: one.value.tool_call_id, value: one.value, entry: one })),
    tools: functions.map(named),
    schemas: [
      ...parametersOf(functions),
      ...(isRecord(format.schema) ? [declared('response_format.json_schema.schema', format, format.schema)] : []),
    ],
  }
}

function readResponses(body: Members): Pieces {
  const entries = list(body.input).map((item, index) => {
    const value = members(item)
    const path = `input[${index}]`
    const type = value.type ?? (value.role === undefined ? undefined : 'message')
    const call = { path, id: value.call_id, name: value.name, input: value.arguments }
    const calls = type === 'function_call' ? [call] : []
    return entry({ path, index, value, role: value.role, type, calls }, ['content', 'output'])
  })
  const functions = list(body.tools).flatMap((one, i) => {
    const value = members(one)
    return value.type === 'function' ? [{ path: `tools[${i}]`, value }] : []
  })
  const format = members(members(body.text).format)
  return {
    entries,
    results: entries
      .filter(({ type }) => type === 'function_call_output')
      .map((one) => ({ path: one.path, id: one.value.call_id, value: one.value, entry: one })),
    tools: functions.map(named),
    schemas: [
      ...parametersOf(functions),
      ...(format.type === 'json_schema' ? [declared('text.format.schema', format, format.schema)] : []),
    ],
  }
}

function readMessages(body: Members): Pieces {
  const entries = list(body.messages).map((message, index) => {
    const value = members(message)
    const path = `messages.${index}`
    // An empty text has no block: the provider refuses the message, not a block.
    const text = isText(value.content) && value.content !== '' ? [{ type: 'text', text: value.content }] : undefined
    const blocks = text ?? list(value.content)
    const calls = blocks.flatMap((one, j) => {
      const { type, id, name, input } = members(one)
      return type === 'tool_use' ? [{ path: `${path}.content.${j}`, id, name, input }] : []
    })
    return entry({ path, index, value: { ...value, content: blocks }, role: value.role, type: undefined, calls }, [
      'content',
    ])
  })
  const results = entries.flatMap((one) =>
    one.parts.flatMap((part) =>
      part.type === 'tool_result' && !part.inner
        ? [{ path: part.path, id: part.value.tool_use_id, value: part.value, entry: one }]
        : [],
    ),
  )
  const tools = list(body.tools).flatMap((one, i) => {
    const value = members(one)
    return value.input_schema === undefined ? [] : [{ path: `tools.${i}.custom`, value, name: value.name }]
  })
  const format = members(members(body.output_config).format)
  const schema = format.schema ?? members(body.output_format).schema
  return {
    entries,
    results,
    tools,
    schemas: [
      ...tools.map(({ path, value }) => declared(`${path}.input_schema`, value, value.input_schema, 'function')),
      ...(isRecord(schema) ? [declared('output_config.format.schema', format, schema)] : []),
    ],
  }
}

function entry(of: Omit<Entry, 'parts'>, fields: readonly string[]): Entry {
  const parts: Part[] = []
  const made = { ...of, parts }
  const dotted = of.path.includes('.')
  for (const field of fields)
    for (const [j, one] of list(of.value[field]).entries()) {
      const value = members(one)
      const path = dotted ? `${of.path}.${field}.${j}` : `${of.path}.${field}[${j}]`
      parts.push({ path, value, type: value.type, entry: made, field, inner: false })
      if (value.type !== 'tool_result') continue
      for (const [k, two] of list(value.content).entries()) {
        const within = members(two)
        const at = `${path}.tool_result.content.${k}`
        parts.push({ path: at, value: within, type: within.type, entry: made, field, inner: true })
      }
    }
  return made
}

function named({ path, value }: Omit<Tool, 'name'>): Tool {
  return { path, value, name: value.name }
}

function parametersOf(functions: readonly Omit<Tool, 'name'>[]): DeclaredSchema[] {
  return functions.flatMap(({ path, value }) =>
    value.parameters === undefined || value.parameters === null
      ? []
      : [declared(`${path}.parameters`, value, value.parameters, 'function')],
  )
}

function declared(
  path: string,
  of: Members,
  schema: unknown,
  what: DeclaredSchema['what'] = 'response_format',
): DeclaredSchema {
  let nodes: readonly SchemaNode[] | undefined
  return {
    path,
    name: of.name ?? 'output',
    what,
    strict: of.strict === true,
    schema,
    get nodes() {
      nodes ??= schemaNodes(schema, path)
      return nodes
    },
  }
}
