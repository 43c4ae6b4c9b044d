export type { EagerBudget } from './budget.ts'
export { type EagerToolsOptions, eagerTools } from './eager-tools.ts'
export type { Evidence, Policy, PolicyContext } from './policy.ts'
export type { CallSavings, Savings, StepSavings } from './savings.ts'
export {
  createToolExecutor,
  type FinishedResponse,
  type ToolExecutor,
  type ToolExecutorOptions,
} from './tool-executor.ts'
