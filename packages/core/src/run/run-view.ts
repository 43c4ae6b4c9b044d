/** Creates the `Run` that hooks, wraps and tools receive. It knows who uses it, so warnings have that name, and spans are children of that span. */

import { unheard } from '../flow/unheard.ts'
import { hasAbandoned } from '../machine/call.ts'
import { makeSideCall } from '../model-call/side-call.ts'
import type { Actor } from '../state/actor.ts'
import { addressOf } from '../state/address.ts'
import type { RunState } from '../state/run.ts'
import { endSpan, type OpenSpan, startSpan } from '../telemetry/around.ts'
import { callTool } from '../tool-call/call-tool.ts'
import { callStood, cancelCall, statusOf } from '../tool-call/calls-by-id.ts'
import { warm } from '../tool-call/streamed-calls.ts'
import { branded } from '../vocabulary/brand.ts'
import type { CallOptions, SideRequest } from '../vocabulary/call-options.ts'
import { behind } from '../vocabulary/copies.ts'
import type { PathPart } from '../vocabulary/events.ts'
import type { AssistantMessage, Json, Message, ToolCall, ToolMessage, Usage } from '../vocabulary/message.ts'
import type { Asked } from '../vocabulary/saved-run.ts'
import type { AgentSetup, Run } from '../vocabulary/tool.ts'
import type { ToolStatus } from '../vocabulary/tool-status.ts'

export function viewOf(state: RunState, actor: Actor): Run {
  return branded('run', new RunView(state, actor), { state, actor } satisfies Behind)
}

type Behind = { readonly state: RunState; readonly actor: Actor }

/** Returns the state behind a `Run`, and the actor that received it. Throws `TypeError` for any other value. */
export function actorOf(run: Run): Behind {
  if (run === undefined) throw new TypeError('there is no run: a tool that runTool runs has none')
  const found = behind<Behind>('run', run)
  if (!found) throw new TypeError('not a run')
  return found
}

/** Returns the state behind a `Run`. Throws the errors of {@link actorOf}. */
export function stateOf(run: Run): RunState {
  return actorOf(run).state
}

/** Returns the ids of the calls that made the call of this wrap, outermost first: none if the response requests it, or a hook makes it. */
export function makersOf(run: Run): readonly string[] {
  return (actorOf(run).actor.call?.makers ?? []).map(({ call }) => call.id)
}

/** Returns the payloads of the questions that `run.answers` answers, in the same order. */
export function answeredPayloads(run: Run): readonly Json[] {
  const { state, actor } = actorOf(run)
  return askedBy(state, actor).payloads
}

/** Returns the input of the call of this wrap as it was requested, before `prepareInput` and outer wraps could change it. */
export function requestedInput(run: Run): unknown {
  return actorOf(run).actor.call?.call.input
}

/** Whether the call of this wrap is early, and its model call has not succeeded yet. */
export const isProvisional = (run: Run): boolean => actorOf(run).actor.call?.provisional ?? false

/** Runs a part of what a middleware does in its own span. The model calls of the run that it receives are below that span. */
export async function inSpan<R>(run: Run, name: string, part: (run: Run, open: OpenSpan) => Promise<R>): Promise<R> {
  const { state, actor } = actorOf(run)
  const { telemetry } = state
  const open = startSpan(telemetry.scope, actor.context, () => ({ name }))
  const within = viewOf(state, { ...actor, context: open.context })
  return await telemetry.inside(open.context, () => part(within, open)).finally(() => endSpan(open))
}

function askedBy(state: RunState, { call, hook, source }: Actor): Asked {
  return state.questions.askedAt(addressOf(state, call, hook ? { middleware: source, hook } : undefined))
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
    this.#signal ??= signalOf(this.#state, this.#actor)
    return this.#signal
  }
  get setup(): AgentSetup {
    return this.#state.setup
  }
  get step(): number {
    return this.#state.steps.begun
  }
  get usage(): Usage {
    return this.#state.usage
  }
  get messages(): readonly Message[] {
    return this.#state.history.messages
  }

  get answers(): readonly Json[] {
    return askedBy(this.#state, this.#actor).answers
  }

  callTool(call: ToolCall, options?: CallOptions): Promise<ToolMessage> {
    return callTool(this.#state, call, this.#actor, options)
  }

  stood(callId: string): Promise<string> {
    const { call } = this.#actor
    return unheard(callStood(this.#state, callId, { call, signals: closerSignals(this.#actor) }))
  }

  cancelTool(callId: string, path?: readonly PathPart[]): boolean {
    return cancelCall(this.#state, callId, path, this.#actor.call)
  }

  toolStatus(callId: string, path?: readonly PathPart[]): ToolStatus | undefined {
    return statusOf(this.#state, callId, path, this.#actor.call)
  }

  isOffered(call: ToolCall): boolean {
    return !this.#state.calls.isUnoffered(call)
  }

  warm(callId: string, name: string): void {
    if (this.#isOver) return
    warm(this.#state, callId, name, (message) => this.warn({ code: 'warm-failed', message }))
  }

  callModel(request: SideRequest): Promise<AssistantMessage> {
    return makeSideCall(this.#state, this.#actor, this.signal, request)
  }

  emit({ name, data }: { readonly name: string; readonly data: unknown }): void {
    const { source, call, outside } = this.#actor
    if (this.#isOver) return
    const event = { type: 'custom' as const, name: String(name), data, source }
    if (call) this.#state.calls.events.emit(call, event)
    else this.#state.events.push(event, outside)
  }

  warn({ code, message }: { readonly code: string; readonly message: string }): void {
    if (this.#isOver) return
    const { source, call, outside, warned } = this.#actor
    warned?.()
    if (call) this.#state.calls.events.warn(call, { code, message, source })
    else this.#state.events.warn({ code, message, source }, outside)
  }

  annotate(...[attributes, callId]: Parameters<Run['annotate']>): void {
    if (this.#isOver) return
    this.#state.telemetry.annotate(attributes, callId)
  }

  /** Whether the actor's call was abandoned or discarded: then its actions have no effect. */
  get #isOver(): boolean {
    const { call, execution } = this.#actor
    if (!call) return false
    const isAbandoned = execution && hasAbandoned(call.state, execution.invocation)
    return isAbandoned || call.settled || call.discarded !== undefined
  }
}

/** Combines the signals of the run, the call and the actor: a settled call is no longer aborted, but its run may be. */
function signalOf({ signal }: RunState, actor: Actor): AbortSignal {
  const closer = closerSignals(actor)
  return closer.length > 0 ? AbortSignal.any([signal, ...closer]) : signal
}

function closerSignals({ call, execution, own, steps }: Actor): AbortSignal[] {
  return [execution ?? call, own, steps].flatMap((one) => one?.signal ?? [])
}
