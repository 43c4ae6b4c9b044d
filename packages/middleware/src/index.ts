export { type AgentsMdOptions, agentsMd } from './agents-md.ts'
export {
  type AnswerGuardOptions,
  AnswerRejectedError,
  answerGuard,
} from './answer-guard.ts'
export type { Approval } from './approval.ts'
export { ApprovalError } from './approval-error.ts'
export {
  type ApprovalQuestion,
  type ApproveOptions,
  approve,
  isPendingApproval,
  type PendingApproval,
} from './approve.ts'
export { type CallLimit, CallLimitError, type CallLimitsOptions, callLimits } from './call-limits.ts'
export { type ClearToolResultsOptions, clearToolResults } from './clear-tool-results.ts'
export { DEFAULT_INSTRUCTION } from './closing-call.ts'
export { type CountTokens, countTokens } from './count-tokens.ts'
export type { DecisionRecord } from './decision-record.ts'
export { type EarlyStopOptions, earlyStop } from './early-stop.ts'
export { type FallbackModelOptions, fallbackModel, ModelsExhaustedError } from './fallback-model.ts'
export type {
  FileBackend,
  FileContent,
  FileKind,
  FileOptions,
  FileStat,
  FolderEntry,
  ListOptions,
  ReadOptions,
  WriteOptions,
} from './file-backend.ts'
export { FileError, type FileErrorCode } from './file-error.ts'
export { pathSegments } from './file-path.ts'
export { type FilesystemOptions, type FileToolName, filesystem, PROTECTED_FILES } from './filesystem.ts'
export type { GuardToolOptions } from './guard/guarded-calls.ts'
export type { GuardContext, GuardRecord, GuardVerdict } from './guard/verdict.ts'
export { type GuardOptions, guard } from './guard.ts'
export { GuardError, type GuardPlace } from './guard-error.ts'
export { memoryBackend } from './memory-backend.ts'
export { type OffloadToolResultsOptions, offloadToolResults } from './offload-tool-results.ts'
export { type PatchToolCallsOptions, patchToolCalls } from './patch-tool-calls.ts'
export { type PlanTasksOptions, planTasks, type Task, type TaskStatus } from './plan-tasks.ts'
export type { Secret } from './redact/masker.ts'
export { type SecretPattern, secretPatterns } from './redact/secret-patterns.ts'
export { type RedactOptions, type RedactPlace, redact } from './redact.ts'
export { type RetryAttempt, type RetryModelOptions, retryModel } from './retry-model.ts'
export { type RetryToolOptions, retryTool, type ToolAttempt } from './retry-tool.ts'
export { type Skill, type SkillsOptions, skills } from './skills.ts'
export { type StandardOptions, standard } from './standard.ts'
export { SUMMARY_PROMPT, type SummarizeOptions, summarize } from './summarize.ts'
export { type TimeoutOptions, timeout } from './timeout.ts'
export { type ToolSearchOptions, toolSearch } from './tool-search.ts'
export { type VisibleTextOptions, visibleText } from './visible-text.ts'
