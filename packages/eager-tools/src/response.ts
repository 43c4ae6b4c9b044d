/** The calls of one response while it streams, in the order in which they began: which may start now, and why the others wait. */

import {
  type CallOptions,
  DEFERRAL_REASON,
  DISPATCH_EVIDENCE,
  type Effect,
  type Model,
  type ResourceKeys,
  type Run,
  type Tool,
  type ToolCall,
} from '@meanwhile/core'
import {
  checkedInput,
  checkedNeeds,
  findTool,
  judgeCall,
  keysMeet,
  NO_KEYS,
  namesNone,
  resolveAliases,
} from '@meanwhile/core/calls'
import { type Breaker, diverges } from './breaker.ts'
import { deferral, type Evidence, type Policy } from './policy.ts'
import type { SavingsLedger } from './savings-ledger.ts'

interface StreamedCall {
  readonly id: string
  readonly tool: Tool | undefined
  /** The input as it was last heard of. */
  written?: unknown
  /**
   * As it was last heard of, in its tool's own words (M9), and on what evidence; at first with the members its tool needs, if it
   * needs only some.
   */
  call?: ToolCall
  evidence?: Evidence
  /** Known at once if the tool declares it, else when its input is checked. */
  effect: Effect | undefined
  /** Known at once if its tool names none, else when its input is checked. */
  keys: ResourceKeys | undefined
  /** `due`: it starts when its turn comes; `deferred`: not on this evidence. */
  state: 'streaming' | 'due' | 'deferred' | 'started'
  /** What it has started with, before it was sealed. */
  soft?: { readonly call: ToolCall; readonly evidence: Evidence } | undefined
  /** Why it has not started. */
  reason: string
  /** It has started with the members its tool needs, which gets the rest by this. */
  complete?: ((call: ToolCall) => void) | undefined
}

export interface ResponseOptions {
  readonly run: Run
  readonly model: Model
  readonly policy: Policy | undefined
  readonly independent: ReadonlySet<string>
  readonly ledger: SavingsLedger
  readonly breaker: Breaker
}

export class StreamedResponse {
  readonly #options: ResponseOptions
  readonly #calls: Map<string, StreamedCall> = new Map()

  constructor(options: ResponseOptions) {
    this.#options = options
  }

  /** A call has begun: its tool may warm up, unless nothing could come of it. */
  named(id: string, name: string): void {
    const { tool } = this.#call(id, name)
    if (tool && !this.#isLastStep) this.#options.run.warm(id, tool.name)
  }

  /** The members that the tool of a call needs are there: it may start with these. */
  ready(id: string, name: string, input: object): void {
    const streamed = this.#call(id, name)
    if (!streamed.call) this.#heard(streamed, { type: 'tool-call', id, name, input }, 'prefix')
  }

  /** There is evidence for a call: it starts as soon as its input is checked, or what it waits for is noted. */
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

  /** The stream is over: what did not start early starts when the loop asks, and its span says why. */
  ended(): void {
    for (const { id, state, reason } of this.#calls.values()) {
      if (state !== 'started') this.#options.run.annotate({ [DEFERRAL_REASON]: reason }, id)
    }
  }

  /** What has started on less is what it was, or the breaker is told. */
  #sealed({ tool, soft }: StreamedCall, call: ToolCall): void {
    const { run, model, breaker } = this.#options
    if (!tool || !soft || !diverges(resolveAliases(call, run.setup.tools), soft.call, soft.evidence)) return
    breaker.diverged(model, tool.name, run)
  }

  #call(id: string, name: string): StreamedCall {
    let streamed = this.#calls.get(id)
    if (!streamed) {
      const tool = findTool(this.#options.run.setup.tools, name)
      streamed = { id, tool, ...declared(tool), state: 'streaming', reason: 'off' }
      this.#calls.set(id, streamed)
    }
    return streamed
  }

  #heard(streamed: StreamedCall, call: ToolCall, evidence: Evidence): void {
    streamed.written = call.input
    this.#options.ledger.certain(call.id, evidence !== 'prefix')
    streamed.call = resolveAliases(call, this.#options.run.setup.tools)
    streamed.evidence = evidence
    streamed.state = 'streaming'
    void this.#check(streamed, streamed.call, evidence)
  }

