export type { ReadOptions } from './call-options.ts'
export {
  durableSchema,
  type PostgresConnection,
  type PostgresNotification,
  type PostgresPool,
  setUpDurable,
} from './database.ts'
export type { DurableOptions } from './durable-options.ts'
export type { DurableRun, EndStatus, RunStatus, RunStopped } from './durable-run.ts'
export { durableRuns } from './durable-runs.ts'
export type { DurableRuns, DurableWorker, StartOptions } from './durable-runs-api.ts'
export type { Advance, Engine, EngineCall, EngineWorker, WakeOptions } from './engine.ts'
export {
  CursorError,
  DurableError,
  DurableSetUpError,
  DurableStoreError,
  type ErrorInfo,
  NothingToRetryError,
  RunCancelledError,
  RunFailedError,
  RunHandedBackError,
  RunIdError,
  RunIdTakenError,
  RunPoisonedError,
  UnknownAgentError,
  UnknownRunError,
} from './errors.ts'
export type { ReadEvent } from './event-reader.ts'
export type { ContextRequest } from './run-context.ts'
export type { OnStopped, RunOutcome, StoppedRun } from './stopped-run.ts'
