/** The messages of AG-UI as pages show them, in the words of the AI SDK, so that a trial reads the same on every page. */

import type { Interrupt, Message } from '@ag-ui/client'

interface Card {
  readonly id: string
  readonly toolName: string
  readonly state: string
  readonly output: unknown
}

interface ShownMessage {
  readonly id: string
  readonly text: string
  readonly cards: readonly Card[]
}

/** `answered`: the questions that the user has answered and the page has not sent yet. */
export function shownMessages(
  messages: readonly Message[],
  interrupts: readonly Interrupt[] = [],
  answered: ReadonlySet<string> = new Set(),
): readonly ShownMessage[] {
  const results = new Map(
    messages.flatMap((message) => (message.role === 'tool' ? [[message.toolCallId, message]] : [])),
  )
  const progress = new Map(
    messages.flatMap((message): [unknown, unknown][] =>
      message.role === 'activity' ? [[message.content.toolCallId, message.content.progress]] : [],
    ),
  )
  const asked = new Map(interrupts.flatMap((one) => (asksApproval(one) ? [[one.toolCallId, one.id]] : [])))
  const stateOf = (id: string): readonly [state: string, output: unknown] => {
    const result = results.get(id)
    const question = asked.get(id)
    if (progress.has(id) && (!result || isRunning(result.content)))
      return ['output-available preliminary', progress.get(id)]
    if (result?.error !== undefined)
      return [result.content === 'This call was denied.' ? 'output-denied' : 'output-error', null]
    if (result) return ['output-available', result.content]
    if (question === undefined) return ['input-available', null]
    return [answered.has(question) ? 'approval-responded' : 'approval-requested', null]
  }
  return messages.flatMap((message): ShownMessage[] => {
    const { id, role } = message
    if (role !== 'user' && role !== 'assistant') return []
    const calls = role === 'assistant' ? (message.toolCalls ?? []) : []
    const cards = calls.map(({ id, function: { name: toolName } }): Card => {
      const [state, output] = stateOf(id)
      return { id, toolName, state, output }
    })
    return [{ id, text: textIn(message.content), cards }]
  })
}

/** Whether it is the first result of a background call. */
function isRunning(content: unknown): boolean {
  return typeof content === 'string' && content.includes('"state":"running"')
}

/** Whether the question is about the card of a call. */
export function asksApproval({ reason, toolCallId }: Interrupt): boolean {
  return reason === 'tool_call' && toolCallId !== undefined
}

export function cardText({ toolName, state, output }: Omit<Card, 'id'>): string {
  return `${toolName} ${state} ${JSON.stringify(output)}`
}

function textIn(content: unknown): string {
  if (typeof content === 'string') return content
  return Array.isArray(content) ? content.map((part) => Object(part).text ?? '').join('') : ''
}
