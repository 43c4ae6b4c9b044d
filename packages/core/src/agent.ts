/** An agent: immutable, and able to run many times at once. */

import { background } from './background/background.ts'
import { type BeginOptions, beginRun } from './checkpoint/begin.ts'
import { checkpoints } from './checkpoint/checkpoints.ts'
import { type CloseOptions, closeRun } from './checkpoint/close.ts'
import { configOf } from './config.ts'
import { needs } from './needs/needs.ts'
import { output } from './output/output.ts'
import { type AgentRun, startRun } from './run/agent-run.ts'
import { viewOf } from './run/run-view.ts'
import type { RunWork } from './state/run.ts'
import { abortCalls } from './tool-call/commit-or-discard.ts'
import type { AgentConfig } from './vocabulary/agent-config.ts'
import type { AgentOptions } from './vocabulary/agent-options.ts'
import { ConfigError } from './vocabulary/errors.ts'
import type { Answers } from './vocabulary/interrupt.ts'
import type { Middleware } from './vocabulary/middleware.ts'
import type { AgentResult, CancelledResult } from './vocabulary/result.ts'
import type { ResumeOptions, RunInput, RunOptions } from './vocabulary/run-options.ts'
import type { Checkpoint } from './vocabulary/saved-run.ts'
import type { Tool } from './vocabulary/tool.ts'

/** `Output`: what its `output` schema gives back. */
export interface Agent<Output = unknown> {
  readonly name: string | undefined
  readonly description: string | undefined
  /** Its middleware, the outermost first: `agent.with({ middleware: [...agent.middleware, innermost] })` adds one. */
  readonly middleware: readonly Middleware[]
  /** Its tools, without those that middleware adds to a run. */
  readonly tools: readonly Tool[]
  /** Runs to the end and gives the result: what `stream(input).result` gives, keeping no events. */
  run(input: RunInput, options?: RunOptions): Promise<AgentResult<Output>>
  /**
   * An agent that differs in these options: for one request, or one user. An option that is given replaces this agent's. A tool's limit
   * over all runs holds for the runs of both.
   *
   * @throws {ConfigError} An option cannot work.
   */
  with(options: AgentChanges<Output>): Agent<Output>
  /** Starts a run and gives it at once. */
  stream(input: RunInput, options?: RunOptions): AgentRun<Output>
  /**
   * Stores a run of which nothing has run, so that `resume` can begin it in another process, or again after a crash. No hook is called, and there
   * is no span. Returns its first checkpoint. Without a store nothing is stored: `resume` takes the checkpoint itself. Give the context of the run to
   * `resume`.
   *
   * Rejects with `InputError` for a wrong input, and with `CheckpointConflictError` if the store has a checkpoint under this id.
   */
  begin(input: RunInput, options?: BeginOptions): Promise<Checkpoint>
  /**
   * Goes on from a checkpoint, or from the one stored under a run's id. `answers`, by id of the interrupt, are what it has waited
   * for; what is not answered stays open, not run. A completed run gives its result again, without any call.
   *
   * The result rejects, before anything runs, with `CheckpointCorruptError`, `CheckpointVersionError`,
   * `CheckpointMismatchError`, `CheckpointMissingError`, `UnknownInterruptError`, `AnswerError` for an
   * answer that its asker does not accept, `ContextError` for a context that does not fit, `InputError` for messages sent to a run that had ended, or, if somebody else has
   * resumed what is stored, with `CheckpointConflictError`. An answer that is no JSON is a `TypeError`.
   */
  resume(checkpoint: Checkpoint | string, answers?: Answers, options?: ResumeOptions): AgentRun<Output>
  /**
   * Closes a run that was interrupted, cancelled or cut off, and is not to go on. Each open call is answered: with its result if it had
   * settled, else with the reason, as an error. No hook, tool or model is called, and nothing is undone. The `messages` of the result can
   * be the beginning of a new run. `unknown` has the ids of calls that may have happened.
   *
   * With a store the closed run is saved, so that nobody who has an older checkpoint of it goes on. A resume of the closed run asks the
   * model what to do next.
   *
   * Rejects with `CheckpointConflictError` if somebody has resumed what is stored, with `CheckpointError` if the run has its final answer (`hasFinalAnswer`), and like
   * `resume` if it is no checkpoint of this agent.
   */
  close(checkpoint: Checkpoint | string, options?: CloseOptions): Promise<CancelledResult>
}

/** The options in which an agent may differ from the one that it is made of: all except its output and what its runs are stored under. */
export type AgentChanges<Output = unknown> = Partial<Omit<AgentOptions<Output>, 'name' | 'output' | 'checkpoints'>>

/** What runs work with: what lies above their state, and all that stands beside the centre. */
const WORK: RunWork = { view: viewOf, abort: abortCalls, background, checkpoints, needs, output }

/** Makes an agent. Throws {@link ConfigError} naming the option that cannot work. */
export function createAgent<Output = unknown>(options: AgentOptions<Output>): Agent<Output> {
  const config = configOf(options)
  // As they are now: the caller may write to its own lists.
  const { tools = [], middleware = [] } = options
  const own = { ...options, tools: [...tools], middleware: [...middleware], settings: config.settings }
  // The gate has checked the output of every result.
  const start = startRun as StartRun<Output>
  const agent: Agent<Output> = Object.freeze({
    name: config.name,
    description: config.description,
    middleware: Object.freeze(own.middleware),
    tools: Object.freeze(own.tools),
    run: (input: RunInput, options?: RunOptions) => start(WORK, config, { input }, options ?? {}, 'dropped').result,
    with: (changes: AgentChanges<Output>) => createAgent<Output>({ ...own, ...changes }),
    stream: (input: RunInput, options?: RunOptions) => start(WORK, config, { input }, options ?? {}, 'kept'),
    begin: (input: RunInput, options?: BeginOptions) => beginRun(WORK, config, input, options),
    resume: (from: Checkpoint | string, answers: Answers = {}, given?: ResumeOptions) => {
      const options = given ?? {}
      const { rerun } = options
      return start(WORK, config, { resume: { from, answers, ...(rerun && { rerun }) } }, options, 'kept')
    },
    close: (from: Checkpoint | string, options?: CloseOptions) => closeRun(config, from, options),
  })
  configs.set(agent, config)
  return agent
}

const configs = new WeakMap<Agent, AgentConfig>()

/** Of an agent that {@link createAgent} made. Throws {@link ConfigError} for anything else. */
export function configBehind(agent: Agent): AgentConfig {
  const config = configs.get(agent)
  if (!config) throw new ConfigError('agent', 'is no agent that createAgent made')
  return config
}

type StartRun<Output> = (...options: Parameters<typeof startRun>) => AgentRun<Output>
