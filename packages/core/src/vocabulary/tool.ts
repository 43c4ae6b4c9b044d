/** Defines the types of tools, and of the run that tools, hooks and wraps receive. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { CallOptions, SideRequest } from './call-options.ts'
import type { Effect } from './effect.ts'
import type { PathPart } from './events.ts'
import type { AssistantMessage, ContentPart, Json, Message, ToolCall, ToolMessage, Usage } from './message.ts'
import type { Model } from './model.ts'
import type { Attributes, CaptureContent } from './span-content.ts'
import type { ToolSchema } from './tool-schema.ts'
import type { Progress, ToolStatus } from './tool-status.ts'

/** The second argument of `execute`. */
export interface ToolContext<Warmed = unknown> {
  /** The id of the call, unique in its run. */
  readonly callId: string
  /**
   * The same for every execution of this call, including when another attempt of the model call requests the call again. Before the whole input of a
   * call with `needs` is known, this is the call id.
   */
  readonly idempotencyKey: string
  /** The number of this execution of the call, from 1. */
  readonly attempt: number
  /** The answers to this call's questions, oldest first. After each `interrupt` the call runs again from the beginning. */
  readonly answers: readonly Json[]
  /**
   * The history of the run at the model call that requested this call. It contains neither the response nor the changes of a `wrapModel` to the
   * request. Frozen. Empty in a stand-alone `runTool`.
   */
  readonly messages: readonly Message[]
  /** Aborts with the run, with this call, or when the wrap that started this execution has ended. It never aborts after the execution has settled. */
  readonly signal: AbortSignal
  /** Absent in a stand-alone `runTool`. */
  readonly run?: Run
  /**
   * The value that the tool's `warm` returned. Absent if `warm` did not run for this call; resolves to `undefined` if `warm` failed; never rejects.
   * `(await context.warmed) ?? (await open())` covers every case.
   */
  readonly warmed?: Promise<Warmed | undefined>
}

/** The context of a tool with `needs`. */
export interface NeedsContext<Input, Warmed = unknown> extends ToolContext<Warmed> {
  /** The whole input, checked. Rejects if it never becomes complete: the stream failed, or the call was discarded or aborted. Awaiting it is optional. */
  readonly rest: Promise<Input>
}

/** The additional context of a tool with a `context` schema. */
export interface HasContext<Context> {
  /** The value that the tool's `context` schema returned. All calls of a run get the same value. */
  readonly context: Context
}

/** The argument of `warm`. It contains no part of the call's input. */
export interface WarmContext {
  /** The id of the call. */
  readonly callId: string
  /** Aborts when the call is aborted or discarded, when the model does not make the call, or when the call ends before the warm-up. */
  readonly signal: AbortSignal
}

