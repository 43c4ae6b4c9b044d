/** Creates agents. An agent is immutable and can run many times at once. */

import { abortAll } from './background/background.ts'
import { type BeginOptions, beginRun } from './checkpoint/begin.ts'
import { RunSaver } from './checkpoint/saver.ts'
import { checkpointOf } from './checkpoint/take.ts'
import { configOf } from './config.ts'
import { type CloseOptions, closeRun } from './resume/close.ts'
import { type AgentRun, startRun } from './run/agent-run.ts'
import { viewOf } from './run/run-view.ts'
import type { RunWork } from './state/run.ts'
import type { AgentConfig } from './vocabulary/agent-config.ts'
import type { AgentOptions, OtherOptions } from './vocabulary/agent-options.ts'
import { branded } from './vocabulary/brand.ts'
import { behind } from './vocabulary/copies.ts'
import { ConfigError } from './vocabulary/errors.ts'
import type { Answers } from './vocabulary/interrupt.ts'
import type { Middleware } from './vocabulary/middleware.ts'
import type { AgentResult, CancelledResult } from './vocabulary/result.ts'
import type { ContextOf, ResumeOptions, RunArguments, RunInput, RunOptions } from './vocabulary/run-options.ts'
import type { Checkpoint } from './vocabulary/saved-run.ts'
import type { Tool } from './vocabulary/tool.ts'

/**
 * An agent, as `createAgent` returns it. `Output` is the output type of its `output` schema, `Context` what the `context` schemas of its tools and
 * middleware accept: if it is not `unknown`, a run needs one.
 */
export interface Agent<Output = unknown, Context = unknown> {
  /** The `name` option. */
  readonly name: string | undefined
  /** The `description` option. */
  readonly description: string | undefined
  /** The middleware, outermost first: `agent.with({ middleware: [...agent.middleware, innermost] })` adds one. */
  readonly middleware: readonly Middleware[]
  /** The tools, without those that middleware adds to a run. */
  readonly tools: readonly Tool[]
  /** Runs to the end and returns the result: like `stream(input).result`, but without storing events. */
  run(input: RunInput, ...options: RunArguments<RunOptions, Context>): Promise<AgentResult<Output>>
  /**
   * Returns a new agent with changed options, for example for one request or one user. Options that you omit stay the same. Both agents share the
   * `concurrency` limits of their common tools. By its type the new agent needs the context of this one, and that of the new tools and middleware.
   *
   * @throws {ConfigError} An option is invalid.
   */
  with<
    const Tools extends readonly Tool[] = readonly Tool[],
    const Middlewares extends readonly Middleware[] = readonly Middleware[],
  >(
    options: AgentChanges<Output, Tools, Middlewares>,
  ): Agent<Output, Context & ContextOf<Tools[number] | Middlewares[number]>>
  /** Starts a run and returns it immediately. */
  stream(input: RunInput, ...options: RunArguments<RunOptions, Context>): AgentRun<Output>
  /**
   * Stores a run without starting it, so that `resume` can start it in another process, or again after a crash. It calls no hook and makes no span.
   * Returns the first checkpoint of the run. Without a store nothing is stored: give the checkpoint to `resume`. Give the context of the run to
   * `resume`, too.
   *
   * Rejects with `InputError` for an invalid input, and with `CheckpointConflictError` if the store has a checkpoint with this id.
   */
  begin(input: RunInput, options?: BeginOptions): Promise<Checkpoint>
  /**
   * Continues a run from its checkpoint, or from the checkpoint stored with the run's id. `answers` has the answers to its questions, by id of the
   * interrupt; a question without an answer stays open. A completed run returns its result again, without any call.
   *
   * Before anything runs, the result rejects with
   * - `CheckpointCorruptError`, `CheckpointVersionError`, `CheckpointMismatchError` or `CheckpointMissingError` for an unusable checkpoint,
   * - `CheckpointConflictError` if another process has resumed the stored run,
   * - `UnknownInterruptError` for an answer to an unknown question, `AnswerError` for an answer that does not match its schema, `TypeError` for an
   *   answer that is not JSON,
   * - `ContextError` for a context that does not match, `InputError` for messages sent to a run that had ended.
   */
  resume(
    checkpoint: Checkpoint | string,
    ...options: RunArguments<ResumeOptions, Context, [answers: Answers | undefined]>
  ): AgentRun<Output>
  /**
   * Closes a run that was interrupted, cancelled or cut off and that will not continue. Each open call gets a result: its own if it had settled,
   * otherwise an error with the reason. No hook, tool or model is called, and nothing is undone. The `messages` of the result can be the input of a
   * new run. Its `unknown` lists the calls that may have been executed.
   *
   * With a store the closed run is saved, so that an older checkpoint cannot continue it. If you resume the closed run, the model is asked what to do
   * next.
   *
   * Rejects with `CheckpointConflictError` if another process has resumed the stored run, with `CheckpointError` if the run has its final answer
   * (`hasFinalAnswer`), and like `resume` for an unusable checkpoint.
   */
  close(checkpoint: Checkpoint | string, options?: CloseOptions): Promise<CancelledResult>
}

