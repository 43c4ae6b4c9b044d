export {
  createThreads,
  type DurableThreadsOptions,
  type ThreadsOptions,
  type TurnInfo,
} from './create-threads.ts'
export type { ThreadDecision } from './decisions.ts'
export type { ErrorPlace } from './error-reports.ts'
export type { Preview, ThreadRequest } from './preview.ts'
export { memoryThreads } from './stores/memory.ts'
export {
  CursorError,
  NothingToRetryError,
  QueueFullError,
  ThreadBusyError,
  ThreadChangedError,
  ThreadDeletedError,
  ThreadError,
  ThreadExistsError,
  ThreadIdError,
  TooManyTurnsError,
  UnknownMessageError,
  UnknownTurnError,
} from './thread-errors.ts'
export type {
  EndStatus,
  ErrorInfo,
  InsideCard,
  InsideEvent,
  RunEvent,
  ThreadEvent,
  ThreadEventBody,
  TurnEvent,
} from './thread-events.ts'
export type { StoppedThreadRun, ThreadRunEvent, ThreadRunStatus, ThreadRuns } from './thread-runs.ts'
export type { ThreadBackground, ThreadInside, ThreadMessage, ThreadState, TurnState } from './thread-state.ts'
export type {
  Change,
  ChangeOptions,
  CheckpointBase,
  EventQuery,
  LeasedTurn,
  LoadOptions,
  SavedCheckpoint,
  StoredEvent,
  StoredThread,
  ThreadRecord,
  ThreadStore,
  TurnRecord,
  TurnStatus,
} from './thread-store.ts'
export type {
  ContextOptions,
  ExpectedOptions,
  SendOptions,
  StopOptions,
  ThreadSummary,
  Threads,
} from './threads.ts'
export type {
  CompletedTurn,
  EventsOptions,
  FailedTurn,
  ResumedTurn,
  StoppedTurn,
  Turn,
  TurnResult,
  WaitingTurn,
} from './turn.ts'
export type { WhenAsking, WhenBusy } from './user-decisions.ts'
