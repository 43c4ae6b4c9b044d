/** A call: one line, with its arguments and its result inside. It opens by itself only when it asks. */

import { escapeInvisible } from '@meanwhile/middleware/escape-invisible'
import type { ChatMessage } from '@meanwhile/ui/ai-sdk'
import type { Times } from '../times.ts'
import type { Conversation } from './conversation.ts'

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
  const [state, word] = stateOf({ part, chat, times, isLast })
  const approval = state === 'asks' && part.state === 'approval-requested' ? part.approval : undefined
  const answers: readonly (readonly [string, () => unknown])[] = approval
    ? [
        ['Allow', () => chat.addToolApprovalResponse({ id: approval.id, approved: true })],
        ['Deny', () => chat.addToolApprovalResponse({ id: approval.id, approved: false })],
      ]
    : optionsOf(part).map((chosen) => [
        chosen,
        // The page itself runs this tool: the option that the user clicks is the output.
        () => chat.addToolOutput({ tool: 'choose', toolCallId: part.toolCallId, output: { chosen } }),
      ])
  return (
    <details className="call" data-state={state} open={state === 'asks' || undefined}>
      <summary>
        <i />
        <code>{part.title ?? part.toolName}</code>
        <span className="args">{Object.values(Object(part.input)).map(text).join(' · ')}</span>
        <span className="word">{word}</span>
      </summary>
      {state === 'asks' && (
        <b>{approval ? `Shall ${part.toolName} run? Nothing has happened yet.` : text(Object(part.input).question)}</b>
      )}
      {(state !== 'asks' || approval) && <Value of={part.input} />}
      <div className="result">{resultOf(part)}</div>
      {state === 'asks' && (
        <div className="actions">
          {answers.map(([label, give]) => (
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

/** The state of a call, and what the row says of it. */
function stateOf({ part, chat, times, isLast }: ToolRowProps): readonly [string, string] {
  const calls = times?.steps.flatMap((step) => step.calls) ?? []
  const { start, end, ready } = calls.findLast(({ id }) => id === part.toolCallId) ?? {}
  const isOver = part.state === 'output-available' && !part.preliminary
  if (part.approval?.approved === false) return ['not-run', part.approval.reason ? 'not run' : 'not run: you said no']
  if (part.state === 'output-error') return ['failed', 'failed']
  if (isOver) return ['done', start !== undefined && end ? `${((end - start) / 1_000).toFixed(1)} s` : 'done']
  if (!isLast || !chat.isBusy) {
    if (isLast && part.state === 'approval-responded') return ['waits', 'waits for your other answers']
    if (isLast && part.state === 'approval-requested') return ['asks', 'waits for you']
    return isLast && optionsOf(part).length > 0 ? ['asks', 'your choice'] : ['not-run', 'not finished']
  }
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

function optionsOf({ toolName, state, input }: CardPart): readonly string[] {
  const { options } = Object(input)
  return toolName === 'choose' && state === 'input-available' && Array.isArray(options) ? options.map(text) : []
}

/** The user decides by what the row shows. */
function text(value: unknown): string {
  if (Array.isArray(value)) return value.map(text).join(' · ')
  return escapeInvisible(typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value))
}
