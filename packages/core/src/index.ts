export { type Agent, createAgent } from './agent.ts'
export type { AgentRun, RunInput, RunOptions } from './agent-run.ts'
export {
  type Assembler,
  assemble,
  type CallPiece,
  type Explain,
  type Label,
  type PartOptions,
  type ReadChunk,
} from './assemble.ts'
export { type CallEffect, judgeCall } from './call-effect.ts'
export type { AgentOptions } from './config.ts'
export {
  AgentError,
  ConfigError,
  HistoryError,
  InputError,
  MaxStepsError,
  MiddlewareError,
  ModelError,
  type ModelErrorCode,
  type ModelErrorData,
  messageOf,
  RetriesExhaustedError,
  RunAbortedError,
  ToolDiscardedError,
  ToolInputError,
  UnknownToolError,
} from './errors.ts'
export type {
  AgentEvent,
  AgentEventBody,
  AgentResult,
  AttemptFailed,
  CustomEvent,
  DiscardCause,
  ToolProgress,
  Warning,
} from './events.ts'
export { checkedInput } from './execute-tool.ts'
export { close, type Flow, map, settle } from './flow.ts'
export { DEFAULT_FEEDBACK } from './gate.ts'
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
export type {
  AgentFlow,
  AgentSetup,
  AgentState,
  CallOptions,
  Middleware,
  ModelFlow,
  Run,
  ToolFlow,
  Verdict,
  WrapEvent,
} from './middleware.ts'
export {
  DEFAULT_INPUT_LIMITS,
  type InputLimits,
  type Model,
  type ModelEvent,
  type ModelRequest,
  type ModelSettings,
  type ToolChoice,
  type ToolDefinition,
} from './model.ts'
export { keysMeet, NO_KEYS, namesNone, type ResourceKeys } from './resource-keys.ts'
export { runLocal } from './run-local.ts'
export { DEFERRAL_REASON, DISPATCH_EVIDENCE } from './telemetry/semconv.ts'
export type { TelemetryOptions } from './telemetry/spans.ts'
export { type Effect, type Progress, type Tool, type ToolContext, type ToolSchema, tool } from './tool.ts'
