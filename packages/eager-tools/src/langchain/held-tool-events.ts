/**
 * Holds the tool events that a graph would stream until the agent executes the call. Events of unused calls are never
 * streamed.
 */

import type { BaseCallbackHandler } from '@langchain/core/callbacks/base'
import { CallbackManager, type Callbacks } from '@langchain/core/callbacks/manager'
import { over } from './over.ts'

export interface HeldToolEvents {
  /** Overrides the config of the node. */
  readonly config: { readonly callbacks?: CallbackManager }
  /** The agent executes the call itself, and the events of that execution are streamed instead. */
  drop(): void
}

/** LangGraph's handler that streams tool events. With `streamEvents` v3 each streamed error is also a rejection. */
const STREAMING = 'StreamToolsHandler'

/** `taken` resolves when the agent executes the call. Other handlers receive all events at once. */
export function heldToolEvents(callbacks: Callbacks | undefined, taken: Promise<void>): HeldToolEvents {
  const events = new Events()
  void taken.then(() => events.flow())
  // A copy, because the node keeps using its own.
  const manager = CallbackManager.configure(callbacks)?.copy()
  for (const handler of manager?.handlers.filter(({ name }) => name === STREAMING) ?? []) {
    const isInherited = manager?.inheritableHandlers.includes(handler)
    manager?.removeHandler(handler)
    manager?.addHandler(held(handler, events), isInherited)
  }
  return { config: manager ? { callbacks: manager } : {}, drop: () => events.drop() }
}

class Events {
  #waiting: (() => void)[] = []
  #stage: 'held' | 'flowing' | 'dropped' = 'held'

  add(event: () => void): void {
    if (this.#stage === 'held') this.#waiting.push(event)
    else if (this.#stage === 'flowing') event()
  }

  flow(): void {
    if (this.#stage !== 'held') return
    this.#stage = 'flowing'
    for (const event of this.#waiting.splice(0)) event()
  }

  drop(): void {
    this.#stage = 'dropped'
    this.#waiting = []
  }
}

function held(handler: BaseCallbackHandler, events: Events): BaseCallbackHandler {
  return over(handler, {
    handleToolStart: (...told) => events.add(() => void handler.handleToolStart?.(...told)),
    handleToolEvent: (...told) => events.add(() => void handler.handleToolEvent?.(...told)),
    handleToolEnd: (...told) => events.add(() => void handler.handleToolEnd?.(...told)),
    handleToolError: (...told) => events.add(() => void handler.handleToolError?.(...told)),
  })
}
