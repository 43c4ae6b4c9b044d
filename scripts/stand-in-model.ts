/**
 * A model endpoint without a script: it calls every offered tool once, then answers. Examples with a key run against it, on any of the three
 * wires, which shows that they need nothing except a key.
 */

import { call, respond, say } from '@meanwhile/assemble/testing'
import type { JournalEntry, ScriptedReply } from '@meanwhile/harness'
import { type ModelServer, serveModels } from '@meanwhile/harness/server'
import { z } from 'zod'

const schema = z.record(z.string(), z.unknown())

/** The parts of a request's body that are read, under the names of all three wires. */
const request = z.object({
  messages: z.array(schema).optional(),
  input: z.array(schema).optional(),
  tools: z.array(schema).optional(),
  text: schema.optional(),
})

type Body = z.infer<typeof request>

export const serveStandIn = (): Promise<ModelServer> => serveModels({ script: reply })

function reply({ body }: JournalEntry): ScriptedReply {
  const asked = request.parse(body)
  const { tools = [] } = asked
  if (tools.length === 0 || hasResult(asked)) return respond(say(answerTo(asked)))
  return respond(...tools.map(callOf), say('One moment.'))
}

/** Chat: a message with the role `tool`; Responses: a `function_call_output`; Messages: a part of type `tool_result`. */
function hasResult({ messages, input }: Body): boolean {
  return /"role":"tool"|"function_call_output"|"tool_result"/.test(JSON.stringify([messages, input]))
}

function callOf(tool: z.infer<typeof schema>): ReturnType<typeof call> {
  // Chat puts the function inside the tool; the schema is `parameters`, on Messages `input_schema`.
  const { name, parameters, input_schema } = schema.parse(tool.function ?? tool)
  return call(String(name), sample(parameters ?? input_schema))
}

/** An answer that matches the output schema, if there is one. */
function answerTo({ text }: Body): string {
  const format = schema.safeParse(text?.format).data
  return format?.type === 'json_schema' ? JSON.stringify(sample(format.schema)) : 'That is all I know.'
}

/** The smallest value that matches a JSON Schema. */
function sample(of: unknown): unknown {
  const { type, enum: allowed, properties, items, anyOf } = schema.parse(of ?? {})
  if (Array.isArray(allowed)) return allowed[0]
  if (Array.isArray(anyOf)) return sample(anyOf[0])
  if (type === 'object' || properties) {
    return Object.fromEntries(
      Object.entries(schema.parse(properties ?? {})).map(([key, value]) => [key, sample(value)]),
    )
  }
  if (type === 'array') return items ? [sample(items)] : []
  if (type === 'number' || type === 'integer') return 1
  return type === 'boolean' ? true : 'something'
}
