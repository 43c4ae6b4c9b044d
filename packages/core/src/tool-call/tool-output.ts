/** From what a tool gave to the message the model reads (M12). */

import { AgentError, messageOf } from '../errors.ts'
import { unheard } from '../flow/unheard.ts'
import { isShallow } from '../json.ts'
import type { ToolCall, ToolMessage } from '../message.ts'
import { CONTENT_PARTS, isContentPart } from '../message-shape.ts'
import type { Tool } from '../tool.ts'
import { ToolOutputError } from '../tool-errors.ts'

/** The message of a call that went well. Throws {@link ToolOutputError} when the model could not read its output (M12). */
export function resultMessage(call: ToolCall, tool: Tool, output: unknown): ToolMessage {
  const content = readable(tool, output)
  const json = content ? jsonIfAny(output) : jsonOf(output, tool)
  return {
    role: 'tool',
    callId: call.id,
    name: call.name,
    content: content ?? [{ type: 'text', text: typeof output === 'string' ? output : (json ?? '') }],
    ...(json !== undefined && kept(JSON.parse(json))),
  }
}

/** The model can read what is nested too deep to be checked and saved. */
function kept(output: unknown): Pick<ToolMessage, 'output'> {
  return isShallow(output) ? { output } : {}
}

function readable(tool: Tool, output: unknown): ToolMessage['content'] | undefined {
  if (!tool.toContent) return undefined
  let content: unknown
  try {
    content = tool.toContent(output)
  } catch (error) {
    throw unreadable(tool, `its toContent threw: ${messageOf(error)}`, error)
  }
  if (Array.isArray(content)) {
    if (content.every(isContentPart)) return content
    throw unreadable(tool, `its toContent gave what is no part: one is ${CONTENT_PARTS}`)
  }
  // Its function may be an async one, in JavaScript: what comes of that is nobody's.
  unheard(content)
  throw unreadable(tool, `its toContent gave no list of parts`)
}

function jsonOf(output: unknown, tool: Tool): string | undefined {
  let json: string | undefined
  try {
    json = JSON.stringify(output) as string | undefined
  } catch (error) {
    // The engine's message goes on to name what is where.
    throw unreadable(tool, noJson(`what cannot be written (${messageOf(error).split('\n')[0]})`), error)
  }
  if (json === undefined && output !== undefined) throw unreadable(tool, noJson(`a ${typeof output}`))
  return json
}

function noJson(what: string): string {
  return `returned ${what}, which is no JSON; give it a toContent`
}

/** What ends the run ends it wherever it is thrown (A12). */
function unreadable({ name }: Tool, problem: string, cause?: unknown): Error {
  return cause instanceof AgentError ? cause : new ToolOutputError(name, problem, { cause })
}

/** What `toContent` makes readable need not be JSON itself. */
function jsonIfAny(output: unknown): string | undefined {
  try {
    return JSON.stringify(output)
  } catch {
    return undefined
  }
}
