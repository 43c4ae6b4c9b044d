/** What a tool is, and what its author promises of it. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { CallOptions, SideRequest } from './call-options.ts'
import type { Effect } from './effect.ts'
import type { PathPart } from './events.ts'
import type { AssistantMessage, ContentPart, Json, Message, ToolCall, ToolMessage, Usage } from './message.ts'
import type { Model } from './model.ts'
import type { Attributes, CaptureContent } from './span-content.ts'
import type { ToolSchema } from './tool-schema.ts'
import type { Progress, ToolStatus } from './tool-status.ts'

export interface ToolContext<Warmed = unknown> {
  readonly callId: string
  /**
   * The same for every execution of this logical call, across attempts of the model call too. Of a call that started with
   * the members it needs, the call id stands for it until its input is whole.
   */
  readonly idempotencyKey: string
  /** The n-th execution of this call, from 1. */
  readonly attempt: number
  /** What this call has been answered, first to last: it starts from its top after each `interrupt`. */
  readonly answers: readonly Json[]
  /**
   * The history of the run as it was when the model was asked for the response that requested this call: without that response, and without
   * what a `wrapModel` changed in the request. Frozen. Of a stand-alone `runTool` it is empty.
   */
  readonly messages: readonly Message[]
  /**
   * Aborted while the function works: with the run, with this call, or for this execution alone when the wrap that asked for it
   * has left. Never once that has settled.
   */
  readonly signal: AbortSignal
  /** Absent in a stand-alone `runTool`. */
  readonly run?: Run
  /**
   * What the tool's `warm` gave: absent if the call was not warmed up, `undefined` if that failed; never rejects. So
   * `(await context.warmed) ?? (await open())` is right in every case.
   */
  readonly warmed?: Promise<Warmed | undefined>
}

/** What `execute` of a tool with `needs` gets besides. */
export interface NeedsContext<Input, Warmed = unknown> extends ToolContext<Warmed> {
  /**
   * The whole input, checked. Rejects when it will not come: the stream failed, or the call was discarded or aborted. Need
   * not be awaited.
   */
  readonly rest: Promise<Input>
}

/** What `execute` of a tool with `context` gets besides. */
export interface HasContext<Context> {
  /** What the schema of the tool's `context` returned: the same value for all calls of a run. */
  readonly context: Context
}

/** What `warm` gets: nothing of the call but its id. */
export interface WarmContext {
  readonly callId: string
  /** Aborted when the call is aborted or discarded, will never come, or is over before the warm-up is. */
  readonly signal: AbortSignal
}

