/** The errors that threads throw. */

import { BrandedError } from '@meanwhile/core/calls'

/** The base class of all errors of threads. */
export class ThreadError extends BrandedError {
  static override readonly brand: string = 'ThreadError'
  /** The id of the thread. */
  readonly thread: string

  constructor(thread: string, problem: string, options?: ErrorOptions) {
    super(`thread ${JSON.stringify(shortened(thread))}: ${problem}`, options)
    this.thread = thread
  }
}

/** The id of a thread, message or turn is not a string of 1 to 1,024 characters. */
export class ThreadIdError extends ThreadError {
  static override readonly brand: string = 'ThreadIdError'
  /** What the id belongs to. */
  readonly what: 'thread' | 'message' | 'turn'
  /** The value that was passed. */
  readonly id: unknown

  /** `thread`: the thread of the message or turn. */
  constructor(id: unknown, what: ThreadIdError['what'], thread?: string) {
    super(thread ?? (typeof id === 'string' ? id : ''), `the id of a ${what} must be a string of 1 to 1,024 characters`)
    this.what = what
    this.id = id
  }
}

/** The call is not allowed while a turn is running or waits for an answer. */
export class ThreadBusyError extends ThreadError {
  static override readonly brand: string = 'ThreadBusyError'
  /** Whether the turn is running or waits for an answer. */
  readonly status: 'running' | 'waiting'

  constructor(thread: string, status: ThreadBusyError['status']) {
    super(thread, status === 'running' ? 'a turn is running' : 'a turn waits for an answer')
    this.status = status
  }
}

/** The request would change something else than was expected, because the thread has changed. Nothing was done. */
export class ThreadChangedError extends ThreadError {
  static override readonly brand: string = 'ThreadChangedError'

  constructor(thread: string) {
    super(thread, 'it has changed since the request was previewed')
  }
}

/** The queue of the thread has as many messages as it may have. */
export class QueueFullError extends ThreadError {
  static override readonly brand: string = 'QueueFullError'
  /** How many messages may wait in it. */
  readonly maxQueued: number

  constructor(thread: string, maxQueued: number) {
    super(thread, `${maxQueued} messages wait in its queue, the maximum`)
    this.maxQueued = maxQueued
  }
}

/** This process runs as many turns as it may, and as many wait as may wait. Nothing was stored. Try again later, or in another process. */
export class TooManyTurnsError extends ThreadError {
  static override readonly brand: string = 'TooManyTurnsError'
  /** How many turns may wait in this process. */
  readonly maxWaiting: number

  constructor(thread: string, maxWaiting: number) {
    super(thread, `this process is full, and ${maxWaiting} turns wait in it, the maximum`)
    this.maxWaiting = maxWaiting
  }
}

/** The thread was deleted. Its id cannot be used again. */
export class ThreadDeletedError extends ThreadError {
  static override readonly brand: string = 'ThreadDeletedError'

  constructor(thread: string) {
    super(thread, 'it was deleted')
  }
}

/** The id of a fork is already the id of another thread. */
export class ThreadExistsError extends ThreadError {
  static override readonly brand: string = 'ThreadExistsError'

  constructor(thread: string) {
    super(thread, 'a thread with this id already exists')
  }
}

/** The thread has no such turn. */
export class UnknownTurnError extends ThreadError {
  static override readonly brand: string = 'UnknownTurnError'
  /** The id that no turn has. */
  readonly turn: string

  constructor(thread: string, turn: string) {
    super(thread, `it has no turn ${JSON.stringify(shortened(turn))}`)
    this.turn = turn
  }
}

/** No turn of the thread begins with this message. */
export class UnknownMessageError extends ThreadError {
  static override readonly brand: string = 'UnknownMessageError'
  /** The id that no turn begins with, or that is not in the queue. */
  readonly messageId: string

  constructor(thread: string, messageId: string, problem = 'none of its turns begins with the message') {
    super(thread, `${problem} ${JSON.stringify(shortened(messageId))}`)
    this.messageId = messageId
  }
}

/** The newest turn of the thread has not failed, or its run is no longer stored: it is deleted when a later turn begins, and a fork does not copy it. */
export class NothingToRetryError extends ThreadError {
  static override readonly brand: string = 'ThreadNothingToRetryError'
  override readonly name = 'NothingToRetryError'

  constructor(thread: string) {
    super(thread, 'its newest turn has not failed, or can no longer be retried')
  }
}

/** The cursor is damaged, or belongs to another thread. */
export class CursorError extends ThreadError {
  static override readonly brand: string = 'ThreadCursorError'
  override readonly name = 'CursorError'
  /** The cursor that was passed; empty if it is not a string. */
  readonly cursor: string

  constructor(thread: string, cursor: unknown, problem: string) {
    super(thread, `the cursor ${problem}`)
    this.cursor = typeof cursor === 'string' ? cursor : ''
  }
}

/** Another process has taken over the turn, so this process must not write to it. Callers never receive this error. */
export class LeaseLostError extends ThreadError {
  static override readonly brand: string = 'LeaseLostError'

  constructor(thread: string) {
    super(thread, 'another process has taken over its running turn')
  }
}

function shortened(text: string): string {
  return text.length > 64 ? `${text.slice(0, 64)}…` : text
}
