/** What the pages of React clients show in the same way, whatever the client is. */

import type { ReactNode } from 'react'

interface CardProps {
  /** What it says of its call. */
  readonly text: string
  /** Whether it asks for an approval. */
  readonly asks: boolean
  onAnswer(approved: boolean): void
  /** Allows the call with another input. */
  onChange(): void
}

export function Card({ text, asks, onAnswer, onChange }: CardProps): ReactNode {
  const actions = { Allow: () => onAnswer(true), Deny: () => onAnswer(false), Change: onChange }
  return (
    <section>
      {text}
      {asks && <Buttons actions={actions} />}
    </section>
  )
}

interface ComposerProps {
  readonly text: string
  onText(text: string): void
  /** What the buttons do, by their names. */
  readonly actions: Readonly<Record<string, () => unknown>>
}

export function Composer({ text, onText, actions }: ComposerProps): ReactNode {
  return (
    <>
      <input aria-label="Message" value={text} onChange={(event) => onText(event.target.value)} />
      <Buttons actions={actions} />
    </>
  )
}

function Buttons({ actions }: Pick<ComposerProps, 'actions'>): ReactNode {
  return Object.entries(actions).map(([name, act]) => (
    <button key={name} type="button" onClick={() => void act()}>
      {name}
    </button>
  ))
}

/** An answer to an approval: a denial has a reason. */
export function approvalOf(approved: boolean): { readonly approved: boolean; readonly reason?: string } {
  return { approved, ...(!approved && { reason: 'No.' }) }
}
