/** The shapes of the capabilities of an agent, as the centre knows them. `agent.ts` registers the capabilities, and every run has them. */

import type { Awaitable } from '../flow/flow.ts'
import type { AgentConfig, Output } from '../vocabulary/agent-config.ts'
import type { ConfigError, OutputError } from '../vocabulary/errors.ts'
import type { PendingInterrupt } from '../vocabulary/interrupt.ts'
import type { AssistantMessage, ToolCall, ToolMessage, UserMessage } from '../vocabulary/message.ts'
import type { ToolFlow } from '../vocabulary/middleware.ts'
import type { Model, ModelRequest, ToolDefinition } from '../vocabulary/model.ts'
import type { BackgroundHandle } from '../vocabulary/result.ts'
import type { Resumption } from '../vocabulary/run-options.ts'
import type { Checkpoint, Resumed, SavedUndo } from '../vocabulary/saved-run.ts'
import type { Tool } from '../vocabulary/tool.ts'

export interface Capabilities<Run, Call> {
  readonly background: BackgroundCapability<Run, Call>
  readonly checkpoints: CheckpointCapability<Run, Call>
  readonly needs: NeedsCapability<Run, Call>
  readonly output: OutputCapability
}

/** Tools that work in the background. */
export interface BackgroundCapability<Run, Call> {
  /** The background work of a run: none yet. */
  worksOf(run: Run): BackgroundWorks<Call>
  /** The tools of an agent, and those that it has because some of them are these. Throws {@link ConfigError} if a name is taken. */
  withOwnTools(tools: readonly Tool[]): readonly Tool[]
}

/** The background work of a run. Each work is that of a call, and has a call of its own with the same id. */
export interface BackgroundWorks<Call> {
  /** The innermost of `wrapToolCall`: it begins the work, and its result says how to get the real one. */
  start(entry: Call, tool: Tool, call: ToolCall): ToolFlow
  /** The work of a call of this id: of several the latest. */
  get(callId: string): Call | undefined
  /** The work of this call. */
  of(entry: Call): Call | undefined
  /** The result of a call, if there is one; the model has read it then. */
  read(callId: string): ToolMessage | undefined
  /** The results the model has not read, as messages of their own: their calls were answered when they began. */
  deliver(): UserMessage[]
  /** Throws what stops the run if an agent that works in the background asks: the run stops at its next safe point. */
  stopIfAsked(): void
  /** All of it, in the order in which it began. */
  entries(): readonly Call[]
  /** An answer is offered: resolves when nothing it has to wait for is at work. Throws if the run is to stop before that. */
  untilAnswerMayStand(): Promise<void>
  /** The run is to stop: nobody waits for work any more. */
  wake(): void
  /** The run has its answer: open work that its tool detaches goes on, and what the model has not read is the caller's. */
  handOver(): BackgroundHandle[]
  abort(reason: unknown): void
  /** Resolves when nothing that the run has to do with is at work. */
  idle(): Promise<void>
  /** Work of a checkpoint goes on, unless it has come to an end since. */
  goOn(entry: Call): void
}

/** A run is saved, and another goes on from there. */
export interface CheckpointCapability<Run, Call> {
  /** What saves the run, with all that are inside of it. */
  saverOf(run: Run): Saver<Call>
  /**
   * The run as it stands: what it has, not what it waits for; `end`: as its result has it. A copy that equals what is stored of it.
   *
   * @throws {CheckpointStoreError} The run holds what JSON cannot.
   */
  take(run: Run, status: Checkpoint['status'], end?: Pick<Checkpoint, 'messages' | 'result'>): Checkpoint
  /** The questions that a call asks, or an agent inside it; without a call: what a hook or wrap of the run asks. */
  questionsOf(run: Run, call?: Call): readonly PendingInterrupt[]
  /** Whether it is a checkpoint of a run that has its final answer: no further step takes what is sent to it. */
  hasFinalAnswer(value: unknown): boolean
  /** Puts a run into the state of a checkpoint, as far as it does not depend on the set-up; {@link claim} does the rest. */
  load(run: Run, resumption: Resumption): Promise<Checkpoint>
  /** The set-up stands: the calls of the checkpoint find their tools, and of several who resume it one goes on. */
  claim(run: Run, resumed: Resumed): Promise<void>
  /** The run ends before that: the calls of the checkpoint are what they were. */
  loadUnclaimed(run: Run): void
}

/** When a run is saved. */
export interface Saver<Call> {
  /** Whether there is a store. */
  readonly isOn: boolean
  /** How often the run has been saved. */
  revision: number
  readonly undos: Undos<Call>
  /** Saves without being waited for. If that fails, the next save has all that this one had. */
  soon(): void
  /**
   * Resolves when the state of this moment, or a later one, is stored.
   *
   * @throws {CheckpointStoreError} The store failed.
   * @throws {CheckpointConflictError} Somebody else has saved this run in the meantime.
   */
  now(): Promise<void>
  /** Stores this very state, behind what is being saved. Throws like {@link now}. */
  put(checkpoint: Checkpoint): Promise<void>
  /** Whether this error came of a save of this run, and not of a tool that has checkpoints of its own. */
  hasThrown(error: unknown): boolean
  /** Resolves when no save is at work. */
  idle(): Promise<void>
}

