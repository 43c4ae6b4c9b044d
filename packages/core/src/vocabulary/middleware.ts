/** What a middleware is, and the run it is handed. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Awaitable, Flow } from '../flow/flow.ts'
import type { AgentEvent, AttemptFailed, CustomEvent } from './events.ts'
import type { AssistantMessage, FinishReason, Message, ToolCall, ToolMessage } from './message.ts'
import type { ModelEvent, ModelRequest } from './model.ts'
import type { CompletedResult } from './result.ts'
import type { AgentSetup, Run, Tool } from './tool.ts'
import type { Progress } from './tool-status.ts'

/** Model events reach a wrap with the number of the attempt they came from; a wrap that makes its own need not set it. */
export type ModelFlow = Flow<(ModelEvent & { readonly attempt?: number }) | AttemptFailed | WrapEvent, AssistantMessage>

export type ToolEvent = (Progress & { readonly type?: undefined }) | WrapEvent

export type ToolFlow = Flow<ToolEvent, ToolMessage>

export type AgentFlow = Flow<AgentEvent, CompletedResult>

/** A custom event as a wrap yields it: `source` defaults to the wrap's name. */
export type WrapEvent = Omit<CustomEvent, 'source'> & { readonly source?: string }

/** The history, as hooks see it. The gate's ends with the answer, whose finish reason is given. */
export interface AgentState {
  readonly messages: readonly Message[]
  readonly finishReason?: FinishReason
}

/** What the final-answer gate says. Feedback is a user message's text, or messages. */
export type Verdict =
  | { readonly accept: true; readonly message?: AssistantMessage }
  | { readonly accept: false; readonly feedback: string | readonly Message[] }

/**
 * Hooks take data and give back changed data, or nothing: what they change, the run remembers.
 * Wraps take a call and its `next` and give back a flow: what they change lasts for that call.
 *
 * The first middleware is the outermost: before… hooks run first to last, after… hooks last to first, wraps nest.
 * What a hook returns, and what a wrap hands on, yields or returns, is checked: if it cannot work, the run ends with a
 * `MiddlewareError` that names the middleware and the hook.
 *
 * A wrap that does nothing is `return yield* next(request)`. What a wrap leaves behind when it is out is closed and cancelled,
 * and waited for, at most the agent's `grace` time.
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
  /** Names of middlewares it must stand outside or inside of, where they are there: else `createAgent` refuses the list. */
  readonly order?: { readonly outside?: readonly string[]; readonly inside?: readonly string[] }
  /**
   * The form of the answers to its questions. A resume with an answer that this schema does not accept rejects with
   * `AnswerError`, before anything runs, and the question stays open. `run.answers` has the answers as they were given.
   * Default: any JSON.
   */
  readonly answer?: StandardSchemaV1
  /**
   * The part of the run's context that its hooks and wraps read, with a reader made by `contextOf`: the reader itself, or its schema. Then a
   * context that does not fit ends the run with `ContextError` before its first model call.
   */
  readonly context?: StandardSchemaV1
  /** Once per run, before any model call. */
  beforeAgent?(setup: AgentSetup, run: Run): Awaitable<AgentSetup | void>
  /** Once per step, before the request is made of the state. */
  beforeModel?(state: AgentState, run: Run): Awaitable<AgentState | void>
  /** Once per step, when the model call has stood. The loop acts on the last assistant message it leaves. */
  afterModel?(state: AgentState, run: Run): Awaitable<AgentState | void>
  /** Asked about each answer the model offers; giving back nothing accepts. */
  beforeFinalAnswer?(state: AgentState, run: Run): Awaitable<Verdict | void>
  /** Round all steps of a run. `next` may be called again when the flow it gave before is out; sooner is a `MiddlewareError`. */
  wrapAgent?(setup: AgentSetup, next: (setup: AgentSetup) => AgentFlow, run: Run): AgentFlow
  /** Round each model call. Calling `next` again makes another attempt. */
  wrapModel?(request: ModelRequest, next: (request: ModelRequest) => ModelFlow, run: Run): ModelFlow
  /**
   * Round each tool call. Calling `next` again executes the tool again. A tool's throw comes up as a throw. What the wrap throws
   * itself is the call's failure; a warning `wrap-threw` names the middleware, unless that has already warned.
   */
  wrapToolCall?(call: ToolCall, next: (call: ToolCall) => ToolFlow, run: Run): ToolFlow
}
