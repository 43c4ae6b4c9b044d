/** The middleware that is right for most agents, in an order that works. */

import { checkOptions, type Middleware, type OptionNames } from '@meanwhile/core'
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

/** The options of each; `false` leaves one out. */
export interface StandardOptions {
  readonly patchToolCalls?: PatchToolCallsOptions | false
  readonly earlyStop?: EarlyStopOptions | false
  readonly answerGuard?: AnswerGuardOptions | false
  readonly clearToolResults?: ClearToolResultsOptions | false
  /** Only if it is given: it makes model calls of its own. `{}` is enough. */
  readonly summarize?: SummarizeOptions
  /** These only if they are given: each shows the model something of its own. */
  readonly agentsMd?: AgentsMdOptions
  readonly skills?: SkillsOptions
  readonly planTasks?: PlanTasksOptions
  readonly toolSearch?: ToolSearchOptions
  /** Only if it is given: there is no limit by default. */
  readonly callLimits?: CallLimitsOptions
  /** Only if it is given: it needs models. */
  readonly fallbackModel?: FallbackModelOptions
  readonly retryModel?: RetryModelOptions | false
  /** Only if it is given: it needs to know what to ask about. */
  readonly approve?: ApproveOptions
  readonly retryTool?: RetryToolOptions | false
  /** Only if it is given. `{}` is enough. */
  readonly redact?: RedactOptions
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
 * A list for `createAgent({ middleware })`, outermost first, that passes its check of the order. What you add goes where it
 * belongs: `[...standard(), eagerTools()]`.
 */
export function standard(options: StandardOptions = {}): Middleware[] {
  checkOptions('standard', options, NAMES)
  return [
    // The history: sound first, then short.
    ...unless(options.patchToolCalls, patchToolCalls),
    ...unless(options.clearToolResults, clearToolResults),
    ...(options.summarize ? [summarize(options.summarize)] : []),
    // What the model is shown besides, behind what shortens the history.
    ...(options.agentsMd ? [agentsMd(options.agentsMd)] : []),
    ...(options.skills ? [skills(options.skills)] : []),
    ...(options.planTasks ? [planTasks(options.planTasks)] : []),
    ...(options.toolSearch ? [toolSearch(options.toolSearch)] : []),
    // How a run ends. The guard sees every answer, the last one included.
    ...unless(options.earlyStop, earlyStop),
    ...unless(options.answerGuard, answerGuard),
    // Calls, from the outside in: all of them, each model, each try, its time.
    ...(options.callLimits ? [callLimits(options.callLimits)] : []),
    ...(options.fallbackModel ? [fallbackModel(options.fallbackModel)] : []),
    ...unless(options.retryModel, retryModel),
    ...(options.approve ? [approve(options.approve)] : []),
    ...unless(options.retryTool, retryTool),
    // Behind all that adds to a request.
    ...(options.redact ? [redact(options.redact)] : []),
    ...unless(options.timeout, timeout),
  ]
}

function unless<Options>(options: Options | false | undefined, make: (options?: Options) => Middleware): Middleware[] {
  return options === false ? [] : [make(options)]
}
