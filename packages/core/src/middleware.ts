/** What a middleware is, and the run it is handed. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { AgentEvent, AttemptFailed, CustomEvent, PathPart } from './events.ts'
import type { ToolStatus } from './execution/tool-status.ts'
import type { Flow } from './flow/flow.ts'
import type { ResourceKeys } from './machine/resource-keys.ts'
import type { AssistantMessage, FinishReason, Json, Message, ToolCall, ToolMessage, Usage } from './message.ts'
import type { Model, ModelEvent, ModelRequest } from './model.ts'
import type { CompletedResult } from './result.ts'
import type { Attributes, CaptureContent } from './telemetry/options.ts'
import type { Effect, Progress, Tool } from './tool.ts'

export type Awaitable<T> = T | Promise<T>

/** Model events reach a wrap with the number of the attempt they came from; a wrap that makes its own need not set it. */
export type ModelFlow = Flow<(ModelEvent & { readonly attempt?: number }) | AttemptFailed | WrapEvent, AssistantMessage>
export type ToolEvent = (Progress & { readonly type?: undefined }) | WrapEvent
export type ToolFlow = Flow<ToolEvent, ToolMessage>
export type AgentFlow = Flow<AgentEvent, CompletedResult>

/** A custom event as a wrap yields it: `source` defaults to the wrap's name. */
export type WrapEvent = Omit<CustomEvent, 'source'> & { readonly source?: string }

/** What an agent is made of, for one run (C6). */
export interface AgentSetup {
  readonly model: Model
  readonly instructions: string
  readonly tools: readonly Tool[]
  readonly maxSteps: number
  readonly toolConcurrency: number
  readonly innerConcurrency: number
  /** What the run's spans hold of messages; nothing before all `beforeAgent`s are through. */
  readonly captureContent: CaptureContent
}

/** The history, as hooks see it. The gate's ends with the answer, whose finish reason is given (E8). */
export interface AgentState {
  readonly messages: readonly Message[]
  readonly finishReason?: FinishReason
}

/** What the final-answer gate says. Feedback is a user message's text, or messages (E2). */
export type Verdict =
  | { readonly accept: true; readonly message?: AssistantMessage }
  | { readonly accept: false; readonly feedback: string | readonly Message[] }

/**
 * Hooks take data and give back changed data, or nothing: what they change, the run remembers (C7).
 * Wraps take a call and its `next` and give back a flow: what they change lasts for that call (C8).
 *
 * The first middleware is the outermost: before… hooks run first to last, after… hooks last to first, wraps nest (C2).
 * What a hook returns, and what a wrap hands on, yields or returns, is checked: if it cannot work, the run ends with a
 * `MiddlewareError` that names the middleware and the hook.
 *
 * A wrap that does nothing is `return yield* next(request)`. What a wrap leaves behind when it is out is closed and cancelled,
 * and waited for, at most the agent's `grace` time (C15).
 */
export interface Middleware {
  readonly name: string
  /** There is none: every function has one, so that a factory which was not called does not pass for a middleware. */
  readonly call?: never
  /**
   * Whether its `wrapToolCall` neither judges nor changes the inputs of a tool's calls. Inside it a call may then start with only the
   * members that its tool `needs`. A function is asked about each tool with `needs`: by `createAgent`, before each model call, and when
   * a call is to start so. Default `false`: inside the wrap every call has its whole input.
   *
   * If the function throws, or returns no boolean, `createAgent` throws `ConfigError`, and a run ends with `MiddlewareError`.
   */
  readonly ignoresInput?: boolean | ((tool: Tool) => boolean)
  /** Its `wrapModel` goes round the model calls on the side, too ({@link Run.callModel}). Default `false`: they are their asker's. */
  readonly aroundSideCalls?: boolean
  /** Names of middlewares it must stand outside or inside of, where they are there: else `createAgent` refuses the list (O20). */
  readonly order?: { readonly outside?: readonly string[]; readonly inside?: readonly string[] }
  /**
   * The form of the answers to its questions. A resume with an answer that this schema does not accept rejects with
   * {@link AnswerError}, before anything runs, and the question stays open. `run.answers` has the answers as they were given.
   * Default: any JSON.
   */
  readonly answer?: StandardSchemaV1
  /** Once per run, before any model call. */
  beforeAgent?(setup: AgentSetup, run: Run): Awaitable<AgentSetup | void>
  /** Once per step, before the request is made of the state. */
  beforeModel?(state: AgentState, run: Run): Awaitable<AgentState | void>
  /** Once per step, when the model call has stood. The loop acts on the last assistant message it leaves (C9). */
  afterModel?(state: AgentState, run: Run): Awaitable<AgentState | void>
  /** Asked about each answer the model offers; giving back nothing accepts (E1). */
  beforeFinalAnswer?(state: AgentState, run: Run): Awaitable<Verdict | void>
  /** Round all steps of a run. `next` may be called again when the flow it gave before is out; sooner is a `MiddlewareError`. */
  wrapAgent?(setup: AgentSetup, next: (setup: AgentSetup) => AgentFlow, run: Run): AgentFlow
  /** Round each model call. Calling `next` again makes another attempt (C13). */
  wrapModel?(request: ModelRequest, next: (request: ModelRequest) => ModelFlow, run: Run): ModelFlow
  /**
   * Round each tool call. Calling `next` again executes the tool again. A tool's throw comes up as a throw. What the wrap throws
   * itself is the call's failure; a warning `wrap-threw` names the middleware, unless that has already warned.
   */
  wrapToolCall?(call: ToolCall, next: (call: ToolCall) => ToolFlow, run: Run): ToolFlow
}