/** `execute` of a tool with `needs` is typed by `tool`. */
export interface Tool<Input = unknown, Output = unknown, Warmed = unknown> {
  readonly name: string
  readonly description: string
  /**
   * Checks the input; what it gives back is what `execute` gets. No time limit or abort ends a check: a pattern in it that takes exponential
   * time blocks the event loop.
   */
  readonly input: ToolSchema<Input>
  /** Default `external`. A function is asked with each call's checked input. */
  readonly effect?: Effect | Method<Input, Effect>
  /**
   * Names of what a call reads and writes, such as `file:src/a.ts`, from its checked input. Of calls of a step that name
   * the same key readers overlap and a writer runs alone, in call order. A call that another call makes waits for its keys, too,
   * but never for those of its maker. A throw counts as an `external` call without keys, and is a warning.
   */
  reads?(input: Input): readonly string[]
  writes?(input: Input): readonly string[]
  /**
   * Top-level members of the input, as the model writes them. A call may start when they are complete, while the rest is still being
   * written. With an empty list it may start when the name of its tool is known. In every run `execute` gets only these members, and the
   * whole input as `context.rest`. For tools declared `read` or `calls`.
   *
   * A schema is to leave them as they are: a call that started with a member which the schema changes is made anew.
   */
  readonly needs?: readonly string[]
  /**
   * The part of the run's context that `execute` needs, as `context.context`. The context of a run is checked before its first model call,
   * and for a tool that a hook or wrap adds when that is added; with each schema once per run. If it does not fit, the run ends with
   * `ContextError`. No other function of the tool gets it.
   */
  readonly context?: StandardSchemaV1
  /**
   * Prepares for a call whose input is not known yet: opens a connection, signs in. At most once per call, and in some runs
   * never. A throw is a warning. For tools declared `read` or `calls`.
   */
  warm?(context: WarmContext): Warmed | Promise<Warmed>
  /**
   * Undoes a call that succeeded and was then discarded. Called once: if the process ends meanwhile, a resume does not repeat it, and
   * warns. Required for `reversible`.
   */
  compensate?(input: Input, output: Output): void | Promise<void>
  /** The result is the run's answer, if the final-answer gate accepts it. */
  readonly returnDirect?: boolean | Method<Output, boolean>
  /** Other words a model may use: of them only the history knows. */
  readonly aliases?: ToolAliases
  /**
   * Milliseconds from the start of `execute`, then its signal aborts, and the call fails with `ToolTimeoutError`. A number
   * above 0, or `Infinity`; default: no limit.
   */
  readonly timeout?: number
  /** Whether `cancelTool` may abort a call of it. Default true; an abort of the run always does. */
  readonly cancelable?: boolean
  /**
   * How many calls of this tool object execute at once, over all runs: a positive integer, or `Infinity`, the default. One that
   * finds no slot waits in order of arrival, or with `whenFull: 'fail'` fails at once with `ToolBusyError`. While a call
   * executes, the calls of the same tool that work for it share its slot: those it makes, and those of an agent inside it.
   */
  readonly concurrency?: number | { readonly limit: number; readonly whenFull?: 'wait' | 'fail' }
  /**
   * Answers each call at once with `{ callId, state: 'running' }` and goes on beside the run, begun once; the model hears
   * of the result later, and may ask with the tool `tool_status`. If an agent that it runs asks a question, the
   * calling run pauses at its next safe point. Any other background tool can ask nobody: its interrupt is its failure. It needs an
   * `execute`. `atEnd`: what becomes of open work when the model answers: the answer waits for it (the
   * default), it is aborted, or `result.background` has it. Never early.
   */
  readonly background?: boolean | { readonly atEnd?: 'wait' | 'cancel' | 'detach' }
  /**
   * Of a tool without `execute`: what its caller may answer. A resume with an answer that this schema does not accept rejects with
   * `AnswerError`, before any call is made, and the question stays open.
   */
  readonly output?: StandardSchemaV1<unknown, Output>
  /** The same for the answers to what a tool asks by `interrupt`. `context.answers` has the answers as they were given. */
  readonly answer?: StandardSchemaV1
  /**
   * Does the work. An async generator yields {@link Progress} and returns its output. Without it the caller of the run
   * does: the run is interrupted with the call, and the answer given to `resume` is the output.
   */
  execute?(input: Input, context: ToolContext<Warmed>): Output | Promise<Output> | AsyncGenerator<Progress, Output>
  /**
   * How the model reads the output. Default: a string as it is, `undefined` as empty text, anything else as JSON. A `Map`, an `Error`, a
   * `Response` or an iterable without `toJSON`, which JSON cannot show, is then an error result that says what to return.
   */
  toContent?(output: Output): readonly ContentPart[]
}

/** None may be empty, or stand for two things. */
export interface ToolAliases {
  /** Other names of the tool. */
  readonly names?: readonly string[]
  /** Other names of top-level keys of its input: `{ path: ['file', 'filename'] }`. */
  readonly input?: Readonly<Record<string, readonly string[]>>
}

/** A function member that, like a method, lets tools of different inputs stand in one list. */
export type Method<Input, Result> = { method(input: Input): Result }['method']

/** What an agent is made of, for one run. */
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

