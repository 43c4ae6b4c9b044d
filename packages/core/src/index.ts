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
export type { AgentOptions } from './config.ts'
export * from './errors.ts'
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
export { type Flow, map, settle } from './flow.ts'
export { DEFAULT_FEEDBACK } from './gate.ts'
export * from './message.ts'
export type * from './middleware.ts'
export * from './model.ts'
export { runLocal } from './run-local.ts'
export { DEFERRAL_REASON, DISPATCH_EVIDENCE, TOOL_EFFECT } from './telemetry/semconv.ts'
export type { TelemetryOptions } from './telemetry/spans.ts'
export { type Effect, effectOf, type Progress, type Tool, type ToolContext, type ToolSchema, tool } from './tool.ts'
