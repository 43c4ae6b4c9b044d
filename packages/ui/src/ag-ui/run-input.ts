/** Reads the body of a client's request. */

import type { UserMessage } from '@meanwhile/core'
import { isRecord } from '@meanwhile/core/calls'
import type { Threads } from '@meanwhile/threads'
import { MalformedBodyError, storableJson } from '../body.ts'
import { fromAgUiContent } from './content.ts'
import type { AgUiMessage, AgUiResume } from './wire.ts'

export interface RunInput {
  readonly threadId: string
  readonly runId: string
  /** The messages that the client has. Only the last ones are used. */
  readonly messages: readonly AgUiMessage[]
  readonly resume: readonly AgUiResume[]
  /** Whether to retry a failed turn. */
  readonly isRetry: boolean
  /** Whether the last message, which the thread has, is to be answered again. */
  readonly isRegeneration: boolean
  /** The message before which the thread must continue. */
  readonly rewind: string | undefined
  /** The client's own state; undefined if it is not an object. */
  readonly state: Readonly<Record<string, unknown>> | undefined
  /** Whether the client is older than AG-UI 1.0: it does not say its version. */
  readonly isOlder: boolean
  /** The names of the tools that the client offers to execute. */
  readonly tools: readonly string[]
  /** Whether the client has sent something that the model should know. */
  readonly hasContext: boolean
}

/** @throws {MalformedBodyError} The body is not a run input. */
export function runInputOf(body: unknown): RunInput {
  if (!isRecord(body)) throw new MalformedBodyError('the body', 'a RunAgentInput of AG-UI')
  const { threadId, runId, state, forwardedProps, protocolVersion } = body
  if (!isText(threadId)) throw new MalformedBodyError('threadId', 'the id of the thread')
  if (!isText(runId)) throw new MalformedBodyError('runId', 'the id of the run')
  const messages = listIn(body, 'messages', isMessage, 'a message with an id and a role, of text and files')
  const resume = listIn(body, 'resume', isResume, 'an answer with an interruptId and a status', [])
  for (const [index, { payload = null }] of resume.entries()) storableJson(payload, `resume[${index}].payload`)
  const tools = listIn(body, 'tools', isNamed, 'a tool with a name', [])
  const context = listIn(body, 'context', isRecord, 'an object', [])
  for (const name of ['messages', 'state'] as const) storableJson(body[name] ?? null, name)
  const { retry, rewind, regenerate } = Object(forwardedProps)
  return {
    threadId,
    runId,
    messages,
    resume,
    isRetry: retry === true,
    isRegeneration: regenerate === true,
    rewind: isText(rewind) ? rewind : undefined,
    state: isRecord(state) ? state : undefined,
    isOlder: !isText(protocolVersion),
    tools: tools.map(({ name }) => name),
    hasContext: context.length > 0,
  }
}

/** Why the request has something that this server would ignore; undefined if it has not. */
export function unusedIn({ tools, hasContext }: RunInput, { toolNames }: Threads): string | undefined {
  const unknown = tools.find((name) => toolNames?.includes(name) === false)
  if (unknown !== undefined)
    return `The page offers the tool ${JSON.stringify(unknown)}, which the agent of this server does not have. Give the agent a tool with this name and without execute.`
  return hasContext
    ? 'The page sends context, which this server does not give to the model. Send it in a message.'
    : undefined
}

function listIn<Item>(
  body: Readonly<Record<string, unknown>>,
  name: string,
  isItem: (value: unknown) => value is Item,
  expected: string,
  fallback?: readonly Item[],
): readonly Item[] {
  const value = body[name] ?? fallback
  if (!Array.isArray(value)) throw new MalformedBodyError(name, 'a list')
  const misfit = value.findIndex((item) => !isItem(item))
  if (misfit >= 0) throw new MalformedBodyError(`${name}[${misfit}]`, expected)
  return value
}

function isNamed(value: unknown): value is { readonly name: string } {
  return isText(Object(value).name)
}

function isMessage(value: unknown): value is AgUiMessage {
  const { id, role, content, toolCallId } = Object(value)
  if (!isText(id) || !isText(role)) return false
  if (role === 'user') return fromAgUiContent(content) !== undefined
  return role !== 'tool' || (isText(toolCallId) && fromAgUiContent(content) !== undefined)
}

function isResume(value: unknown): value is AgUiResume {
  const { interruptId, status } = Object(value)
  return isText(interruptId) && (status === 'resolved' || status === 'cancelled')
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** A user message with the client's id for it. */
export interface Said {
  readonly id: string
  readonly message: UserMessage
}

/** The user message of this request, if it is the last message. */
export function saidIn({ messages }: RunInput): Said | undefined {
  const last = messages.at(-1)
  if (last?.role !== 'user') return undefined
  const content = fromAgUiContent(last.content)
  return content === undefined ? undefined : { id: last.id, message: { role: 'user', content } }
}

/** A result of a call that the client may have run. */
export interface GivenResult {
  /** The id of the message. */
  readonly id: string
  readonly content: string
}

/** The results of calls at the end of the request, by call id. */
export function resultsIn({ messages }: RunInput): ReadonlyMap<string, GivenResult> {
  const from = messages.findLastIndex(({ role }) => role !== 'tool') + 1
  return new Map(
    messages.slice(from).flatMap((message): [string, GivenResult][] => {
      if (message.role !== 'tool') return []
      const { id, toolCallId, content } = message
      return [[toolCallId, { id, content: typeof content === 'string' ? content : JSON.stringify(content) }]]
    }),
  )
}

/** The arguments of a call as the client shows them; what is not JSON stays a text. */
export function argumentsIn({ messages }: RunInput, toolCallId: string): readonly unknown[] {
  return messages.flatMap((message) => {
    const { toolCalls }: { readonly toolCalls?: unknown } = message.role === 'assistant' ? message : {}
    const calls: readonly unknown[] = Array.isArray(toolCalls) ? toolCalls : []
    return calls.flatMap((call) => {
      const { id, function: called } = Object(call)
      return id === toolCallId ? [parsed(Object(called).arguments)] : []
    })
  })
}

function parsed(text: unknown): unknown {
  try {
    return typeof text === 'string' ? storableJson(JSON.parse(text), 'arguments') : text
  } catch {
    return text
  }
}
