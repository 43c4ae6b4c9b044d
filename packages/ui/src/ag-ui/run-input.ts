/** What a client asks for: the body of its request, as far as it counts. */

import type { UserMessage } from '@meanwhile/core'
import { isRecord } from '../is-record.ts'
import { fromAgUiContent } from './content.ts'
import type { AgUiMessage, AgUiResume } from './wire.ts'

export interface RunInput {
  readonly threadId: string
  readonly runId: string
  /** What the client has. Only who said it last counts. */
  readonly messages: readonly AgUiMessage[]
  readonly resume: readonly AgUiResume[]
  /** Whether a turn that has failed is to go on. */
  readonly isRetry: boolean
  /** The message before which the thread is to go on. */
  readonly rewind: string | undefined
  /** The client's own. */
  readonly state: Readonly<Record<string, unknown>>
}

/** Undefined if it is none. */
export function runInputOf(body: unknown): RunInput | undefined {
  const { threadId, runId, messages, resume = [], state, forwardedProps } = Object(body)
  if (!isText(threadId) || !isText(runId)) return undefined
  if (!Array.isArray(messages) || !messages.every(isMessage)) return undefined
  if (!Array.isArray(resume) || !resume.every(isResume)) return undefined
  const { retry, rewind } = Object(forwardedProps)
  return {
    threadId,
    runId,
    messages,
    resume,
    isRetry: retry === true,
    rewind: isText(rewind) ? rewind : undefined,
    state: isRecord(state) ? state : {},
  }
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

/** A message of the user, with the id that the client gave it. */
export interface Said {
  readonly id: string
  readonly message: UserMessage
}

/** What the user says with this request, if that is the last of its messages. */
export function saidIn({ messages }: RunInput): Said | undefined {
  const last = messages.at(-1)
  if (last?.role !== 'user') return undefined
  const content = fromAgUiContent(last.content)
  return content === undefined ? undefined : { id: last.id, message: { role: 'user', content } }
}

/** The results of calls that the client has run, by the ids of the calls, if they are the last thing in the request. */
export function resultsIn({ messages }: RunInput): ReadonlyMap<string, string> {
  const from = messages.findLastIndex(({ role }) => role !== 'tool') + 1
  return new Map(
    messages.slice(from).flatMap((message): [string, string][] => {
      if (message.role !== 'tool') return []
      const { toolCallId, content } = message
      return [[toolCallId, typeof content === 'string' ? content : JSON.stringify(content)]]
    }),
  )
}
