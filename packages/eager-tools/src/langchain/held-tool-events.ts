/**
 * Holds the tool events that a graph would stream until the agent executes the call. Events of unused calls are never
 * streamed.
 */

import type { BaseCallbackHandler } from '@langchain/core/callbacks/base'
import { CallbackManager, type Callbacks } from '@langchain/core/callbacks/manager'
import type { StartedCall } from '../host/host-tool.ts'
import { over } from './over.ts'

export interface HeldToolEvents {
  /** Overrides the config of the node. */
  readonly config: { readonly callbacks: CallbackManager }
  /** The agent executes the call itself, and the events of that execution are streamed instead. */
  drop(): void
}

/** LangGraph's handler that streams tool events. With `streamEvents` v3 each streamed error is also a rejection. */
const STREAMING = 'StreamToolsHandler'

/** Holds the events until the agent takes the call. Other handlers receive all events at once. */
export function heldToolEvents(
  callbacks: Callbacks | undefined,
  call: Pick<StartedCall, 'taken'>,
): HeldToolEvents | undefined {
  const handlers = Array.isArray(callbacks) ? callbacks : callbacks?.handlers
  if (!handlers?.some(isStreaming)) return undefined
  // This returns a copy, because the node keeps using its own.
  const manager = CallbackManager.configure(callbacks)
  if (!manager) return undefined
  const events = new Events()
  void call.taken.then(() => events.flow())
  for (const handler of manager.handlers.filter(isStreaming)) {
    const isInherited = manager.inheritableHandlers.includes(handler)
    manager.removeHandler(handler)
    manager.addHandler(held(handler, events), isInherited)
  }
  return { config: { callbacks: manager }, drop: () => events.drop() }
}

function isStreaming(handler: object): boolean {
  return 'name' in handler && handler.name === STREAMING
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