/** The run as hooks, wraps and tools see it. */
export interface Run {
  readonly id: string
  /** The agent's name, if it has one. */
  readonly agent: string | undefined
  /**
   * Aborted with the run; in a tool and its wraps with their call alone, too; in a wrap and the tool inside it also when a wrap outside
   * of it leaves it (C15), and in a hook when a `wrapAgent` leaves the steps.
   */
  readonly signal: AbortSignal
  readonly setup: AgentSetup
  /** The step at work, from 1; 0 before the first. */
  readonly step: number
  /** What it has used so far: a frozen snapshot. */
  readonly usage: Usage
  /** What this hook, wrap or tool has been answered, first to last, since it last came to its end (L8). */
  readonly answers: readonly Json[]
  /**
   * Makes a call: it starts at once, and at most once. The same id with canonically equal input gives the same promise (A23).
   * A call that a tool or its wraps make belongs to their call: its id must differ from those of the other calls that this call makes,
   * and from those of the response. With the `callId` of this call in front, a reader can tell it from the calls of others.
   *
   * A call of the response that is still coming is provisional until its model call has stood: the loop then commits what it
   * asks for and discards the rest. The promise rejects with {@link ToolDiscardedError} if the call is discarded, and with the
   * `AgentError` a tool ends the run with; any other failure is a message with `isError`.
   *
   * You need not wait for a call: it goes on behind its hook, wrap or tool until the end of the run. Once a wrap outside has left a hook
   * or wrap, its calls are aborted and `callTool` and `callModel` reject with a {@link MiddlewareError}; once the end of the run is
   * decided, `callTool` rejects with a `TypeError`.
   */
  callTool(call: ToolCall, options?: CallOptions): Promise<ToolMessage>
  /**
   * Resolves when the model call that asked for this call has stood; at once for one that did not start early. In the run of an agent
   * that a call of effect `calls` runs early, it also waits until that call is committed. Gives the id that the history has for it: a
   * later attempt may have given it another. Rejects with {@link ToolDiscardedError} if the call is
   * discarded, with {@link UnknownCallError} if the run has not made it, and with the run's own stop if the run is interrupted or
   * cancelled first: from then on, what an early call returns or throws is dropped, and it stays open for a resume. Await this before
   * you ask a human about a call, so that nobody is asked in vain.
   *
   * Several calls may have one id. Here, in `cancelTool` and in `toolStatus` it then means the nearest: inside a call this call, then
   * the calls it has made, then the same of the call that made it, and so on; elsewhere the latest.
   */
  stood(callId: string): Promise<string>
  /**
   * Aborts a call alone: it gets an error result that says so, and the run goes on. Gives `true`, or `false` if the call
   * had settled or was discarded. Throws {@link UnknownCallError} for a call the run has not made,
   * {@link NotCancelableError} for one whose tool forbids it (I4, I5). `path`, as the call's events have it, leads to a call of a run
   * inside one of this run's; `false` if that run is over.
   */
  cancelTool(callId: string, path?: readonly PathPart[]): boolean
  /**
   * How a call is doing; nothing of one that was not made, or that is forgotten: the agent's `statusFor` after its end, and of a call
   * at the end of a `path` when its run is over (I6).
   */
  toolStatus(callId: string, path?: readonly PathPart[]): ToolStatus | undefined
  /**
   * Lets the tool of this name warm up for a call of the response that is coming: at most once per call, and only before it has
   * started. What `warm` throws is a warning (H33).
   */
  warm(callId: string, name: string): void
  /**
   * Asks a model on the side: by default the agent's, without instructions and tools. It has a `chat` span and counts in
   * usage; it is no step and no event, and passes no wraps. Rejects with {@link ModelError}, or with the reason of an
   * abort.
   */
  callModel(request: SideRequest): Promise<AssistantMessage>
  /** A `custom` event, with `data` as it is: keep it JSON. Never waits, never throws (D7). */
  emit(event: { readonly name: string; readonly data: unknown }): void
  /** A warning: in the result, and as an event (B15). */
  warn(warning: { readonly code: string; readonly message: string }): void
  /** Puts attributes on the run's span, or on the coming span of a call. */
  annotate(attributes: Attributes, callId?: string): void
}

export type SideRequest = Pick<ModelRequest, 'messages'> &
  Partial<
    Pick<ModelRequest, 'model' | 'instructions' | 'tools' | 'toolChoice' | 'settings' | 'clientRetries' | 'signal'>
  >

export interface CallOptions {
  /**
   * What a provisional call may do, at the most, before its model call has stood. If the input that its tool gets in the
   * end, after `prepareInput` and all wraps, does more, the tool waits until then. It holds for each call that this call makes, too,
   * and, if its effect is `calls`, for the calls of an agent that it runs. Default: no limit.
   */
  readonly ceiling?: Effect
  /** The resource keys it may name, at the most, by then: the same holds for them. */
  readonly keys?: ResourceKeys
  /**
   * The call's input is no more than the members its tool needs, and this is the call with its whole input (H31). It starts
   * at once, or when the input is whole: if somebody round it may judge or change inputs, an earlier attempt's call may
   * turn out to be the same, or the members may be wrong. If the whole does not agree with it, it is discarded, and the
   * call to be made anew.
   */
  readonly rest?: Promise<ToolCall>
  /** Put on the call's span. */
  readonly attributes?: Attributes
  /**
   * Called when this makes the call, not where it is joined to an earlier one: `status` says at any time how that is doing,
   * for as long as somebody keeps it. Must not throw.
   */
  readonly started?: (status: () => ToolStatus) => void
}
