/** Defines the interfaces of an agent's capabilities. `agent.ts` registers the implementations, and every run uses them. */

import type { Awaitable } from '../flow/flow.ts'
import type { AgentConfig } from '../vocabulary/agent-config.ts'
import type { PendingInterrupt } from '../vocabulary/interrupt.ts'
import type { ToolCall } from '../vocabulary/message.ts'
import type { ToolDefinition } from '../vocabulary/model.ts'
import type { Resumption } from '../vocabulary/run-options.ts'
import type { Checkpoint, Resumed, SavedUndo } from '../vocabulary/saved-run.ts'
import type { Tool } from '../vocabulary/tool.ts'

export interface Capabilities<Run, Call> {
  readonly checkpoints: CheckpointCapability<Run, Call>
  readonly needs: NeedsCapability<Run, Call>
}

/** Saves runs, and continues them from there. */
export interface CheckpointCapability<Run, Call> {
  /** Creates the saver of a run, which also saves its inner runs. */
  saverOf(run: Run): Saver<Call>
  /**
   * Returns a checkpoint of the run at this moment, equal to what is stored of it. `end`: members of its result.
   *
   * @throws {CheckpointStoreError} The run contains a value that is not JSON.
   */
  take(run: Run, status: Checkpoint['status'], end?: Pick<Checkpoint, 'messages' | 'result'>): Checkpoint
  /** The questions of a call and of agents inside it. Without a call: those of a hook or wrap of the run. */
  questionsOf(run: Run, call?: Call): readonly PendingInterrupt[]
  /** Whether the value is a checkpoint of a run that has its final answer, so that no further step reads new messages. */
  hasFinalAnswer(value: unknown): boolean
  /** Restores the part of a checkpoint that does not depend on the set-up; {@link claim} restores the rest. */
  load(run: Run, resumption: Resumption): Promise<Checkpoint>
  /** Called when the set-up is known: the calls of the checkpoint find their tools. If several processes resume it, one continues. */
  claim(run: Run, resumed: Resumed): Promise<void>
  /** Called if the run ends before that: the calls of the checkpoint are restored unchanged. */
  loadUnclaimed(run: Run): void
}

/** Saves a run. */
export interface Saver<Call> {
  /** Whether there is a store. */
  readonly isOn: boolean
  /** How often the run has been saved. */
  revision: number
  readonly undos: Undos<Call>
  /** Whether executions that wait for a save do not start any more. */
  readonly startsNothing: boolean
  /** Saves without being awaited, at most 10 ms later. If that fails, the next save contains everything. */
  soon(): void
  /** If {@link soon} was called, begins that save with the state of this moment. */
  flush(): Promise<void>
  /**
   * Resolves when the current state, or a later one, is stored.
   *
   * @throws {CheckpointStoreError} The store failed.
   * @throws {CheckpointConflictError} Another process has saved this run in the meantime.
   */
  now(): Promise<void>
  /** Stores exactly this state, after saves that are running. Throws the errors of {@link now}. */
  put(checkpoint: Checkpoint): Promise<void>
  /** Whether this error comes from a save of this run, and not from a tool that has its own checkpoints. */
  hasThrown(error: unknown): boolean
  /** Resolves when no save is running. */
  idle(): Promise<void>
}

/** The undos of a run and of its inner runs. */
export interface Undos<Call> {
  /** Whether an undo of the call with this key had begun before the resume. */
  hadBegun(key: string): boolean
  /**
   * Undoes a call after the beginning of the undo is stored; immediately if there is no store. `id`: the id of the call in the outermost run.
   *
   * @throws {CheckpointError} The beginning could not be stored: nothing is undone, and a resume will undo it.
   */
  during(entry: Call, id: string, undo: () => Awaitable<void>): Promise<void>
  save(): readonly SavedUndo[]
  /** Loads undos of a checkpoint. They are not repeated, and the run warns about those that had not ended. */
  load(saved: readonly SavedUndo[]): void
}

/** Starts calls before their input is complete. */
export interface NeedsCapability<Run, Call> {
  /** What a call with these members would still wait for. Returns nothing if the call may not start early. */
  restOf(run: Run, call: ToolCall, tool: Tool, attempt: number): Rest<Call> | undefined
  /** What `execute` receives for a complete input that was checked. */
  givenOf(tool: Tool, checked: unknown): Given
  /** The tools as the model and the assembler receive them. */
  definitionsOf(tools: readonly Tool[], config: AgentConfig): readonly ToolDefinition[]
  /** The warm-ups of a run whose calls have not started, initially empty. */
  warmUps(): WarmUps
}

/** The rest of the input of a call that has started with only its needed members. */
export interface Rest<Call> {
  /** The call as it started. */
  readonly started: ToolCall
  /** Whether the complete input has not arrived yet. */
  readonly isOpen: boolean
  /** Resolves when it is known whether the complete input is valid. */
  readonly checked: Promise<unknown>
  /** The call with its complete input. Rejects if the call is discarded before. */
  readonly whole: Promise<ToolCall>
  /** Called when the call has started: it receives its complete input, or an error if there will be none. */
  follow(entry: Call, whole: Promise<ToolCall>): void
  /** Called when the complete input has arrived: the call continues, or is discarded if its members are different. */
  complete(entry: Call, call: ToolCall): void
  /** What one execution receives. Rejects, and discards the call, if the call may not start early after all. */
  given(entry: Call, call: ToolCall): Promise<Given>
  /** Called when the rest will not arrive, or must not be used. */
  fail(reason: unknown): void
}

/** What `execute` receives of its call's input: all of it, or the needed members and the rest. */
export interface Given {
  readonly input: unknown
  readonly rest?: AwaitedRest
}

/** The rest of an input for one execution, which waits for it from the moment it first awaits it. Times are in `performance.now()`. */
export interface AwaitedRest {
  readonly promise: Promise<unknown>
  /** When it arrived, or when the execution ended. */
  readonly until: number | undefined
  /** Called when the rest has arrived, or the execution has ended. */
  over(): void
  /** Returns for how many milliseconds between two times the rest was awaited. */
  within(from: number, to: number): number
}

export interface WarmUps {
  /** The model call of a step begins, with new calls. */
  renew(): void
  /** Begins at most one warm-up per call. `failed` receives what `warm` threw, unless that was caused by the abort. */
  begin(tool: Tool, callId: string, failed: (error: unknown) => void): void
  /** Called when the call starts, and takes its warm-up. */
  take(callId: string): WarmUp | undefined
  /** These calls will never start; by default, all that have not started. */
  drop(why: string, callIds?: Iterable<string>): void
}

/** One warm-up, held by its call. */
export interface WarmUp {
  /** The result of the warm-up; `undefined` if that failed. Never rejects. The tool owns it from now on. */
  use(): Promise<unknown>
  abort(reason: unknown): void
  /** Called when the call is over: if it has not used the result, the result is dropped. */
  end(): void
}
