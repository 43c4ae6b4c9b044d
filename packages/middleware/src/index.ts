export { type EarlyStopOptions, earlyStop } from './early-stop.ts'
export { type RetryModelOptions, retryModel } from './retry-model.ts'
