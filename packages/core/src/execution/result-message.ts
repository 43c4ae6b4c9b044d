/** Makes the tool message of an output, or of a text. */

import { unheard } from '../flow/unheard.ts'
import { keptJson, type OutputLimits, tooLarge } from '../vocabulary/call-limits.ts'
import { AgentError, messageOf } from '../vocabulary/errors.ts'
import { isPlain, isRecord } from '../vocabulary/json.ts'
import { type Extent, extentOf, jsonText, LONGEST } from '../vocabulary/json-text.ts'
import type { ToolCall, ToolMessage } from '../vocabulary/message.ts'
import { CONTENT_PARTS, isContentPart } from '../vocabulary/message-shape.ts'
import type { Tool } from '../vocabulary/tool.ts'
import { ToolOutputError } from '../vocabulary/tool-errors.ts'

export function textMessage(call: ToolCall, text: string, isError: boolean): ToolMessage {
  const message: ToolMessage = { role: 'tool', callId: call.id, name: call.name, content: [{ type: 'text', text }] }
  return isError ? { ...message, isError } : message
}

/** The message of a call that succeeded. Its size is checked again after its wraps. Throws {@link ToolOutputError} if no model could read it. */
export function resultMessage(call: ToolCall, tool: Tool, output: unknown, limits: OutputLimits): ToolMessage {
  const content = readable(tool, output)
  const message = { role: 'tool', callId: call.id, name: call.name } as const
  const shown = (text: string) => content ?? [{ type: 'text' as const, text }]
  if (output === undefined) return { ...message, content: shown('') }
  if (typeof output === 'string') return { ...message, content: shown(output), output }
  // A wrap may still reduce an output that is over the limit.
  const most = Math.max(limits.characters, LONGEST)
  const { json, extent } = content ? writtenIfAny(tool, output, most) : written(tool, output, most)
  if (json !== undefined) return { ...message, content: shown(json), ...keptJson(json, extent, limits) }
  return content ? { ...message, content } : tooLarge(message, extent.characters, limits)
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
    throw unreadable(tool, `its toContent returned something that is not a part: a part is ${CONTENT_PARTS}`)
  }
  // `toContent` may be an async function in JavaScript. The outcome of its promise is ignored.
  unheard(content)
  throw unreadable(tool, `its toContent did not return a list of parts`)
}

/** An output as JSON, or only its size if it is too large to be written. */
interface Written {
  readonly json?: string
  readonly extent: Extent
}

function written(tool: Tool, output: unknown, most: number): Written {
  const problem = noDataProblem(output)
  if (problem) throw unreadable(tool, `returned ${problem}`)
  try {
    const extent = extentOf(output, (shown) => {
      const problem = noDataProblem(shown)
      if (problem) throw unreadable(tool, `returned something that contains ${problem}`)
    })
    if (extent.characters > most && Number.isFinite(extent.characters)) return { extent }
    const json = jsonText(output, extent)
    if (json !== undefined) return { json, extent }
  } catch (error) {
    if (error instanceof ToolOutputError) throw error
    // The following lines of the engine's message only name the place.
    const why = messageOf(error).split('\n')[0]
    const problem = `its result cannot be written as JSON (${why}): return plain data, or give the tool a toContent`
    throw unreadable(tool, problem, error)
  }
  throw unreadable(tool, `returned ${withArticle(typeof output)}, which is not JSON; give the tool a toContent`)
}

/** The error to throw. An `AgentError` always ends the run, so it is not wrapped. */
function unreadable({ name }: Tool, problem: string, cause?: unknown): Error {
  return cause instanceof AgentError ? cause : new ToolOutputError(name, problem, { cause })
}

/** The output as JSON, if it can be written. With `toContent` it need not be JSON. */
function writtenIfAny(tool: Tool, output: unknown, most: number): Written {
  try {
    return written(tool, output, most)
  } catch {
    return { extent: NO_EXTENT }
  }
}

const NO_EXTENT: Extent = { characters: 0, levels: 0 }

/** What to return instead of a value that is not data, by its class. */
const INSTEAD = new Map([
  ['Response', 'return its content, such as await response.text()'],
  ['Map', 'return Object.fromEntries(map)'],
  ['Set', 'return [...set]'],
  ['Error', 'throw it, or return its message'],
  ['Promise', 'await it'],
  ['Uint8Array', 'return its base64'], // A Buffer, too, whose `toJSON` would list each byte.
])

/** What is wrong with an output that is not data, and what to return instead. A value with `toJSON` is data. */
export function noDataProblem(output: unknown): string | undefined {
  if (typeof output === 'function') return problem('a function', 'return its result')
  if (!isRecord(output)) return undefined
  const kind = output instanceof Error ? 'Error' : Object.prototype.toString.call(output).slice(8, -1)
  if ('toJSON' in output && typeof output.toJSON === 'function' && kind !== 'Uint8Array') return undefined
  const instead = INSTEAD.get(kind)
  if (instead) return problem(withArticle(kind), instead)
  if (Symbol.asyncIterator in output) return problem('an async iterable', 'return a list of its values')
  if (Symbol.iterator in output) return problem('an iterable', 'return a list, such as [...it]')
  const what = kind === 'Object' ? output.constructor?.name : kind
  if (isPlain(output) || Object.keys(output).length > 0) return undefined
  return problem(what ? withArticle(what) : 'an object without visible members', 'return a plain object')
}

function problem(what: string, instead: string): string {
  return `${what}, which is not JSON; ${instead}, or give the tool a toContent`
}

export function withArticle(word: string): string {
  return `${/^([AEIO]|U(?!i))/i.test(word) ? 'an' : 'a'} ${word}`
}
