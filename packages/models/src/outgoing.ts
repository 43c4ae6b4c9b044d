/** Prepares a history for the wire that it goes out on. The stored history is not changed. */

import type { AssistantMessage, ContentPart, Message, ModelRequest, UserMessage } from '@meanwhile/core'
import { ConfigError } from '@meanwhile/core'
import { withFittingIds } from './call-ids.ts'
import { isMistral, type Target } from './families.ts'
import { once } from './once.ts'
import { filesAfterResults } from './result-files.ts'
import { type FileLimits, withSendableFiles } from './sendable-files.ts'
import { wellFormed } from './well-formed.ts'

/** A message without what every provider rejects. */
const readable = once((message: Message) => withText(wellFormed(message)))

/** Messages as providers take them: their texts, files and ids, and what stands between them. */
export function outgoingMessages(given: readonly Message[], target: Target, files?: FileLimits): readonly Message[] {
  const messages = withFittingIds(withSendableFiles(given.map(readable), target, files), target)
  if (target.wire === 'openai-responses' || target.wire === undefined) return messages
  if (target.wire === 'anthropic') return filesAfterResults(messages, (result) => result.isError === true)
  const whole = filesAfterResults(messages)
  return isMistral(target) ? withAnswersToResults(whole) : whole
}

/**
 * The request with the same. Settings that say nothing are left out.
 *
 * @throws {ConfigError} It has more tools than the host accepts, or the user's last message has a file that the wire does
 *   not take.
 */
export function outgoing(request: ModelRequest, target: Target, files?: FileLimits): ModelRequest {
  const { mostTools = Infinity } = target.host
  const { length } = request.tools
  if (length > mostTools && target.wire !== 'anthropic')
    throw new ConfigError(
      'tools',
      `${target.provider} accepts at most ${mostTools} tools in a request, and this one has ${length}; toolSearch() shows the model only those that it asks for`,
    )
  const { maxTokens, stopSequences, ...settings } = wellFormed(request.settings)
  return {
    ...request,
    instructions: isBlank(request.instructions) ? '' : wellFormed(request.instructions),
    messages: outgoingMessages(request.messages, target, { ...files, isLenient: request.omitsFiles }),
    tools: wellFormed(request.tools),
    ...(request.output && { output: wellFormed(request.output) }),
    settings: {
      ...settings,
      ...(maxTokens !== undefined && Number.isFinite(maxTokens) && { maxTokens }),
      ...(stopSequences && stopSequences.length > 0 && { stopSequences }),
    },
  }
}

/** What the model reads of a message of the user that says nothing. */
const EMPTY = '(empty message)'

/** What the model reads of an error without a text. */
const FAILED = 'The call failed, without a message.'

/** The message with the text that providers require: blank parts are left out. */
function withText(message: Message): Message {
  if (message.role === 'user') {
    const { content } = message
    const said = typeof content === 'string' ? (isBlank(content) ? [] : content) : withoutBlanks(content)
    return said === content ? message : { ...message, content: said.length > 0 ? said : EMPTY }
  }
  if (message.role !== 'tool' || !message.isError || message.content.some((part) => !isBlankPart(part))) return message
  return { ...message, content: [{ type: 'text', text: FAILED }] }
}

function withoutBlanks(content: readonly ContentPart[]): readonly ContentPart[] {
  return content.some(isBlankPart) || content.length === 0 ? content.filter((part) => !isBlankPart(part)) : content
}

function isBlankPart(part: ContentPart): boolean {
  return part.type === 'text' && isBlank(part.text)
}

/** Whether a text says nothing. */
export function isBlank(text: string): boolean {
  return text.trim() === ''
}

/**
 * Mistral rejects a user message directly after a result, also if an answer between them is left out. The templates of its
 * models reject two messages of one role in a row, so these become one.
 */
function withAnswersToResults(messages: readonly Message[]): readonly Message[] {
  const answered = messages
    .filter(says)
    .flatMap((message, place, all) =>
      message.role === 'user' && all[place - 1]?.role === 'tool' ? [RECEIVED, message] : [message],
    )
  return joined(answered)
}

/** Neighbours of one role as one message: those of the user, and those of the model without calls between them. */
function joined(messages: readonly Message[]): readonly Message[] {
  const groups: Message[][] = []
  for (const message of messages) {
    const group = groups.at(-1)
    if (group?.[0]?.role === message.role && message.role !== 'tool') group.push(message)
    else groups.push([message])
  }
  return groups.flatMap((group): readonly Message[] => {
    const last = group.at(-1)
    if (group.length === 1 || !last || last.role === 'tool') return group
    if (last.role === 'user') return [{ ...last, content: (group as UserMessage[]).flatMap(contentOf) }]
    return [{ ...last, content: (group as AssistantMessage[]).flatMap(({ content }) => content) }]
  })
}

function contentOf({ content }: UserMessage): readonly ContentPart[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

/** Whether a message goes out: one of the model does with a text or a call. */
function says(message: Message): boolean {
  if (message.role !== 'assistant') return true
  return message.content.some((part) =>
    part.type === 'text' ? !isBlank(part.text) : part.type === 'tool-call' && part.providerResult === undefined,
  )
}

const RECEIVED: Message = {
  role: 'assistant',
  content: [{ type: 'text', text: 'I have these results.' }],
  finishReason: 'stop',
}
