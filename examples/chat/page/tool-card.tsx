import { useId } from 'react'
import type { CardPart } from './chat-message.ts'
import type { AssistantMessageProps } from './messages.tsx'

interface ToolCardProps extends Omit<AssistantMessageProps, 'message'> {
  readonly part: CardPart
}

export function ToolCard({ part, headStarts, isAsking, onApprove, onOutput }: ToolCardProps) {
  const title = useId()
  const isEarly = part.state === 'input-streaming' && headStarts.hasBegun(part.toolCallId)
  const headStart = headStarts.of(part.toolCallId) ?? 0
  const options = isAsking && part.state === 'input-available' ? optionsOf(part) : undefined
  const state = options ? 'approval-requested' : isEarly || isPreliminary(part) ? 'running' : part.state
  return (
    <section className="card" data-state={state} aria-labelledby={title}>
      <h2 id={title}>
        <span>{part.toolName}</span>
        <small>{WORDS[state]}</small>
        {headStart >= 50 && (
          <small className="early" title="It began while the model was still speaking">
            {(headStart / 1_000).toFixed(1)} s head start
          </small>
        )}
      </h2>
      <Members of={part.input} />
      <Output of={part} />
      {isAsking && part.state === 'approval-requested' && (
        <div className="actions">
          <button type="button" onClick={() => onApprove({ id: part.approval.id, approved: true })}>
            Allow
          </button>
          <button type="button" className="quiet" onClick={() => onApprove({ id: part.approval.id, approved: false })}>
            Deny
          </button>
        </div>
      )}
      {options && (
        <div className="actions">
          {options.map((chosen) => (
            <button type="button" key={chosen} onClick={() => onOutput(part.toolCallId, { chosen })}>
              {chosen}
            </button>
          ))}
        </div>
      )}
    </section>
  )
}

function Members({ of: value }: { readonly of: unknown }) {
  const members = Object.entries(Object(value))
  if (members.length === 0) return null
  return (
    <dl>
      {members.map(([name, member]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{Array.isArray(member) ? member.map(text).join(' · ') : text(member)}</dd>
        </div>
      ))}
    </dl>
  )
}

function Output({ of: part }: { readonly of: CardPart }) {
  if (part.state === 'output-error') return <p className="output error">{part.errorText}</p>
  if (part.state !== 'output-available') return null
  if (!isPreliminary(part))
    return (
      <div className="output">{typeof part.output === 'object' ? <Members of={part.output} /> : text(part.output)}</div>
    )
  const { progress, message } = Object(part.output)
  return (
    <p className="output progress">
      <progress value={typeof progress === 'number' ? progress : undefined} />
      <span>{text(message)}</span>
    </p>
  )
}

/** The page itself runs this tool: it shows the options, and what is clicked is the output. */
function optionsOf({ toolName, input }: CardPart): readonly string[] | undefined {
  const { options } = Object(input)
  return toolName === 'choose' && Array.isArray(options) ? options.map(text) : undefined
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)
}

function isPreliminary(part: CardPart): boolean {
  return part.state === 'output-available' && part.preliminary === true
}

const WORDS: Readonly<Record<CardPart['state'] | 'running', string>> = {
  'input-streaming': 'is being written',
  'input-available': 'at work',
  'approval-requested': 'waits for you',
  'approval-responded': 'at work',
  running: 'at work',
  'output-available': 'done',
  'output-error': 'not done',
  'output-denied': 'not done',
}
