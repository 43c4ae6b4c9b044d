/** The events and messages of AG-UI 1.0 as plain data: the types of its package use an enum, which would be a run-time dependency. */

import type { ContentPart, Event, Interrupt, Message } from '@ag-ui/core'
import type { Json } from '@meanwhile/core'

type Plain<Some> = Some extends { type: infer Type extends string }
  ? Omit<Some, 'type'> & { readonly type: `${Type}` }
  : never

/** An event of AG-UI, as plain JSON. */
export type AgUiEvent = Plain<Event>

/** A message of AG-UI. */
export type AgUiMessage = Message

export type AgUiPart = ContentPart

export type AgUiInterrupt = Interrupt

/** The answer to one interrupt. */
export interface AgUiResume {
  readonly interruptId: string
  readonly status: 'resolved' | 'cancelled'
  readonly payload?: Json
}
