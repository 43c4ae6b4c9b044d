export { memoryThreads } from './stores/memory.ts'
export {
  CursorError,
  NothingToRetryError,
  ThreadBusyError,
  ThreadDeletedError,
  ThreadError,
  ThreadExistsError,
  ThreadIdError,
  UnknownMessageError,
  UnknownTurnError,
} from './thread-errors.ts'
export type { EndStatus, ErrorInfo, RunEvent, ThreadEvent, ThreadEventBody, TurnEvent } from './thread-events.ts'
export type { WhenAsking, WhenBusy } from './thread-machine.ts'
export type {
  Asked,
  Change,
  ChangeOptions,
  EventQuery,
  StoredEvent,
  StoredThread,
  ThreadRecord,
  ThreadStore,
  TurnRecord,
  TurnStatus,
} from './thread-store.ts'
export {
  createThreads,
  type SendOptions,
  type ThreadMessage,
  type ThreadState,
  type ThreadSummary,
  type Threads,
  type ThreadsOptions,
  type TurnInfo,
  type TurnState,
} from './threads.ts'
export type { EventsOptions, Turn, TurnResult } from './turn.ts'
