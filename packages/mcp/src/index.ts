export type { McpDefinition } from './definition.ts'
export type { Drift } from './drift.ts'
export {
  McpAuthError,
  McpConnectionError,
  McpDriftError,
  McpError,
  McpLimitError,
  McpUnknownError,
} from './errors.ts'
export type { McpToolInfo } from './listed-tool.ts'
export { type McpMiddleware, mcp } from './mcp.ts'
export { mcpOf } from './mcp-tool.ts'
export { mcpTools } from './mcp-tools.ts'
export type {
  AnyServer,
  HttpServer,
  McpAuth,
  McpLimits,
  McpOptions,
  McpToolsOptions,
  Of,
  ServerOptions,
  Shared,
  StdioServer,
  TransportServer,
} from './options.ts'
export { mcpPrompt } from './prompt.ts'
export type { McpQuestion } from './questions.ts'
