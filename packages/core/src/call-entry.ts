/** What a run knows of one logical call. */

import type { Attributes, Context, Span } from '@opentelemetry/api'
import type { Place } from './address.ts'
import type { Checkpoint, SavedCall } from './checkpoint.ts'
import type { RunStop } from './errors.ts'
import type { DiscardCause } from './events.ts'
import { timer } from './grace.ts'
import { freeze } from './history.ts'
import type { Interrupt } from './interrupt.ts'
import type { ToolCall, ToolMessage } from './message.ts'
import type { Answers } from './restore.ts'
import type { Ticket } from './slots.ts'
import type { OpenSpan } from './telemetry/spans.ts'
import type { Effect, Tool } from './tool.ts'

/** Who asked for calls: a model attempt; or a wrap that answers itself, which is number 0 and has no span. */
export interface Asker {
  readonly attempt: number
  readonly span: Span | undefined
  /** When its stream ended, in `performance.now()`; absent while it goes on. */
  ended?: number
  /** It failed, or a wrap left it: no call of it starts any more. */
  over?: boolean
}

/** One execution of the tool's function. Times: `performance.now()`. `ended` is absent while it goes on. */
export interface Execution {
  readonly open: OpenSpan
  /** The how-manieth of its call, from 1 (C14). */
  readonly attempt: number
  /** Aborted with its call, or alone when the wrap that asked for it has left. */
  readonly signal: AbortSignal
  readonly started: number
  ended?: number
  error?: unknown
}

/** The run of an agent that a call makes, as it can be saved. */
export interface Nested {
  readonly saved: Checkpoint
  /** To what it asks, when it is resumed. */
  readonly answers?: Answers
}

interface EntryOptions {
  readonly key: string
  readonly call: ToolCall
  readonly tool: Tool | undefined
  readonly step: number
  readonly parent: Context
  readonly attributes: Attributes
  readonly asker: Asker | undefined
  /** The call whose tool or wrap makes this one. */
  readonly maker: CallEntry | undefined
  readonly provisional: boolean
  readonly ceiling: Effect | undefined
  readonly ticket: Ticket | undefined
  /** What a checkpoint holds of it. */
  readonly saved?: SavedCall
}

/** Until a call is made. */
const NEVER = new Promise<never>(() => undefined)

export class CallEntry {
  /** The ledger's key, and the tool's `idempotencyKey` (H25). */
  readonly key: string
  readonly call: ToolCall
  readonly tool: Tool | undefined
  readonly step: number
  /** What the call's spans nest under. */
  readonly parent: Context
  readonly attributes: Attributes
  /** Absent for calls made by tools and wraps: they work inside the slot of the call that made them. */
  readonly ticket: Ticket | undefined
  /** Absent unless a tool or wrap makes this call: then it shares that call's fate. */
  readonly maker: CallEntry | undefined
  readonly startedEarly: boolean
  /** What it may do, at the most, before it is committed. */
  readonly ceiling: Effect | undefined
  /** When it was asked for, in `performance.now()`. */
  readonly askedAt: number = performance.now()
  readonly askers: Asker[]
  readonly executions: Execution[] = []
  /** Whether a response asked for it. */
  readonly asked: boolean
  /** How often it was executed (C14), before a resume, too. */
  attempts = 0
  /** Set just before the tool's function is entered: from then on the call may have happened. */
  effect: Effect | undefined
  /** When the stream of the attempt that stood ended, in `performance.now()`; set when the call is committed. */
  modelEnded: number | undefined
  /** The calls it made. */
  readonly children: CallEntry[] = []
  readonly signal: AbortSignal
  /** The id it has by now: an attempt that joined may have given it another (O4). */
  id: string
  provisional: boolean
  discarded: DiscardCause | undefined
  settled = false
  promise: Promise<ToolMessage> = NEVER
  message: ToolMessage | undefined
  /** Whether the reader was given that. */
  told = false
  /** The call stays open: the run has stopped, and a resume makes it. */
  stopped: RunStop | undefined
  /** What its tool, or a wrap round it, asks. */
  asking: { readonly interrupt: Interrupt; readonly by?: Place } | undefined
  nested: Nested | undefined
  /** Whether it was cut off by the end of a process, and is made again (L20). */
  rerun = false
  /** Whether it is being made, or need not be: of a checkpoint's calls each waits until it is asked for. */
  begun = true
  /** What the last execution was given and gave: what a discarded `reversible` call is undone with. */
  done: { readonly input: unknown; readonly output: unknown } | undefined
  /** The work itself, which may go on after the call was abandoned. Always has a handler. */
  work: Promise<unknown> = NEVER
  /** Resolves when the call was aborted and went on beyond its grace time (K12). */
  readonly abandoned: Promise<void>
  /** Resolves when the call is committed; one that was never provisional is from the start. */
  readonly committed: Promise<void>
  readonly #controller = new AbortController()
  #abandon: () => void = () => undefined
  #commit: () => void = () => undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(options: EntryOptions) {
    this.key = options.key
    this.call = options.call
    this.id = options.call.id
    this.tool = options.tool
    this.step = options.step
    this.parent = options.parent
    this.attributes = options.attributes
    this.askers = options.asker ? [options.asker] : []
    this.maker = options.maker
    this.provisional = options.provisional
    this.startedEarly = options.provisional
    this.ceiling = options.ceiling
    this.ticket = options.ticket
    this.maker?.children.push(this)
    this.signal = this.#controller.signal
    this.abandoned = new Promise((resolve) => {
      this.#abandon = resolve
    })
    this.asked = options.saved?.asked ?? options.asker !== undefined
    if (options.saved) this.#restore(options.saved)
    this.committed = new Promise((resolve) => {
      this.#commit = resolve
    })
    if (!options.provisional) this.#commit()
  }

  #restore({ id, attempts, message, told = false, done, nested }: SavedCall): void {
    this.begun = false
    this.id = id
    this.attempts = attempts
    this.told = told
    this.done = done
    this.nested = nested && { saved: nested }
    if (message) this.settleAs(message)
  }

  /** It is over, as a checkpoint says. */
  settleAs(message: ToolMessage): void {
    this.begun = true
    this.settled = true
    this.message = freeze(message)
    this.promise = Promise.resolve(message)
  }

  /** It stays open, as a checkpoint says: its question has no answer yet. */
  stayOpen(stopped: RunStop): void {
    this.begun = true
    this.settled = true
    this.stopped = stopped
    this.promise = Promise.reject(stopped)
    this.promise.catch(() => undefined)
  }

  /** Aborts this call and those it made; `grace` ms later they are no longer waited for. */
  abort(reason: unknown, grace: number): void {
    for (const child of this.children) child.abort(reason, grace)
    if (!this.begun || this.settled || this.signal.aborted) return
    this.#timer = timer(grace, this.#abandon)
    this.#controller.abort(reason)
  }

  /** Its model call has stood and the loop asks for it. */
  commit(): void {
    this.provisional = false
    this.#commit()
  }

  settle(): void {
    this.settled = true
    clearTimeout(this.#timer)
  }
}
