export { type Agent, createAgent } from './agent.ts'
export type { AgentOptions } from './agent-options.ts'
export { type AgentRequest, type AgentToolOptions, agentTool } from './agent-tool.ts'
export { argumentsText } from './assemble/arguments-text.ts'
export { assemble, type Explain, type ReadChunk } from './assemble/assemble.ts'
export type { AssembledRequest, Assembler, CallPiece, Label, NestedCall, PartOptions } from './assemble/assembler.ts'
export type { CallOptions, SideRequest } from './call-options.ts'
export type { CancelMode, CancelOptions } from './cancel.ts'
export { memoryStore } from './checkpoint/memory-store.ts'
export {
  CheckpointConflictError,
  CheckpointCorruptError,
  CheckpointError,
  CheckpointMismatchError,
  CheckpointMissingError,
  CheckpointStoreError,
  CheckpointVersionError,
} from './checkpoint-errors.ts'
export type { CheckpointStore, StoredCheckpoint } from './checkpoint-store.ts'
export { type ExecutedTool, type ToolOptions, tool } from './define-tool.ts'
export type { Effect } from './effect.ts'
export {
  AgentError,
  AnswerError,
  ConfigError,
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
} from './errors.ts'
export type {
  AgentEvent,
  AgentEventBody,
  AttemptFailed,
  CustomEvent,
  DiscardCause,
  PathPart,
  ToolProgress,
} from './events.ts'
export { type RunToolOptions, runTool, type ToolRun } from './execution/run-tool.ts'
export { type Awaitable, close, type Flow, map, settle } from './flow/flow.ts'
export { DEFAULT_FEEDBACK } from './hooks/gate.ts'
export {
  type Address,
  type AddressPart,
  type Answers,
  Interrupt,
  interrupt,
  type PendingInterrupt,
} from './interrupt/interrupt.ts'
export {
  type AssistantMessage,
  type AssistantPart,
  allowsCalls,
  type ContentPart,
  callsOf,
  type FilePart,
  type FinishReason,
  type Json,
  type Message,
  type ProviderMetadata,
  type ReasoningPart,
  type ResponseInfo,
  type TextPart,
  type ToolCall,
  type ToolMessage,
  textOf,
  type Usage,
  type UserMessage,
} from './message.ts'
export type { AgentFlow, AgentState, Middleware, ModelFlow, ToolFlow, Verdict, WrapEvent } from './middleware.ts'
export {
  DEFAULT_INPUT_LIMITS,
  type InputLimits,
  type Model,
  type ModelEvent,
  type ModelRequest,
  type ModelSettings,
  type OutputFormat,
  type ToolChoice,
  type ToolDefinition,
} from './model.ts'
export { ModelError, type ModelErrorCode, type ModelErrorData, RetriesExhaustedError } from './model-errors.ts'
export { checkOptions, type OptionNames } from './option-checks.ts'
export type { ResourceKeys } from './resource-keys.ts'
export type {
  AgentResult,
  BackgroundHandle,
  CancelledResult,
  CompletedResult,
  InterruptedResult,
  ResultBase,
} from './result.ts'
export type { AgentRun } from './run/agent-run.ts'
export { type Cell, type CellOptions, runLocal } from './run/run-local.ts'
export type { ResumeOptions, RunInput, RunOptions } from './run-options.ts'
export type { Checkpoint } from './saved-run.ts'
export type { CaptureContent, TelemetryOptions } from './telemetry/options.ts'
export type { SemanticAttributes } from './telemetry/semconv.ts'
export type { AgentSetup, NeedsContext, Run, Tool, ToolAliases, ToolContext, ToolSchema, WarmContext } from './tool.ts'
export type { OutputLimits } from './tool-call/output-limits.ts'
export {
  NotCancelableError,
  ToolBusyError,
  ToolCancelledError,
  ToolCircleError,
  ToolDiscardedError,
  ToolInputError,
  ToolOutputError,
  ToolTimeoutError,
  UnknownCallError,
  UnknownToolError,
} from './tool-errors.ts'
export type { Progress, ToolState, ToolStatus } from './tool-status.ts'
export type { Warning } from './warning.ts'
export type { Wire } from './wire.ts'
