/** The calls of one response while it streams, in the order in which they began: which may start now, and why the others wait. */

import {
  checkedInput,
  DEFERRAL_REASON,
  DISPATCH_EVIDENCE,
  type Effect,
  findTool,
  judgeCall,
  keysMeet,
  type Model,
  NO_KEYS,
  namesNone,
  type ResourceKeys,
  type Run,
  resolveAliases,
  type Tool,
  type ToolCall,
} from '@meanwhile/core'
import { deferral, type Evidence, type Policy } from './policy.ts'

interface StreamedCall {
  readonly id: string
  readonly tool: Tool | undefined
  /** The input as it was last heard of. */
  written?: unknown
  /** The call in its tool's own words (M9), and on what evidence. */
  call?: ToolCall
  evidence?: Evidence
  /** Known at once if the tool declares it, else when its input is checked. */
  effect: Effect | undefined
  /** Known at once if its tool names none, else when its input is checked. */
  keys: ResourceKeys | undefined
  /** `due`: it starts when its turn comes; `deferred`: not on this evidence. */
  state: 'streaming' | 'due' | 'deferred' | 'started'
  /** Why it has not started. */
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

  constructor(options: ResponseOptions) {
    this.#options = options
  }

  began(id: string, name: string): void {
    if (this.#calls.has(id)) return
    const tool = findTool(this.#options.run.setup.tools, name)
    this.#calls.set(id, { id, tool, ...declared(tool), state: 'streaming', reason: 'off' })
  }

  /** There is evidence for a call: it starts as soon as its input is checked, or what it waits for is noted. */
  evidence(call: ToolCall, evidence: Evidence): void {
    this.began(call.id, call.name)
    const streamed = this.#calls.get(call.id)
    if (!streamed) return
    const changed = streamed.written !== call.input
    streamed.written = call.input
    streamed.call = resolveAliases(call, this.#options.run.setup.tools)
    streamed.evidence = evidence
    if (changed) {
      streamed.state = 'streaming'
      void this.#check(streamed, streamed.call)
    } else {
      if (streamed.state === 'deferred' && streamed.reason !== 'invalid') streamed.state = 'due'
      this.#advance()
    }
  }

  /** The stream is over: what did not start early starts when the loop asks, and its span says why. */
  ended(): void {
    for (const { id, state, reason } of this.#calls.values()) {
      if (state !== 'started') this.#options.run.annotate({ [DEFERRAL_REASON]: reason }, id)
    }
  }

  /** Asks once for each input what the schema, and the tool's effect and keys, say of it. An input that changes meanwhile has its own check. */
  async #check(streamed: StreamedCall, call: ToolCall): Promise<void> {
    const { tool, written } = streamed
    Object.assign(streamed, declared(tool))
    const checked = await usable(tool, call)
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

  #consider(streamed: StreamedCall): void {
    const { run, model, policy } = this.#options
    const { tool, call, evidence, effect, keys } = streamed
    if (!tool || !call || !evidence || !effect || !keys) return
    const lastStep = run.step >= run.setup.maxSteps
    const reason = lastStep ? 'last_step' : deferral(call, { tool, effect, evidence, model, run }, policy)
    if (reason) {
      streamed.state = 'deferred'
      streamed.reason = reason
      return
    }
    streamed.state = 'started'
    // The loop asks for the call again and gets this very promise, failures included.
    const attributes = { [DISPATCH_EVIDENCE]: evidence }
    run.callTool(call, { ceiling: effect, keys, attributes }).catch(() => undefined)
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

/** The checked input of a call that is ours to make. The loop makes any other, too, and its error result says what is wrong with it. */
async function usable(tool: Tool | undefined, call: ToolCall): Promise<{ readonly input: unknown } | undefined> {
  if (!tool || call.providerResult !== undefined) return undefined
  try {
    return { input: await checkedInput(tool, call) }
  } catch {
    return undefined
  }
}