/** A tool, as `tool` returns it. `tool` also checks the type of an `execute` for a tool with `needs` or `context`. */
export interface Tool<Input = unknown, Output = unknown, Warmed = unknown> {
  /** The name that the model calls. */
  readonly name: string
  /** What the tool does, for the model. */
  readonly description: string
  /**
   * Checks the input. `execute` gets the value that the schema returns. No time limit and no abort can end this check: a regular expression in it
   * that takes exponential time blocks the event loop.
   */
  readonly input: ToolSchema<Input>
  /** What a call changes outside the program. Default `external`. A function is called with the checked input of each call. */
  readonly effect?: Effect | Method<Input, Effect>
  /**
   * The resource keys that a call reads and writes, such as `file:src/a.ts`, computed from its checked input. If calls of one step have a key in
   * common, readers run at the same time and a writer runs by itself, in call order. An inner call also waits for its keys, but never for the keys of
   * the call that made it. If the function throws, the run warns, and the call counts as `external` without keys.
   */
  reads?(input: Input): readonly string[]
  /** The resource keys that a call writes; see `reads`. */
  writes?(input: Input): readonly string[]
  /**
   * Top-level members of the input, as the model writes them. A call may start as soon as these members are complete, while the model still writes
   * the rest; with an empty list, as soon as the tool's name is known. In every run `execute` gets only these members, and the whole input as
   * `context.rest`. Only for tools with the effect `read` or `calls`.
   *
   * The schema should not change these members: if it does, a call that started with them runs again.
   */
  readonly needs?: readonly string[]
  /**
   * The part of the run's context that `execute` needs, as `context.context`. Each schema checks the context once per run: before the first model
   * call, or, for a tool that a hook or wrap adds, when it is added. If the context does not match, the run ends with `ContextError`. Only `execute`
   * gets this value, no other function of the tool.
   */
  readonly context?: StandardSchemaV1
  /**
   * Prepares a call before its input is known: opens a connection, signs in. Called at most once per call, and not for every call. If it throws, the
   * run warns. Only for tools with the effect `read` or `calls`.
   */
  warm?(context: WarmContext): Warmed | Promise<Warmed>
  /**
   * Undoes a call that succeeded and was then discarded. Called once: if the process ends while it runs, a resume does not repeat it, and warns.
   * Required if the effect is `reversible`.
   */
  compensate?(input: Input, output: Output): void | Promise<void>
  /** Whether the call's result is the final answer of the run, if the `output` schema and the `beforeFinalAnswer` hooks accept it. Default false. */
  readonly returnDirect?: boolean | Method<Output, boolean>
  /** Other names that a model may use for the tool and for members of its input. The history keeps the names that the model wrote. */
  readonly aliases?: ToolAliases
  /**
   * The time limit of one execution, in milliseconds. When it has passed, the signal aborts, and the call fails with `ToolTimeoutError`. A number
   * above 0, or `Infinity`. Default: no limit.
   */
  readonly timeout?: number
  /** Whether `cancelTool` may abort a call of this tool. Default true. An abort of the run always aborts the call. */
  readonly cancelable?: boolean
  /**
   * The maximum number of calls of this tool object that execute at the same time, in all runs together: a positive integer or `Infinity`, the
   * default. Further calls wait, in order of arrival; with `whenFull: 'fail'` they fail immediately with `ToolBusyError`. If an executing call calls
   * the same tool, itself or through an agent inside it, both share one slot.
   */
  readonly concurrency?: number | { readonly limit: number; readonly whenFull?: 'wait' | 'fail' }
  /**
   * The model reads `{ callId, state: 'running' }` immediately, and the call continues in the background. It is executed once. The model reads the
   * result later, and can ask for the status with the tool `tool_status`. If an agent inside the tool asks a question, the run pauses at its next
   * safe point; an interrupt of the tool itself is a failure. The tool must have an `execute`, and its calls never start early. `atEnd` is what
   * happens to unfinished work when the model gives its final answer: the run waits for it (`wait`, the default), aborts it (`cancel`), or returns it
   * in `result.background` (`detach`).
   */
  readonly background?: boolean | { readonly atEnd?: 'wait' | 'cancel' | 'detach' }
  /**
   * For a tool without `execute`: the schema of the answer, which the caller of the run gives. If an answer does not match, the resume rejects with
   * `AnswerError` before any call runs, and the question stays open.
   */
  readonly output?: StandardSchemaV1<unknown, Output>
  /**
   * The schema of the answers to the questions that the tool asks with `interrupt`. Answers are checked as for `output`. `context.answers` has the
   * answers as they were given.
   */
  readonly answer?: StandardSchemaV1
  /**
   * Does the work. An async generator yields {@link Progress} and returns the output. Without `execute` the caller of the run does the work: the call
   * interrupts the run, and the answer given to `resume` is the output.
   */
  execute?(input: Input, context: ToolContext<Warmed>): Output | Promise<Output> | AsyncGenerator<Progress, Output>
  /**
   * Converts the output to what the model reads. Default: a string unchanged, `undefined` as empty text, anything else as JSON. JSON cannot represent
   * a `Map`, an `Error`, a `Response` or an iterable without `toJSON`: then the call gets an error result that explains what to return.
   */
  toContent?(output: Output): readonly ContentPart[]
}

/** Aliases of a tool and of members of its input. An alias must not be empty or ambiguous. */
export interface ToolAliases {
  /** Other names of the tool. */
  readonly names?: readonly string[]
  /** Other names of top-level keys of the input: `{ path: ['file', 'filename'] }`. */
  readonly input?: Readonly<Record<string, readonly string[]>>
}

/** The type of a function member. It is bivariant like a method, so that tools with different inputs can be members of one list. */
export type Method<Input, Result> = { method(input: Input): Result }['method']

/** The settings of one run, which `beforeAgent` and `wrapAgent` may replace. */
export interface AgentSetup {
  /** The model that the steps call. */
  readonly model: Model
  /** The system prompt. */
  readonly instructions: string
  /** The tools, including those that middleware has added. */
  readonly tools: readonly Tool[]
  /** The maximum number of steps. */
  readonly maxSteps: number
  /** The maximum number of tool calls that execute at the same time. */
  readonly toolConcurrency: number
  /** The maximum number of calls that one call makes and that execute at the same time. */
  readonly innerConcurrency: number
  /** Which message contents the run's spans contain. Until all `beforeAgent` hooks have ended, spans contain none. */
  readonly captureContent: CaptureContent
}

