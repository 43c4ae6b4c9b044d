export { type EagerToolsOptions, eagerTools } from './eager-tools.ts'
export type { Evidence, Policy, PolicyContext } from './policy.ts'
