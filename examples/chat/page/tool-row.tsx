/** A call: one line, with its arguments and its result inside. It opens by itself only when it asks. */

import { escapeInvisible } from '@meanwhile/middleware/escape-invisible'
import type { ChatMessage } from '@meanwhile/ui/ai-sdk'
import type { Times } from '../times.ts'
import type { Conversation } from './conversation.ts'
import { seconds } from './timeline.tsx'

type CardPart = Extract<ChatMessage['parts'][number], { type: 'dynamic-tool' }>

interface ToolRowProps {
  readonly part: CardPart
  readonly chat: Conversation
  /** Of its turn. */
  readonly times: Times | undefined
  /** Whether its message is the last one. */
  readonly isLast: boolean
}

export function ToolRow({ part, chat, times, isLast }: ToolRowProps) {
  const question = isLast && !chat.isBusy ? questionOf(part, chat) : undefined
  const [state, word] = question ? ['asks', question.word] : stateOf({ part, chat, times, isLast })
  return (
    <details className="call" data-state={state} open={question !== undefined || undefined}>
      <summary>
        <i />
        <code>{part.title ?? part.toolName}</code>
        <span className="args">{Object.values(Object(part.input)).map(text).join(' · ')}</span>
        <span className="word">{word}</span>
      </summary>
      {question && <b>{question.text}</b>}
      <Value of={question ? question.input : part.input} />
      <div className="result">{resultOf(part)}</div>
      {question && (
        <div className="actions">
          {Object.entries(question.answers).map(([label, give]) => (
            <button
              key={label}
              type="button"
              className={label === 'Allow' ? '' : 'plain'}
              disabled={chat.isLost}
              onClick={() => void give()}
            >
              {label}
            </button>
          ))}
        </div>
      )}
    </details>
  )
}

/** What a call asks; `input` is what would run, and `answers` are named by their buttons. */
function questionOf(part: CardPart, chat: Conversation) {
  const { toolName, toolCallId, input, state } = part
  if (state === 'approval-requested') {
    const { id } = part.approval
    const answer = (approved: boolean) => () => chat.addToolApprovalResponse({ id, approved })
    const question = `Shall ${toolName} run? Nothing has happened yet.`
    return { text: question, word: 'waits for you', input, answers: { Allow: answer(true), Deny: answer(false) } }
  }
  const { question, options } = Object(input)
  if (toolName !== 'choose' || state !== 'input-available' || !Array.isArray(options)) return undefined
  // The page itself runs this tool: the option that the user clicks is the output.
  const choose = (chosen: string) => () => chat.addToolOutput({ tool: 'choose', toolCallId, output: { chosen } })
  const answers = Object.fromEntries(options.map(text).map((option) => [option, choose(option)]))
  return { text: text(question), word: 'your choice', answers }
}

/** The state of a call that asks nothing, and what the row says of it. */
function stateOf({ part, chat, times, isLast }: ToolRowProps): readonly [string, string] {
  const calls = times?.steps.flatMap((step) => step.calls) ?? []
  const { start, end, ready } = calls.findLast(({ id }) => id === part.toolCallId) ?? {}
  const took = start !== undefined && end !== undefined ? seconds(end - start) : ''
  if (part.approval?.approved === false) return ['not-run', part.approval.reason ? 'not run' : 'not run: you said no']
  if (part.state === 'output-error') return ['failed', 'failed']
  if (part.state === 'output-available' && !part.preliminary) return ['done', took || 'done']
  if (isLast && !chat.isBusy && part.state === 'approval-responded') return ['waits', 'waits for your other answers']
  if (!isLast || !(chat.isBusy || chat.isLost)) return ['not-run', 'not finished']
  // Its result counts when the model has ended.
  if (took) return ['done', took]
  if (part.state === 'output-available') return ['runs', text(Object(part.output).message) || 'runs']
  if (start === undefined && ready !== undefined && !times?.early) return ['waits', 'ready, but waits']
  if (start === undefined && ready === undefined && part.state === 'input-streaming')
    return ['waits', 'is being written']
  return ['runs', 'runs']
}

function Value({ of }: { readonly of: unknown }) {
  if (typeof of !== 'object' || of === null) return text(of)
  return (
    <dl>
      {Object.entries(of).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{text(value)}</dd>
        </div>
      ))}
    </dl>
  )
}

function resultOf(part: CardPart) {
  if (part.approval?.approved === false) return part.approval.reason
  if (part.state === 'output-error') return part.errorText
  return part.state === 'output-available' && !part.preliminary && <Value of={part.output} />
}

/** The user decides by what the row shows. */
function text(value: unknown): string {
  if (Array.isArray(value)) return value.map(text).join(' · ')
  return escapeInvisible(typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value))
}
