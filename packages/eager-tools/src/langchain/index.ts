/** Early tool calls in the loop of LangChain's `createAgent`. */

export type { DeclaredCall, DeclaredEffect, HostEffect } from '../host/declared.ts'
export type { EagerSettings, HostPolicy, HostPolicyContext } from '../host/settings.ts'
export { UnfinishedEarlyCallError } from '../host/unfinished-early-call-error.ts'
export type { BackoffOptions } from '../resilient/backoff.ts'
export type { AttemptEnd, AttemptOptions, FailedAttempt, FinishOptions } from '../resilient/options.ts'
export { ResilientError } from '../resilient/resilient-error.ts'
export type { StepSavings } from '../savings.ts'
export { type Effects, eager } from './eager.ts'
export { type ResilientOptions, resilient } from './resilient.ts'