/** The run, as hooks, wraps and tools receive it. */
export interface Run {
  /** The id of the run. */
  readonly id: string
  /** The agent's name, if it has one. */
  readonly agent: string | undefined
  /**
   * Aborts with the run. In a tool and its wraps it also aborts with their call. In a wrap, and in the tool inside it, it also aborts when an outer
   * wrap ends. In a hook, it also aborts when a `wrapAgent` ends the steps.
   */
  readonly signal: AbortSignal
  /** The current settings of the run. */
  readonly setup: AgentSetup
  /** The number of the current step, from 1; 0 before the first step. */
  readonly step: number
  /** The tokens that the run has used so far: a frozen snapshot. */
  readonly usage: Usage
  /** The history as it is now. Frozen. */
  readonly messages: readonly Message[]
  /** The answers to the questions of this hook, wrap or tool since it last ended, oldest first. */
  readonly answers: readonly Json[]
  /**
   * Makes a tool call. It starts immediately, and at most once: a second call with the same id and an equal input returns the same promise. A call
   * that a tool or its wraps make belongs to the call that they run for. Its id must differ from those of the other calls that this call makes. The id
   * and the input of a call of the response mean that call.
   *
   * A call of a response that is still streaming is provisional until its model call has succeeded: then the loop commits the calls that the response
   * requests and discards the rest. The promise rejects with `ToolDiscardedError` if the call is discarded, and with the `AgentError` with which a
   * tool ends the run. Any other failure is a message with `isError`.
   *
   * You do not have to wait for a call: it continues after its hook, wrap or tool, until the end of the run. When an outer wrap ends a hook or wrap,
   * the calls of that hook or wrap are aborted, and its `callTool` and `callModel` reject with a `MiddlewareError`. Once the end of the run is
   * decided, `callTool` rejects with a `TypeError`.
   */
  callTool(call: ToolCall, options?: CallOptions): Promise<ToolMessage>
  /**
   * Resolves when the model call that requested this call has succeeded; immediately for a call that did not start early. Resolves with the call's id
   * in the history, which a later attempt may have changed. In the run of an agent that a call with the effect `calls` runs early, it also waits
   * until that outer call is committed. Await this before you ask a human about a call, otherwise the human may decide about a call that is then
   * discarded.
   *
   * Rejects with `ToolDiscardedError` if the call is discarded, and with `UnknownCallError` if the run has not made it. If the run is interrupted or
   * cancelled first, it rejects with the `RunStop` of the run: from then on the run drops what an early call returns or throws, and the call stays
   * open for a resume.
   *
   * If several calls have the same id, the id means the nearest call, also in `cancelTool` and `toolStatus`. Inside a call that is this call, then
   * the calls it made, then the same for the call that made it, and so on. Elsewhere it is the latest call.
   */
  stood(callId: string): Promise<string>
  /**
   * Aborts one call. The call gets an error result that states this, and the run continues. Returns `true`, or `false` if the call had settled or was
   * discarded. `path`, as in the call's events, leads to a call of a run inside this run; `false` if that run has ended.
   *
   * @throws {UnknownCallError} The run has not made this call.
   * @throws {NotCancelableError} The tool has `cancelable: false`.
   */
  cancelTool(callId: string, path?: readonly PathPart[]): boolean
  /**
   * Returns the status of a call, or `undefined` if the run has not made it or no longer keeps its status. A status is kept for `statusFor`
   * milliseconds after the end of the call. For a call at the end of a `path`, it is kept only until its run has ended.
   */
  toolStatus(callId: string, path?: readonly PathPart[]): ToolStatus | undefined
  /**
   * Whether the request that reached the model offered the tool of this call of the response. If not, the call is not executed: the model reads that
   * the tool is not available in this step. True for a call that no model wrote.
   */
  isOffered(call: ToolCall): boolean
  /**
   * Runs `warm` of the tool with this name for a call of the response that is streaming: at most once per call, and only before the call has started.
   * If `warm` throws, the run warns.
   */
  warm(callId: string, name: string): void
  /**
   * Makes a model call outside the steps: by default to the agent's model, without instructions and tools. It has a `chat` span and counts in
   * `usage`. It is not a step and emits no events, and only wraps with `aroundSideCalls` wrap it. Rejects with `ModelError`, or with the reason of an
   * abort.
   */
  callModel(request: SideRequest): Promise<AssistantMessage>
  /** Emits a `custom` event. `data` is passed on unchanged: it should be JSON. Never waits, never throws. */
  emit(event: { readonly name: string; readonly data: unknown }): void
  /** Adds a warning to the result, and emits it as an event. */
  warn(warning: { readonly code: string; readonly message: string }): void
  /** Sets attributes on the run's span, or on the future span of a call. */
  annotate(attributes: Attributes, callId?: string): void
}
