/** Tracks the calls of one response while it streams, in call order: which may start now, and why the others wait. */

import type { Tool, ToolCall } from '@meanwhile/core'
import { findTool, judgeCall, resolveAliases } from '@meanwhile/core/calls'
import { type Breaker, diverges } from './breaker.ts'
import type { CallMaker } from './call-maker.ts'
import type { Evidence } from './policy.ts'
import { declared, isBarrier, mayMeet, type StreamedCall, usable } from './streamed-call.ts'

export interface ResponseOptions {
  readonly maker: CallMaker
  /** Names of tools that are not a barrier. */
  readonly independent: ReadonlySet<string>
  readonly breaker: Breaker
}

export class StreamedResponse {
  readonly #options: ResponseOptions
  readonly #calls: Map<string, StreamedCall> = new Map()

  constructor(options: ResponseOptions) {
    this.#options = options
  }

  /** A call has begun: its tool may warm up, unless it could not run anyway. */
  named(id: string, name: string): void {
    const { tool } = this.#call(id, name)
    const { maker } = this.#options
    if (tool && !maker.isLastStep) maker.warm(id, tool.name)
  }

  /** The members that the tool needs are complete: it may start with these. */
  ready(id: string, name: string, input: object): void {
    const streamed = this.#call(id, name)
    if (!streamed.call) this.#heard(streamed, Object.freeze({ type: 'tool-call', id, name, input }), 'prefix')
  }

  /** Takes evidence for a call. When its input is checked, the call starts, or the reason for waiting is recorded. */
  evidence(call: ToolCall, evidence: Evidence): void {
    const streamed = this.#call(call.id, call.name)
    if (evidence === 'sealed') this.#sealed(streamed, call)
    if (streamed.written !== call.input) {
      this.#heard(streamed, call, evidence)
      return
    }
    streamed.evidence = evidence
    if (streamed.state === 'deferred' && streamed.reason !== 'invalid') streamed.state = 'due'
    this.#advance()
  }

  /**
   * The stream is over. Calls that did not start early start when the loop executes them; their spans state the reason.
   */
  ended(): void {
    for (const { id, state, reason, behind } of this.#calls.values()) {
      if (state !== 'started') this.#options.maker.waited(id, reason, behind)
    }
  }

  /** Reports to the breaker if the sealed call differs from the one that was started. */
  #sealed({ tool, soft }: StreamedCall, call: ToolCall): void {
    const { maker, breaker } = this.#options
    if (!tool || !soft || !diverges(resolveAliases(call, maker.tools), soft.call, soft.evidence)) return
    breaker.diverged(maker.model, tool.name, maker)
  }

  #call(id: string, name: string): StreamedCall {
    let streamed = this.#calls.get(id)
    if (!streamed) {
      const tool = findTool(this.#options.maker.tools, name)
      streamed = { id, tool, ...declared(tool), state: 'streaming', reason: 'off' }
      this.#calls.set(id, streamed)
    }
    return streamed
  }

  #heard(streamed: StreamedCall, call: ToolCall, evidence: Evidence): void {
    const { maker } = this.#options
    streamed.written = call.input
    maker.certain(call.id, evidence !== 'prefix')
    streamed.call = resolveAliases(call, maker.tools)
    streamed.evidence = evidence
    streamed.state = 'streaming'
    streamed.behind = undefined
    void this.#check(streamed, streamed.call, evidence)
  }

  /**
   * Computes the checked input, the effect and the keys, once for each input. If the input changes meanwhile, the new
   * input is checked, too.
   */
  async #check(streamed: StreamedCall, call: ToolCall, evidence: Evidence): Promise<void> {
    const { tool, written } = streamed
    Object.assign(streamed, declared(tool))
    // The rest of a call that has started is checked by the call itself.
    const goesOn = streamed.complete && call.providerResult === undefined
    const checked = goesOn ? call : await usable(tool, call, evidence)
    if (streamed.written !== written) return
    if (tool && checked) {
      Object.assign(streamed, judgeCall(tool, checked.input))
      streamed.input = checked.input
      streamed.state = 'due'
    } else {
      streamed.state = 'deferred'
      streamed.reason = 'invalid'
    }
    this.#advance()
  }

  /** Starts the calls that may start, in call order. */
  #advance(): void {
    const { maker, independent } = this.#options
    const earlier: StreamedCall[] = []
    let waiting: StreamedCall | undefined
    let barrier: StreamedCall | undefined
    for (const streamed of this.#calls.values()) {
      if (streamed.state === 'due') {
        const first = maker.toolConcurrency === 1 ? waiting : undefined
        const conflict = barrier ?? earlier.find((call) => mayMeet(call, streamed))
        streamed.behind = (first ?? conflict)?.id
        if (first) streamed.reason = 'order'
        else if (conflict) streamed.reason = 'conflict'
        else this.#consider(streamed)
      }
      earlier.push(streamed)
      if (streamed.state !== 'started') waiting ??= streamed
      if (isBarrier(streamed) && !(streamed.tool && independent.has(streamed.tool.name))) barrier ??= streamed
    }
  }

  /** Whether the breaker or the budget prevents the start. */
  #restraint({ complete }: StreamedCall, tool: Tool, evidence: Evidence): 'breaker' | 'budget' | undefined {
    const { maker, breaker } = this.#options
    if (complete) return undefined
    if (evidence !== 'sealed' && breaker.isOpen(maker.model, tool.name)) return 'breaker'
    return maker.isSpent(tool.name) ? 'budget' : undefined
  }

  #consider(streamed: StreamedCall): void {
    const { maker } = this.#options
    const { tool, call, evidence, effect, keys, input } = streamed
    if (!tool || !call || !evidence || !effect || !keys) return
    const reason = maker.isLastStep
      ? 'last_step'
      : (maker.deferral(call, { tool, effect, evidence, input }) ?? this.#restraint(streamed, tool, evidence))
    if (reason) {
      streamed.state = 'deferred'
      streamed.reason = reason
      return
    }
    const isLate = streamed.reason === 'breaker'
    streamed.state = 'started'
    streamed.complete?.(call)
    streamed.complete = undefined
    if (evidence !== 'sealed') streamed.soft ??= { call, evidence }
    const rest = evidence === 'prefix' && new Promise<ToolCall>((resolve) => (streamed.complete = resolve))
    maker.start(call, { tool, effect, keys, evidence, input, ...(isLate && { isLate }), ...(rest && { rest }) })
  }
}
