export { DEFAULT_INSTRUCTION, type EarlyStopOptions, earlyStop } from './early-stop.ts'
export { type RetryAttempt, type RetryModelOptions, retryModel } from './retry-model.ts'
