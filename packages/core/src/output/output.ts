/** The `output` schema of an agent: asks the model for the output, and checks answers with it. */

import type { Output } from '../vocabulary/agent-config.ts'
import { checkedInput } from '../vocabulary/checked-input.ts'
import { ConfigError, messageOf, OutputError } from '../vocabulary/errors.ts'
import { isShallow } from '../vocabulary/json.ts'
import { type AssistantMessage, type ToolCall, type ToolMessage, textOf } from '../vocabulary/message.ts'
import type { Model, ModelRequest } from '../vocabulary/model.ts'
import { ToolInputError } from '../vocabulary/tool-errors.ts'
import { jsonSchemaOf, type ToolSchema } from '../vocabulary/tool-schema.ts'

/** The name of the output tool, and of the output format on wires that require a name. */
export const OUTPUT_TOOL = 'final_answer'

interface CheckedOutput {
  readonly value?: unknown
  /** The error, with the text that the model reads. */
  readonly misfit?: { readonly error: OutputError; readonly feedback: string }
}

/** Throws {@link ConfigError} unless the schema describes an object, because tools and most wires accept nothing else. */
export function outputOf(schema: ToolSchema): Output {
  const format = { name: OUTPUT_TOOL, schema: jsonSchemaOf(schema, 'output') }
  if (format.schema.type !== 'object') throw new ConfigError('output', 'must be the schema of an object')
  return Object.freeze({ format: Object.freeze(format), schema })
}

/**
 * Returns the request that is sent to the model. A model without structured output gets a tool whose input is the output; if the request forbids
 * calls, the model may only call that tool.
 */
export function withOutputTool(request: ModelRequest): ModelRequest {
  const { output, ...rest } = request
  if (!output || request.model.structuredOutput?.(output)) return request
  const tool = {
    name: output.name,
    description: 'Gives the final answer: the input of this call. Call it once, when everything else is done.',
    inputSchema: output.schema,
  }
  const toolChoice = request.toolChoice === 'none' ? { tool: tool.name } : request.toolChoice
  return { ...rest, tools: [...request.tools, tool], toolChoice }
}

/** Returns the output of an answer, or why the answer does not fit. Without a schema there is neither. */
export async function checkOutput(
  output: Output | undefined,
  model: Model,
  answer: AssistantMessage | ToolMessage,
): Promise<CheckedOutput> {
  if (!output) return {}
  try {
    return { value: await checkedInput({ name: OUTPUT_TOOL, input: output.schema }, givenBy(answer)) }
  } catch (thrown) {
    const issues = thrown instanceof ToolInputError ? thrown.issues : [{ path: '', message: messageOf(thrown) }]
    const error = new OutputError(issues)
    return { misfit: { error, feedback: feedbackOf(error, output, model) } }
  }
}

function feedbackOf({ message }: OutputError, output: Output, model: Model): string {
  const how = model.structuredOutput?.(output.format)
    ? 'Answer only with JSON that matches the schema.'
    : `Answer by calling ${OUTPUT_TOOL}.`
  return `Not accepted: ${message}. ${how}`
}

/** The result of a call that returns the output: it is not executed, and its input is its result. */
export function outputMessage({ id, name, input, inputError }: ToolCall): ToolMessage {
  const text = inputError ?? JSON.stringify(input) ?? ''
  return {
    role: 'tool',
    callId: id,
    name,
    content: [{ type: 'text', text }],
    ...(inputError === undefined ? { output: input } : { isError: true }),
  }
}

/** Returns the answer as a call of the output tool, whose input is the output of a tool or the parsed text. */
function givenBy(answer: AssistantMessage | ToolMessage): ToolCall {
  const call = { type: 'tool-call', id: '', name: OUTPUT_TOOL } as const
  if (answer.role === 'tool') {
    return answer.isError ? { ...call, input: '', inputError: textOf(answer) } : { ...call, input: answer.output }
  }
  const last = answer.content.findLast((part) => part.type === 'text')
  // Some models write a separate text part first.
  const json = parsed(textOf(answer)) ?? parsed(last?.text ?? '')
  return json ? { ...call, ...json } : { ...call, input: '', inputError: 'it is not JSON' }
}

function parsed(text: string): { readonly input: unknown } | undefined {
  try {
    const input: unknown = JSON.parse(text)
    return isShallow(input) ? { input } : undefined
  } catch {
    return undefined
  }
}