/** The options that `agent.with` can change: all except `name`, `output` and `checkpoints`. */
export type AgentChanges<
  Output = unknown,
  Tools extends readonly Tool[] = readonly Tool[],
  Middlewares extends readonly Middleware[] = readonly Middleware[],
> = Partial<Omit<AgentOptions<Output, Tools, Middlewares>, 'name' | 'output' | 'checkpoints'>>

/** The functions that a run's state calls. They are passed in, because the state must not import them. */
const WORK: RunWork = { view: viewOf, abort: abortAll, saverOf: (run) => new RunSaver(run), take: checkpointOf }

/** Creates an agent. Throws {@link ConfigError} with the name of the first invalid option. */
export function createAgent<
  Output = unknown,
  const Tools extends readonly Tool[] = readonly Tool[],
  const Middlewares extends readonly Middleware[] = readonly Middleware[],
>(
  options: OtherOptions & AgentOptions<Output, Tools, Middlewares>,
): Agent<Output, ContextOf<Tools[number] | Middlewares[number]>>

export function createAgent<Output>(options: AgentOptions<Output>): Agent<Output> {
  const config = configOf(options)
  // Copies, because the caller may change its own lists later.
  const { tools = [], middleware = [] } = options
  const own = { ...options, tools: [...tools], middleware: [...middleware], settings: config.settings }
  // A run checks its output with the schema, so every result has the type `Output`.
  const start = startRun as StartRun<Output>
  const agent: Agent<Output> = {
    name: config.name,
    description: config.description,
    middleware: Object.freeze(own.middleware),
    tools: Object.freeze(own.tools),
    run: (input: RunInput, options?: RunOptions) => start(WORK, config, { input }, options ?? {}, 'dropped').result,
    with: (changes: AgentChanges<Output>) => createAgent<Output>({ ...own, ...changes }),
    stream: (input: RunInput, options?: RunOptions) => start(WORK, config, { input }, options ?? {}, 'kept'),
    begin: (input: RunInput, options?: BeginOptions) => beginRun(WORK, config, input, options),
    resume: (from: Checkpoint | string, answers: Answers = {}, options?: ResumeOptions) =>
      start(WORK, config, { resume: { from, answers, rerun: options?.rerun } }, options ?? {}, 'kept'),
    close: (from: Checkpoint | string, options?: CloseOptions) => closeRun(config, from, options),
  }
  return Object.freeze(branded('agent', agent, config))
}

/** Returns the configuration of an agent. Throws {@link ConfigError} if {@link createAgent} did not make it. */
export function configBehind(agent: Agent): AgentConfig {
  const config = behind<AgentConfig>('agent', agent)
  if (!config) throw new ConfigError('agent', 'must be an agent that createAgent made')
  return config
}

type StartRun<Output> = (...options: Parameters<typeof startRun>) => AgentRun<Output>