  get #isLastStep(): boolean {
    const { step, setup } = this.#options.run
    return step >= setup.maxSteps
  }

  /**
   * Asks once for each input what the schema, and the tool's effect and keys, say of it. An input that changes meanwhile
   * has its own check.
   */
  async #check(streamed: StreamedCall, call: ToolCall, evidence: Evidence): Promise<void> {
    const { tool, written } = streamed
    Object.assign(streamed, declared(tool))
    // The rest of a call that has started is checked where it goes.
    const goesOn = streamed.complete && call.providerResult === undefined
    const checked = goesOn ? call : await usable(tool, call, evidence)
    if (streamed.written !== written) return
    if (tool && checked) {
      Object.assign(streamed, judgeCall(tool, checked.input))
      streamed.state = 'due'
    } else {
      streamed.state = 'deferred'
      streamed.reason = 'invalid'
    }
    this.#advance()
  }

  /** Starts what may start, in call order. */
  #advance(): void {
    const { run, independent } = this.#options
    const earlier: StreamedCall[] = []
    let waits = false
    let barrier = false
    for (const streamed of this.#calls.values()) {
      if (streamed.state === 'due') {
        if (waits && run.setup.toolConcurrency === 1) streamed.reason = 'order'
        else if (barrier || earlier.some((call) => mayMeet(call, streamed))) streamed.reason = 'conflict'
        else this.#consider(streamed)
      }
      earlier.push(streamed)
      waits ||= streamed.state !== 'started'
      barrier ||= isBarrier(streamed) && !(streamed.tool && independent.has(streamed.tool.name))
    }
  }

  /** What experience says against a start. */
  #restraint({ complete }: StreamedCall, tool: Tool, evidence: Evidence): 'breaker' | 'budget' | undefined {
    const { run, model, breaker, ledger } = this.#options
    if (complete) return undefined
    if (evidence !== 'sealed' && breaker.isOpen(model, tool.name)) return 'breaker'
    return ledger.isSpent(tool.name, run) ? 'budget' : undefined
  }

  #consider(streamed: StreamedCall): void {
    const { run, model, policy, ledger } = this.#options
    const { tool, call, evidence, effect, keys } = streamed
    if (!tool || !call || !evidence || !effect || !keys) return
    const reason = this.#isLastStep
      ? 'last_step'
      : (deferral(call, { tool, effect, evidence, model, run }, policy) ?? this.#restraint(streamed, tool, evidence))
    if (reason) {
      streamed.state = 'deferred'
      streamed.reason = reason
      return
    }
    streamed.state = 'started'
    streamed.complete?.(call)
    streamed.complete = undefined
    if (evidence !== 'sealed') streamed.soft ??= { call, evidence }
    const options: CallOptions = {
      ceiling: effect,
      keys,
      attributes: {
        [DISPATCH_EVIDENCE]: evidence,
        // It would have started sooner.
        ...(streamed.reason === 'breaker' && { [DEFERRAL_REASON]: 'breaker' }),
      },
      started: (status) => ledger.started(call.id, tool.name, evidence, status),
    }
    const rest = evidence === 'prefix' && new Promise<ToolCall>((resolve) => (streamed.complete = resolve))
    // The loop asks for the call again and gets this very promise, failures included.
    run.callTool(call, rest ? { ...options, rest } : options).catch(() => undefined)
  }
}

/** What is known of a tool's call before its input is. */
function declared(tool: Tool | undefined): Pick<StreamedCall, 'effect' | 'keys'> {
  return {
    effect: typeof tool?.effect === 'function' ? undefined : (tool?.effect ?? 'external'),
    keys: tool?.reads || tool?.writes ? undefined : NO_KEYS,
  }
}

/** What is not known to be a `read`, or to name its keys, may change anything (H14). */
function isBarrier({ effect, keys }: StreamedCall): boolean {
  return effect !== 'read' && (!keys || namesNone(keys))
}

/**
 * Whether a later call may have to come after an earlier one that core does not hold it behind: that has not started, or is not
 * sealed and so may yet name other keys.
 */
function mayMeet({ tool, state, evidence, keys }: StreamedCall, later: StreamedCall): boolean {
  if (!later.keys || namesNone(later.keys)) return false
  if (evidence === 'sealed' && keys) return state !== 'started' && keysMeet(keys, later.keys)
  return tool?.writes !== undefined || (tool?.reads !== undefined && later.keys.writes.size > 0)
}

/**
 * The checked input of a call that is ours to make. The loop makes any other, too, and its error result says what is wrong
 * with it.
 */
async function usable(
  tool: Tool | undefined,
  call: ToolCall,
  evidence: Evidence,
): Promise<{ readonly input: unknown } | undefined> {
  if (!tool || call.providerResult !== undefined) return undefined
  try {
    const input = evidence === 'prefix' ? await checkedNeeds(tool, call) : await checkedInput(tool, call)
    return evidence === 'prefix' && !input ? undefined : { input }
  } catch {
    return undefined
  }
}
