export {
  durableSchema,
  type PostgresConnection,
  type PostgresNotification,
  type PostgresPool,
  setUpDurable,
} from './database.ts'
export type { DurableOptions } from './durable-options.ts'
export type { DurableRun, EndStatus, RunStatus, RunStopped } from './durable-run.ts'
export {
  type DurableRuns,
  type DurableWorker,
  durableRuns,
  type StartOptions,
} from './durable-runs.ts'
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
export type { ReadEvent, ReadOptions } from './event-reader.ts'
export type { OnStopped, RunOutcome, StoppedRun } from './stopped-run.ts'
export type { ContextRequest } from './workshop.ts'
