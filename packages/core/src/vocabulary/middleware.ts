/** Defines the types of middleware: hooks, wraps, and what they receive and return. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Awaitable, Flow } from '../flow/flow.ts'
import type { AgentError } from './errors.ts'
import type { AgentEvent, AttemptFailed, CustomEvent } from './events.ts'
import type { AssistantMessage, FinishReason, Message, ToolCall, ToolMessage } from './message.ts'
import type { ModelEvent, ModelRequest } from './model.ts'
import type { CompletedResult } from './result.ts'
import type { AgentSetup, Run, Tool } from './tool.ts'
import type { Progress } from './tool-status.ts'
import type { Warning } from './warning.ts'

/** The flow of a model call. Each event has the number of its attempt when a wrap receives it; a wrap that makes its own events can omit it. */
export type ModelFlow = Flow<(ModelEvent & { readonly attempt?: number }) | AttemptFailed | WrapEvent, AssistantMessage>

/** What a call of a tool yields, in a `wrapTool`. */
export type ToolEvent = (Progress & { readonly type?: undefined }) | WrapEvent

/** The flow of a tool call: it yields events of the call and returns its message. */
export type ToolFlow = Flow<ToolEvent, ToolMessage>

/** The flow of the steps of a run: it yields events and returns the result. */
export type AgentFlow = Flow<AgentEvent, CompletedResult>

/** A custom event that a wrap yields. `source` defaults to the middleware's name. */
export type WrapEvent = Omit<CustomEvent, 'source'> & { readonly source?: string }

/** The history, as hooks receive it. In `beforeFinalAnswer` the last message is the answer, and `finishReason` is its finish reason. */
export interface AgentState {
  /** The history. */
  readonly messages: readonly Message[]
  /** In `beforeFinalAnswer`: the finish reason of the answer. Absent in other hooks. */
  readonly finishReason?: FinishReason
}

/** The result of `beforeFinalAnswer`. `feedback` is the text of a user message, or messages. */
export type Verdict =
  | { readonly accept: true; readonly message?: AssistantMessage }
  | { readonly accept: false; readonly feedback: string | readonly Message[] }

/**
 * Hooks receive data and return changed data, or nothing; the run keeps the change. Wraps receive a call and its `next` and return a flow; their
 * changes apply only to that call.
 *
 * The first middleware is the outermost: `before…` hooks run from first to last, `after…` hooks from last to first, and wraps nest. Core checks what
 * a hook returns, and what a wrap passes to `next`, yields or returns. If it is invalid, the run ends with a `MiddlewareError` that names the
 * middleware and the hook.
 *
 * A wrap that changes nothing is `return yield* next(request)`. When a wrap has ended, core closes and cancels what it left running, and waits for it
 * at most the agent's `grace` time.
 */
export interface Middleware {
  /** The name in events, errors, spans and checkpoints. */
  readonly name: string
  /** Never set. Every function has a `call`, so TypeScript rejects a middleware factory that you forgot to call. */
  readonly call?: never
  /**
   * Whether its `wrapToolCall` neither checks nor changes the inputs of a tool's calls. Then a call inside the wrap may start with only the members
   * that its tool `needs`. Default `false`: inside the wrap every call has its whole input. A function is called with each tool that has `needs`: by
   * `createAgent`, before each model call, and before such a start.
   *
   * If the function throws, or does not return a boolean, `createAgent` throws `ConfigError`, and a run ends with `MiddlewareError`.
   */
  readonly ignoresInput?: boolean | ((tool: Tool) => boolean)
  /** Whether its `wrapModel` also wraps side calls ({@link Run.callModel}). Default `false`: side calls then bypass it. */
  readonly aroundSideCalls?: boolean
  /** The middleware, by name, that it must be `outside` or `inside` of, if the list has them. `createAgent` rejects any other order. */
  readonly order?: { readonly outside?: readonly string[]; readonly inside?: readonly string[] }
  /**
   * The schema of the answers to its questions. If an answer does not match, the resume rejects with `AnswerError` before anything runs, and the
   * question stays open. `run.answers` has the answers as they were given, not what the schema returns. Default: any JSON.
   */
  readonly answer?: StandardSchemaV1
  /**
   * The part of the run's context that its hooks and wraps read: a reader made by `contextOf`, or its schema. If the context does not match, the run
   * ends with `ContextError` before its first model call.
   */
  readonly context?: StandardSchemaV1
  /**
   * Called when a run begins or is resumed, before every `beforeAgent`. It must not wait. `fail` ends the run with an error at any later time. The
   * function that it returns is called when the run has ended or stopped.
   */
  onRun?(run: Run, fail: (error: AgentError) => void): () => void
  /** Called with each warning, before anybody gets it. It returns the warning that the events, the result and the checkpoint have. It must not throw. */
  onWarning?(warning: Warning): Warning
  /** Called with the result of each background call, because its wraps have ended before. It returns the result that counts. It must not throw. */
  onBackgroundResult?(message: ToolMessage): ToolMessage
  /** Called once per run, before any model call. */
  beforeAgent?(setup: AgentSetup, run: Run): Awaitable<AgentSetup | void>
  /** Called once per step, before the request is built from the state. */
  beforeModel?(state: AgentState, run: Run): Awaitable<AgentState | void>
  /** Called once per step, after the model call has succeeded. The loop continues with the last assistant message of the state that it returns. */
  afterModel?(state: AgentState, run: Run): Awaitable<AgentState | void>
  /** Called with each final answer of the model. Returning nothing accepts the answer. */
  beforeFinalAnswer?(state: AgentState, run: Run): Awaitable<Verdict | void>
  /** Wraps all steps of a run. You may call `next` again only after its last flow has ended; earlier it throws a `MiddlewareError`. */
  wrapAgent?(setup: AgentSetup, next: (setup: AgentSetup) => AgentFlow, run: Run): AgentFlow
  /** Wraps each model call. Calling `next` again makes another attempt. */
  wrapModel?(request: ModelRequest, next: (request: ModelRequest) => ModelFlow, run: Run): ModelFlow
  /**
   * Wraps each tool call. Calling `next` again executes the tool again, and throws if the tool throws. If the wrap itself throws, the call fails, and
   * the run gets the warning `wrap-threw`, unless this middleware has already warned.
   */
  wrapToolCall?(call: ToolCall, next: (call: ToolCall) => ToolFlow, run: Run): ToolFlow
  /**
   * Called with each call of an accepted response that has started early, before it is committed: this response may have the call in another order than
   * the attempt in which it started. `early` is the call as it was then, perhaps with another id. `false` discards what has started, and the call passes
   * all wraps again, as one that starts now. One of them must refuse it; otherwise its tool runs twice. It must not wait.
   */
  keepsEarly?(call: ToolCall, early: ToolCall, run: Run): boolean
}