/** The run as hooks, wraps and tools see it. */
export interface Run {
  readonly id: string
  /** The agent's name, if it has one. */
  readonly agent: string | undefined
  /**
   * Aborted with the run; in a tool and its wraps with their call alone, too; in a wrap and the tool inside it also when a wrap outside
   * of it leaves it, and in a hook when a `wrapAgent` leaves the steps.
   */
  readonly signal: AbortSignal
  readonly setup: AgentSetup
  /** The step at work, from 1; 0 before the first. */
  readonly step: number
  /** What it has used so far: a frozen snapshot. */
  readonly usage: Usage
  /** What this hook, wrap or tool has been answered, first to last, since it last ended. */
  readonly answers: readonly Json[]
  /**
   * Makes a call: it starts at once, and at most once. The same id with canonically equal input gives the same promise.
   * A call that a tool or its wraps make belongs to their call: its id must differ from those of the other calls that this call makes,
   * and from those of the response. With the `callId` of this call in front, a reader can tell it from the calls of others.
   *
   * A call of the response that is still coming is provisional until its model call has stood: the loop then commits what it
   * asks for and discards the rest. The promise rejects with `ToolDiscardedError` if the call is discarded, and with the
   * `AgentError` a tool ends the run with; any other failure is a message with `isError`.
   *
   * You need not wait for a call: it goes on behind its hook, wrap or tool until the end of the run. Once a wrap outside has left a hook
   * or wrap, its calls are aborted and `callTool` and `callModel` reject with a `MiddlewareError`; once the end of the run is
   * decided, `callTool` rejects with a `TypeError`.
   */
  callTool(call: ToolCall, options?: CallOptions): Promise<ToolMessage>
  /**
   * Resolves when the model call that asked for this call has stood; at once for one that did not start early. In the run of an agent
   * that a call of effect `calls` runs early, it also waits until that call is committed. Gives the id that the history has for it: a
   * later attempt may have given it another. Rejects with `ToolDiscardedError` if the call is
   * discarded, with `UnknownCallError` if the run has not made it, and with the run's own stop if the run is interrupted or
   * cancelled first: from then on, what an early call returns or throws is dropped, and it stays open for a resume. Await this before
   * you ask a human about a call, so that nobody is asked in vain.
   *
   * Several calls may have one id. Here, in `cancelTool` and in `toolStatus` it then means the nearest: inside a call this call, then
   * the calls it has made, then the same of the call that made it, and so on; elsewhere the latest.
   */
  stood(callId: string): Promise<string>
  /**
   * Aborts a call alone: it gets an error result that says so, and the run goes on. Gives `true`, or `false` if the call
   * had settled or was discarded. Throws `UnknownCallError` for a call the run has not made,
   * `NotCancelableError` for one whose tool forbids it. `path`, as the call's events have it, leads to a call of a run
   * inside one of this run's; `false` if that run is over.
   */
  cancelTool(callId: string, path?: readonly PathPart[]): boolean
  /**
   * How a call is doing; nothing of one that was not made, or that is forgotten: the agent's `statusFor` after its end, and of a call
   * at the end of a `path` when its run is over.
   */
  toolStatus(callId: string, path?: readonly PathPart[]): ToolStatus | undefined
  /**
   * Lets the tool of this name warm up for a call of the response that is coming: at most once per call, and only before it has
   * started. What `warm` throws is a warning.
   */
  warm(callId: string, name: string): void
  /**
   * Asks a model on the side: by default the agent's, without instructions and tools. It has a `chat` span and counts in
   * usage; it is no step and no event, and passes no wraps. Rejects with `ModelError`, or with the reason of an
   * abort.
   */
  callModel(request: SideRequest): Promise<AssistantMessage>
  /** A `custom` event, with `data` as it is: keep it JSON. Never waits, never throws. */
  emit(event: { readonly name: string; readonly data: unknown }): void
  /** A warning: in the result, and as an event. */
  warn(warning: { readonly code: string; readonly message: string }): void
  /** Puts attributes on the run's span, or on the coming span of a call. */
  annotate(attributes: Attributes, callId?: string): void
}
