/** `standard()`: the middleware that most agents need, in a working order. */

import { ConfigError, checkOptions, type Middleware, type OptionNames } from '@meanwhile/core'
import { isRecord } from '@meanwhile/core/calls'
import { type AgentsMdOptions, agentsMd } from './agents-md.ts'
import { type AnswerGuardOptions, answerGuard } from './answer-guard.ts'
import { type ApproveOptions, approve } from './approve.ts'
import { type CallLimitsOptions, callLimits } from './call-limits.ts'
import { type ClearToolResultsOptions, clearToolResults } from './clear-tool-results.ts'
import { type EarlyStopOptions, earlyStop } from './early-stop.ts'
import { type FallbackModelOptions, fallbackModel } from './fallback-model.ts'
import { type PatchToolCallsOptions, patchToolCalls } from './patch-tool-calls.ts'
import { type PlanTasksOptions, planTasks } from './plan-tasks.ts'
import { type RedactOptions, redact } from './redact.ts'
import { type RetryModelOptions, retryModel } from './retry-model.ts'
import { type RetryToolOptions, retryTool } from './retry-tool.ts'
import { type SkillsOptions, skills } from './skills.ts'
import { type SummarizeOptions, summarize } from './summarize.ts'
import { type TimeoutOptions, timeout } from './timeout.ts'
import { type ToolSearchOptions, toolSearch } from './tool-search.ts'

/** The options of each middleware; `false` omits it. */
export interface StandardOptions {
  /** The options of `patchToolCalls`. Default `{}`. */
  readonly patchToolCalls?: PatchToolCallsOptions | false
  /** The options of `earlyStop`. Default `{}`. */
  readonly earlyStop?: EarlyStopOptions | false
  /** The options of `answerGuard`. Default `{}`. */
  readonly answerGuard?: AnswerGuardOptions | false
  /** The options of `clearToolResults`. Default `{}`. */
  readonly clearToolResults?: ClearToolResultsOptions | false
  /** Off unless you set it, because it makes its own model calls. `{}` is enough. */
  readonly summarize?: SummarizeOptions
  /** Off unless you set it, because it adds something that the model reads. */
  readonly agentsMd?: AgentsMdOptions
  /** Off unless you set it, because it adds something that the model reads. */
  readonly skills?: SkillsOptions
  /** Off unless you set it, because it adds something that the model reads. */
  readonly planTasks?: PlanTasksOptions
  /** Off unless you set it, because it adds something that the model reads. */
  readonly toolSearch?: ToolSearchOptions
  /** Off unless you set it: there is no limit by default. */
  readonly callLimits?: CallLimitsOptions
  /** Off unless you set it, because it requires models. */
  readonly fallbackModel?: FallbackModelOptions
  /** The options of `retryModel`. Default `{}`. */
  readonly retryModel?: RetryModelOptions | false
  /** Off unless you set it, because it requires the tools that need approval. */
  readonly approve?: ApproveOptions
  /** The options of `retryTool`. Default `{}`. */
  readonly retryTool?: RetryToolOptions | false
  /** Off unless you set it. `{}` is enough. */
  readonly redact?: RedactOptions
  /** The options of `timeout`. Default `{}`. */
  readonly timeout?: TimeoutOptions | false
}

const NAMES: OptionNames<StandardOptions> = {
  patchToolCalls: '',
  earlyStop: '',
  answerGuard: '',
  clearToolResults: '',
  summarize: '',
  agentsMd: '',
  skills: '',
  planTasks: '',
  toolSearch: '',
  callLimits: '',
  fallbackModel: '',
  retryModel: '',
  approve: '',
  retryTool: '',
  redact: '',
  timeout: '',
}

/**
 * Returns a list for `createAgent({ middleware })`, outermost first. Add your own middleware where it belongs:
 * `[...standard(), eagerTools()]`. `createAgent` checks the order.
 */
export function standard(options: StandardOptions = {}): Middleware[] {
  checkOptions('standard', options, NAMES)
  for (const [name, value] of Object.entries(options))
    if (value !== undefined && value !== false && !isRecord(value))
      throw new ConfigError(name, `must be an object with the options of ${name}`)
  return [
    // The history: first valid, then short.
    ...unless(options.patchToolCalls, patchToolCalls),
    ...unless(options.clearToolResults, clearToolResults),
    ...(options.summarize ? [summarize(options.summarize)] : []),
    // Additional content for the model, after the middleware that shortens the history.
    ...(options.agentsMd ? [agentsMd(options.agentsMd)] : []),
    ...(options.skills ? [skills(options.skills)] : []),
    ...(options.planTasks ? [planTasks(options.planTasks)] : []),
    ...(options.toolSearch ? [toolSearch(options.toolSearch)] : []),
    // How a run ends. The guard sees every answer, including the last one.
    ...unless(options.earlyStop, earlyStop),
    ...unless(options.answerGuard, answerGuard),
    // Calls, from the outside in: all of them, each model, each attempt, its time.
    ...(options.callLimits ? [callLimits(options.callLimits)] : []),
    ...(options.fallbackModel ? [fallbackModel(options.fallbackModel)] : []),
    ...unless(options.retryModel, retryModel),
    ...(options.approve ? [approve(options.approve)] : []),
    ...unless(options.retryTool, retryTool),
    // After everything that adds to a request.
    ...(options.redact ? [redact(options.redact)] : []),
    ...unless(options.timeout, timeout),
  ]
}

function unless<Options>(options: Options | false | undefined, make: (options?: Options) => Middleware): Middleware[] {
  return options === false ? [] : [make(options)]
}