/** The undos of a run and of those inside of it. */
export interface Undos<Call> {
  /** Whether a run before this one has begun to undo the call of this key. */
  hadBegun(key: string): boolean
  /**
   * Undoes a call, once it is stored that this begins: where nothing is stored, at once. `id`: as the outermost run knows the call.
   *
   * @throws {CheckpointError} That could not be stored: nothing is undone, and a resume will undo it.
   */
  during(entry: Call, id: string, undo: () => Awaitable<void>): Promise<void>
  save(): readonly SavedUndo[]
  /** Those that had begun by the end of the process are not repeated, and the run tells of those that had not ended. */
  load(saved: readonly SavedUndo[]): void
}

/** Starts that are earlier than eager. */
export interface NeedsCapability<Run, Call> {
  /** What a call with these members would still wait for; nothing if it is not to start so. */
  restOf(run: Run, call: ToolCall, tool: Tool, attempt: number): Rest<Call> | undefined
  /** What `execute` is given of a whole input, checked. */
  givenOf(tool: Tool, checked: unknown): Given
  /** The tools as the model is told of them, and the assembler of what they need. */
  definitionsOf(tools: readonly Tool[], config: AgentConfig): readonly ToolDefinition[]
  /** The warm-ups of a run whose calls have not started: none yet. */
  warmUps(): WarmUps
}

/** What a call that has started with the members its tool needs still waits for: its whole input. */
export interface Rest<Call> {
  /** The call as it started. */
  readonly started: ToolCall
  /** Nobody has brought the whole input yet. */
  readonly isOpen: boolean
  /** Resolves when it is known whether the whole input stands. */
  readonly checked: Promise<unknown>
  /** The call with its whole input, as soon as it has it; rejects when the call was discarded before. */
  readonly whole: Promise<ToolCall>
  /** The call has started so: its whole input, or that there will be none, is told to it. */
  follow(entry: Call, whole: Promise<ToolCall>): void
  /** The whole input is there: the call goes on, or was something else. */
  complete(entry: Call, call: ToolCall): void
  /** What one execution is given. Rejects, and discards the call, if that is not to start so after all. */
  given(entry: Call, call: ToolCall): Promise<Given>
  /** It will not come, or nobody is to have it. */
  fail(reason: unknown): void
}

/** What `execute` is given of its call's input: all of it, or the members it needs and the rest. */
export interface Given {
  readonly input: unknown
  readonly rest?: AwaitedRest
}

/** The rest of an input for one execution, which waits for it from when it first awaits it. Times: `performance.now()`. */
export interface AwaitedRest {
  readonly promise: Promise<unknown>
  /** When it was there, or the execution was out. */
  readonly until: number | undefined
  /** It is there, or the execution is out. */
  over(): void
  /** For how many milliseconds between two times it was waited for. */
  within(from: number, to: number): number
}

export interface WarmUps {
  /** A step's model call begins, with calls of its own. */
  renew(): void
  /** At most once per call. `failed` is told what `warm` threw, unless that answers the abort. */
  begin(tool: Tool, callId: string, failed: (error: unknown) => void): void
  /** The call starts: its warm-up is its own from now on. */
  take(callId: string): WarmUp | undefined
  /** These calls will never come; by default, none that has not started. */
  drop(why: string, callIds?: Iterable<string>): void
}

/** One warm-up, in the hands of the call it is for. */
export interface WarmUp {
  /** What it gave; `undefined` if that failed. Never rejects. The tool has it from now on. */
  use(): Promise<unknown>
  abort(reason: unknown): void
  /** The call is over: what it did not get is dropped. */
  end(): void
}

/** The `output` schema of an agent. */
export interface OutputCapability {
  /** The request as it goes to its model. */
  forModel(request: ModelRequest): ModelRequest
  /** The results of a step in call order: of the calls that were `made`, and of those that give the output. */
  results(calls: readonly ToolCall[], made: readonly ToolMessage[]): ToolMessage[]
  /** The output that an answer gives, or why it does not fit. Without a schema it gives none. */
  check(run: OutputOwner, answer: AssistantMessage | ToolMessage): Promise<CheckedOutput>
}

/** A run, as far as its output concerns it. */
export interface OutputOwner {
  readonly config: { readonly output: Output | undefined }
  readonly setup: { readonly model: Model }
}

export interface CheckedOutput {
  readonly value?: unknown
  /** With what the model reads of it. */
  readonly misfit?: { readonly error: OutputError; readonly feedback: string }
}
