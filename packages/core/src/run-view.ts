/** The run as hooks, wraps and tools see it. What each does carries its name, and nests under its span. */

import type { Attributes, Context } from '@opentelemetry/api'
import type { CallEntry } from './call-entry.ts'
import type { ToolCall, ToolMessage, Usage } from './message.ts'
import type { AgentSetup, CallOptions, Run } from './middleware.ts'
import type { RunState } from './run.ts'

/** Who acts: the context it acts in, its name, the call it works for, if any, and whether it stands outside of the steps. */
export interface Actor {
  readonly context: Context
  readonly source: string
  readonly call?: CallEntry
  readonly outside?: boolean
}

const states = new WeakMap<Run, RunState>()

export function viewOf(state: RunState, actor: Actor): Run {
  const view = new RunView(state, actor)
  states.set(view, state)
  return view
}

/** The state behind a view. Throws `TypeError` for anything else (D5). */
export function stateOf(run: Run): RunState {
  const state = states.get(run)
  if (!state) throw new TypeError('not a run')
  return state
}

class RunView implements Run {
  readonly #state: RunState
  readonly #actor: Actor
  #signal: AbortSignal | undefined

  constructor(state: RunState, actor: Actor) {
    this.#state = state
    this.#actor = actor
  }

  get id(): string {
    return this.#state.id
  }
  get agent(): string | undefined {
    return this.#state.config.name
  }
  get signal(): AbortSignal {
    const { signal } = this.#state
    // Both: a call that has settled is not aborted any more, and its run may be.
    this.#signal ??= this.#actor.call ? AbortSignal.any([signal, this.#actor.call.signal]) : signal
    return this.#signal
  }
  get setup(): AgentSetup {
    return this.#state.setup
  }
  get step(): number {
    return this.#state.step
  }
  get usage(): Usage {
    return this.#state.usage
  }

  callTool(call: ToolCall, options?: CallOptions): Promise<ToolMessage> {
    return this.#state.calls.call(call, this.#actor, options)
  }

  emit({ name, data }: { readonly name: string; readonly data: unknown }): void {
    const { source, call, outside } = this.#actor
    if (call) this.#state.calls.emit(call, { type: 'custom', name, data, source })
    else this.#state.push({ type: 'custom', name, data, source }, outside)
  }

  warn({ code, message }: { readonly code: string; readonly message: string }): void {
    if (this.#isOver) return
    const { source, outside } = this.#actor
    this.#state.warn({ code, message, source }, outside)
  }

  annotate(attributes: Attributes, callId?: string): void {
    if (this.#isOver) return
    this.#state.annotate(attributes, callId)
  }

  /** What is done for a call that was abandoned or discarded reaches nothing (K13). */
  get #isOver(): boolean {
    const { call } = this.#actor
    return call !== undefined && (call.settled || call.discarded !== undefined)
  }
}
