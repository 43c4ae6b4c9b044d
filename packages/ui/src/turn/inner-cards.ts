/** The cards of calls inside calls, as the reader of a turn has them. */

import type { ToolMessage } from '@meanwhile/core'
import { sameInput } from '@meanwhile/core/calls'
import type { InsideCard } from '@meanwhile/threads'
import { cardIdOf, titleOf } from './card.ts'
import type { InnerCall, TurnUpdate } from './turn-update.ts'

interface ToldCard {
  readonly call: InnerCall
  /** The number of the step in which the card stands: the last one whose beginning was sent before the card. */
  readonly step: number
  readonly hasEnded: boolean
  /** The id of the question that was last answered. */
  readonly answered?: string
  readonly isDenied?: boolean
}

export class InnerCards {
  readonly #told = new Map<string, ToldCard>()
  readonly #tell: (update: TurnUpdate) => void

  constructor(tell: (update: TurnUpdate) => void) {
    this.#tell = tell
  }

  /** Sends what a thread keeps of a call, in the open step. */
  read({ path, input, state, approval, reason, result }: InsideCard, step: number): void {
    const id = cardIdOf(path)
    const { agent: toolName = '' } = path.at(-1) ?? {}
    const before = this.#told.get(id)
    this.show({ id, title: titleOf(path), toolName, input, callId: path[0]?.callId ?? '' }, step)
    const told = this.#told.get(id)
    const isAnswered = state === 'allowed' || state === 'denied'
    // If the card of an earlier step has the answer, this is a second card of the same question: a client looks for the question, and finds the first.
    const isSecond = before?.answered !== undefined && before.answered === approval && before.step !== told?.step
    if (told && isAnswered && approval !== undefined && !isSecond) {
      const isAllowed = state === 'allowed'
      this.#told.set(id, { ...told, answered: approval, isDenied: !isAllowed })
      this.#tell({ type: 'card-answer', id, question: approval, isAllowed, ...(reason !== undefined && { reason }) })
    }
    if (result) this.#end(id, result)
  }

  /** Shows a call in the open step. Returns whether its card has shown this input already. */
  show(call: InnerCall, step: number): boolean {
    const told = this.#told.get(call.id)
    // Another call may have the same path: the run of an agent inside may repeat the ids of an earlier run.
    if (told && !told.hasEnded && sameInput(told.call.input, call.input)) return true
    this.#told.set(call.id, { ...told, call, step, hasEnded: false })
    this.#tell({ type: 'inner-call', call })
    return false
  }

  /** A question on the card counts as closed: the call is sent again if the card stands in the open step. */
  goOn(id: string, step: number): void {
    const told = this.#told.get(id)
    if (told && told.step === step) this.#tell({ type: 'inner-call', call: told.call })
  }

  /** The parts of a step were removed. */
  reset(step: number): void {
    for (const [id, told] of this.#told) if (told.step === step) this.#told.delete(id)
  }

  #end(id: string, message: ToolMessage): void {
    const told = this.#told.get(id)
    if (told) this.#told.set(id, { ...told, hasEnded: true })
    this.#tell({ type: 'inner-result', id, message, ...(told?.isDenied && { isDenied: true }) })
  }
}
