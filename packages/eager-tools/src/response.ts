/** The calls of one response while it streams, in the order in which they began: which may start now, and why the others wait. */

import {
  checkedInput,
  DEFERRAL_REASON,
  DISPATCH_EVIDENCE,
  type Effect,
  type Model,
  type Run,
  TOOL_EFFECT,
  type Tool,
  type ToolCall,
} from '@meanwhile/core'
import { deferral, type Evidence, effectOf, type Policy } from './policy.ts'

interface StreamedCall {
  readonly id: string
  readonly tool: Tool | undefined
  call?: ToolCall
  evidence?: Evidence
  /** Known at once if the tool declares it, else when its input is checked. */
  effect?: Effect | undefined
  started: boolean
  reason: string
}

export interface ResponseOptions {
  readonly run: Run
  readonly model: Model
  readonly policy: Policy | undefined
  readonly independent: ReadonlySet<string>
}

export class StreamedResponse {
  readonly #options: ResponseOptions
  readonly #calls: Map<string, StreamedCall> = new Map()
  /** Evidence is dealt with in the order in which it came. */
  #dispatch: Promise<void> | undefined

  constructor(options: ResponseOptions) {
    this.#options = options
  }

  began(id: string, name: string): void {
    if (this.#calls.has(id)) return
    const tool = this.#options.run.setup.tools.find((tool) => tool.name === name)
    const effect = typeof tool?.effect === 'function' ? undefined : (tool?.effect ?? 'external')
    this.#calls.set(id, { id, tool, effect, started: false, reason: 'off' })
  }

  /** There is evidence for a call: it starts now, or what it waits for is noted. */
  evidence(call: ToolCall, evidence: Evidence): void {
    this.began(call.id, call.name)
    const streamed = this.#calls.get(call.id)
    if (!streamed) return
    const changed = streamed.call !== undefined && streamed.call.input !== call.input
    if (changed) streamed.started = false
    streamed.call = call
    streamed.evidence = evidence
    const dispatch = () => this.#advance()
    this.#dispatch = this.#dispatch ? this.#dispatch.then(dispatch) : dispatch()
  }

  /** The stream is over: what did not start early starts when the loop asks, and its span says why. */
  ended(): void {
    for (const { id, started, reason } of this.#calls.values()) {
      if (!started) this.#options.run.annotate({ [DEFERRAL_REASON]: reason }, id)
    }
  }

  /** Starts what may start, in call order. */
  async #advance(): Promise<void> {
    const { run, independent } = this.#options
    let earlierWaits = false
    let barrier = false
    for (const streamed of this.#calls.values()) {
      if (!streamed.started && streamed.call) {
        if (earlierWaits && run.setup.toolConcurrency === 1) streamed.reason = 'order'
        else if (barrier) streamed.reason = 'conflict'
        else await this.#consider(streamed, streamed.call)
      }
      earlierWaits ||= !streamed.started
      barrier ||= streamed.effect !== 'read' && !(streamed.tool && independent.has(streamed.tool.name))
    }
  }

  async #consider(streamed: StreamedCall, call: ToolCall): Promise<void> {
    const { run, model, policy } = this.#options
    const { tool, evidence } = streamed
    if (!tool || !evidence) {
      streamed.reason = 'invalid'
      return
    }
    if (run.step >= run.setup.maxSteps) {
      streamed.reason = 'last_step'
      return
    }
    let input: unknown
    try {
      input = await checkedInput(tool, call)
    } catch {
      // The loop makes the call all the same, and its error result says what is wrong with the input.
      streamed.reason = 'invalid'
      return
    }
    const effect = effectOf(tool, input, run)
    streamed.effect = effect
    const reason = deferral(call, { tool, effect, evidence, model, run }, policy)
    if (reason) {
      streamed.reason = reason
      return
    }
    streamed.started = true
    // The loop asks for the call again and gets this very promise, failures included.
    run.callTool(call, { attributes: { [DISPATCH_EVIDENCE]: evidence, [TOOL_EFFECT]: effect } }).catch(() => undefined)
  }
}
