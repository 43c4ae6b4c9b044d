export { type Agent, type AgentChanges, createAgent } from './agent.ts'
export { type AgentRequest, type AgentToolOptions, agentTool } from './agent-tool/agent-tool.ts'
export { type Askers, checkAnswers } from './checkpoint/answer-check.ts'
export type { BeginOptions } from './checkpoint/begin.ts'
export { hasFinalAnswer, storedResult } from './checkpoint/checkpoint.ts'
export { memoryStore } from './checkpoint/memory-store.ts'
export { type Awaitable, close, type Flow, map, settle } from './flow/flow.ts'
export type { CloseOptions } from './resume/close.ts'
export type { AgentRun } from './run/agent-run.ts'
export { type ContextReader, contextOf } from './run/context-of.ts'
export { DEFAULT_FEEDBACK } from './run/gate.ts'
export { type Cell, type CellOptions, runLocal } from './run/run-local.ts'
export { makersOf } from './run/run-view.ts'
export { type RunToolOptions, runTool, type ToolRun } from './run-tool.ts'
export type { SemanticAttributes } from './telemetry/semconv.ts'
export type { AgentOptions } from './vocabulary/agent-options.ts'
export type { OutputLimits } from './vocabulary/call-limits.ts'
export type { CallOptions, SideRequest } from './vocabulary/call-options.ts'
export type { CancelMode, CancelOptions } from './vocabulary/cancel.ts'
export * from './vocabulary/checkpoint-errors.ts'
export type { CheckpointStore, StoredCheckpoint } from './vocabulary/checkpoint-store.ts'
export { type ExecutedTool, type ToolOptions, tool } from './vocabulary/define-tool.ts'
export type { Effect } from './vocabulary/effect.ts'
export {
  AgentError,
  AnswerError,
  ConfigError,
  ContextError,
  HistoryError,
  InputError,
  type Issue,
  MaxStepsError,
  MiddlewareError,
  messageOf,
  OutputError,
  RunAbortedError,
  RunCancelled,
  RunStop,
  TimeoutError,
  UnknownInterruptError,
} from './vocabulary/errors.ts'
export type * from './vocabulary/events.ts'
export * from './vocabulary/interrupt.ts'
export * from './vocabulary/message.ts'
export type * from './vocabulary/middleware.ts'
export * from './vocabulary/model.ts'
export * from './vocabulary/model-errors.ts'
export { checkOptions, type OptionNames } from './vocabulary/option-checks.ts'
export type { ResourceKeys } from './vocabulary/resource-keys.ts'
export type * from './vocabulary/result.ts'
export type { ResumeOptions, RunInput, RunOptions } from './vocabulary/run-options.ts'
export type { Checkpoint } from './vocabulary/saved-run.ts'
export type { CaptureContent } from './vocabulary/span-content.ts'
export type { MiddlewareSpans, TelemetryOptions } from './vocabulary/telemetry-options.ts'
export type * from './vocabulary/tool.ts'
export * from './vocabulary/tool-errors.ts'
export type { JsonSchema, ToolSchema } from './vocabulary/tool-schema.ts'
export type { Progress, ToolState, ToolStatus } from './vocabulary/tool-status.ts'
export type { Warning } from './vocabulary/warning.ts'
