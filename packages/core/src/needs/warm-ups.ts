/** Runs warm-ups: the preparations of tools for calls whose names are known and whose inputs are not. */

import type { WarmUp, WarmUps } from '../state/capabilities.ts'
import type { Tool } from '../vocabulary/tool.ts'

class CallWarmUp implements WarmUp {
  readonly #warmed: Promise<unknown>
  readonly #controller = new AbortController()
  #used = false
  #over = false

  /** `failed` receives what `warm` threw, unless that was caused by the abort. */
  constructor(tool: Tool, callId: string, failed: (error: unknown) => void) {
    const { signal } = this.#controller
    const warm = async () => tool.warm?.({ callId, signal })
    this.#warmed = warm()
      .catch((error) => {
        if (!signal.aborted) failed(error)
        return undefined
      })
      .finally(() => {
        this.#over = true
      })
  }

  use(): Promise<unknown> {
    this.#used = true
    return this.#warmed
  }

  abort(reason: unknown): void {
    this.#controller.abort(reason)
  }

  end(): void {
    if (!this.#used || !this.#over) this.abort(new Error('the call has ended'))
  }
}

export class CallWarmUps implements WarmUps {
  /** The ids of all calls of the step that were warmed up. */
  readonly #begun = new Set<string>()
  readonly #waiting: Map<string, WarmUp> = new Map()

  renew(): void {
    this.#begun.clear()
  }

  begin(tool: Tool, callId: string, failed: (error: unknown) => void): void {
    if (!tool.warm || this.#begun.has(callId)) return
    this.#begun.add(callId)
    this.#waiting.set(callId, new CallWarmUp(tool, callId, failed))
  }

  take(callId: string): WarmUp | undefined {
    const warmUp = this.#waiting.get(callId)
    this.#waiting.delete(callId)
    return warmUp
  }

  drop(why: string, callIds: Iterable<string> = [...this.#waiting.keys()]): void {
    for (const callId of callIds) this.take(callId)?.abort(new Error(why))
  }
}
