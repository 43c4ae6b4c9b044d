/** What a run knows of one logical call. */

import type { Attributes, Context, Span } from '@opentelemetry/api'
import type { Place } from './address.ts'
import type { Asker } from './askers.ts'
import type { Checkpoint, SavedCall, SavedOutcome } from './checkpoint.ts'
import type { RunStop } from './errors.ts'
import type { DiscardCause } from './events.ts'
import { timer } from './grace.ts'
import { freeze } from './history.ts'
import type { Interrupt } from './interrupt.ts'
import type { ToolCall, ToolMessage } from './message.ts'
import { mayNameKeys, NO_KEYS, type ResourceKeys } from './resource-keys.ts'
import type { Rest } from './rest.ts'
import type { Answers } from './restore.ts'
import type { Slots, Ticket } from './slots.ts'
import type { CaptureContent } from './telemetry/content.ts'
import type { OpenSpan } from './telemetry/spans.ts'
import type { Effect, Tool } from './tool.ts'
import { NotCancelableError, ToolCancelledError } from './tool-errors.ts'
import { type Seat, seatFor } from './tool-limit.ts'
import { CallStatus } from './tool-status.ts'
import type { WarmUp } from './warm-ups.ts'

/** One execution of the tool's function. Times: `performance.now()`. `ended` is absent while it goes on. */
export interface Execution {
  readonly open: OpenSpan
  /** It asked for its slot before the model call had stood. */
  readonly early: boolean
  /** What of its input, result and errors the span may hold. */
  readonly capture: CaptureContent
  /** The how-manieth of its call, from 1 (C14). */
  readonly attempt: number
  /** Aborted with its call, or alone when the wrap that asked for it has left. */
  readonly signal: AbortSignal
  /** When it got its slot, then when the function was called. */
  started: number
  /** The calls its function made. */
  readonly children: CallEntry[]
  /** Of the call's first: seconds from the evidence for it to the function. */
  lag?: number
  ended?: number
  error?: unknown
  /** By then its signal was aborted. */
  aborted?: boolean
  /** Its time was over, and it went on beyond its grace time. */
  abandoned?: boolean
}

/** The span of a wrap that answered a call itself, and when. */
export interface Answer {
  readonly span: Span
  readonly ended: number
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
  readonly slots: Slots
  readonly attributes?: Attributes | undefined
  readonly asker?: Asker | undefined
  /** The call whose tool or wrap makes this one. */
  readonly maker?: CallEntry | undefined
  /** Default `false`. */
  readonly provisional?: boolean
  readonly ceiling?: Effect | undefined
  readonly keyCeiling?: ResourceKeys | undefined
  readonly rest?: Rest | undefined
  readonly warmUp?: WarmUp | undefined
  /** What a checkpoint holds of it. */
  readonly saved?: SavedCall
}

/** Until a call is made. */
const NEVER = new Promise<never>(() => undefined)

export class CallEntry implements Ticket {
  /** The ledger's key, and the tool's `idempotencyKey` (H25). */
  key: string
  /** As it was asked for; of one that started with the members it needs, these alone until its input is whole. */
  call: ToolCall
  readonly tool: Tool | undefined
  readonly step: number
  /** What the call's spans nest under. */
  parent: Context
  readonly attributes: Attributes
  readonly slots: Slots
  readonly seat: Seat | undefined
  /** Absent unless a tool or wrap makes this call: then it shares that call's fate, works inside its slot and under its keys. */
  readonly maker: CallEntry | undefined
  readonly startedEarly: boolean
  /** Of a call that started with the members its tool needs. */
  readonly rest: Rest | undefined
  readonly warmUp: WarmUp | undefined
  /** What it may do, at the most, before it is committed. */
  readonly ceiling: Effect | undefined
  /** What it may touch, at the most, before it is committed. */
  readonly keyCeiling: ResourceKeys | undefined
  /** What it touches; not known until its input is checked, if its tool names keys. */
  keys: ResourceKeys | undefined
  /** Since when it could have been executed, in `performance.now()`: since it was asked for, then since it stands. */
  askedAt: number = performance.now()
  readonly askers: Asker[]
  readonly executions: Execution[] = []
  readonly answers: Answer[] = []
  readonly status: CallStatus = new CallStatus()
  /** Whether a response asked for it. */
  readonly asked: boolean
  /** How often it was executed (C14), before a resume, too. */
  attempts = 0
  /** What its executions came to, but for those that asked or were cut off. */
  readonly outcomes: SavedOutcome[] = []
  /** The same of a run before this one, as far as its wraps have not asked for them yet: none of these is made again (L8). */
  known: SavedOutcome[] = []
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
  /** The run has stopped before its model call stood: its checkpoint has it as it was, and what becomes of it a resume decides. */
  kept: RunStop | undefined
  settled = false
  promise: Promise<ToolMessage> = NEVER
  message: ToolMessage | undefined
  /** Whether that only says that the call was cut off. */
  cutOff = false
  /** Whether the run has told of it. */
  told = false
  /** Whether that has come through all `wrapAgent`s to the reader. */
  shown = false
  /** The call stays open: the run has stopped, and a resume makes it. */
  stopped: RunStop | undefined
  /** What its tool, or a wrap round it, asks. */
  asking: { readonly interrupt: Interrupt; readonly by?: Place } | undefined
  nested: Nested | undefined
  /** What it throws because the run inside it asks. */
  relayed: Interrupt | undefined
  /** Whether its result is that of a checkpoint. */
  reused = false
  /** Whether it was cut off by the end of a process, and is made again (L20). */
  rerun = false
  /** Whether it is being made, or need not be: of a checkpoint's calls each waits until it is asked for. */
  begun = true
  /** What the last execution was given and gave: what a discarded `reversible` call is undone with. */
  done: { readonly input: unknown; readonly output: unknown } | undefined
  /** The work itself, which may go on after the call was abandoned. Always has a handler. */
  work: Promise<unknown> | undefined
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
    this.attributes = options.attributes ?? {}
    this.askers = options.asker ? [options.asker] : []
    this.maker = options.maker
    this.provisional = options.provisional ?? false
    this.startedEarly = this.provisional
    this.ceiling = options.ceiling
    this.rest = options.rest
    this.warmUp = options.warmUp
    this.keyCeiling = options.keyCeiling
    this.keys = mayNameKeys(options.tool) ? undefined : NO_KEYS
    this.maker?.children.push(this)
    this.signal = this.#controller.signal
    this.abandoned = new Promise((resolve) => {
      this.#abandon = resolve
    })
    this.slots = options.slots
    this.seat = seatFor(this)
    this.slots.open(this)
    this.asked = options.saved?.asked ?? options.asker !== undefined
    if (options.saved) this.#restore(options.saved)
    this.committed = new Promise((resolve) => {
      this.#commit = resolve
    })
    if (!this.provisional) this.#commit()
  }

  #restore({ id, attempts, effect, message, told = false, done, nested, outcomes = [] }: SavedCall): void {
    this.begun = false
    this.id = id
    this.attempts = attempts
    this.effect = effect
    this.told = told
    this.shown = told
    this.known = [...outcomes]
    this.done = done
    this.nested = nested && { saved: nested }
    this.reused = message !== undefined
    if (message) this.settleAs(message)
  }

  /** It is over, as a checkpoint says. */
  settleAs(message: ToolMessage): void {
    this.begun = true
    this.settled = true
    this.message = freeze(message)
    this.promise = Promise.resolve(message)
    this.status.end(message.isError ? 'error' : 'ok')
    this.slots.close(this)
  }

  /** It stays open, as a checkpoint says: its question has no answer yet. */
  stayOpen(stopped: RunStop): void {
    this.begun = true
    this.settled = true
    this.stopped = stopped
    this.promise = Promise.reject(stopped)
    this.promise.catch(() => undefined)
  }

  /**
   * Let go of, asked for by failed attempts alone, or of a checkpoint and not asked for yet: it does not start, and nobody
   * waits for its turn (G11, H22).
   */
  get aside(): boolean {
    if (!this.begun) return true
    const isLeft = this.askers.length > 0 && this.askers.every(({ over }) => over)
    return this.provisional && (this.discarded !== undefined || isLeft)
  }

  /** Aborts this call and those it made; `grace` ms later they are no longer waited for. */
  abort(reason: unknown, grace: number): void {
    for (const child of this.children) child.abort(reason, grace)
    this.rest?.fail(reason)
    if (!this.begun || this.settled || this.signal.aborted) return
    this.warmUp?.abort(reason)
    this.#timer = timer(grace, this.#abandon)
    this.#controller.abort(reason)
  }

  /** Aborts this call if it is at work, and its tool allows that; gives whether it did (I4). */
  cancel(grace: number): boolean {
    if (this.settled || this.discarded) return false
    if (this.tool?.cancelable === false) throw new NotCancelableError(this.id, this.tool.name)
    this.abort(new ToolCancelledError(this.id), grace)
    return this.cancelled
  }

  /** It was cancelled, or the call that makes it was. */
  get cancelled(): boolean {
    return this.signal.reason instanceof ToolCancelledError
  }

  /** Whether a question is one that this call asks, or one that it makes. */
  asks(interrupt: Interrupt): boolean {
    if (this.asking?.interrupt === interrupt || this.relayed === interrupt) return true
    return this.children.some((child) => child.asks(interrupt))
  }

  /** Its function was entered, or may have been in a run before this one. */
  get entered(): boolean {
    return this.effect !== undefined
  }

  /** Resolves when it is committed; throws its signal's reason if that aborts before. */
  async stood(): Promise<void> {
    const { signal } = this
    let abort = () => {}
    const aborted = new Promise<never>((_, reject) => {
      abort = () => reject(signal.reason)
      signal.addEventListener('abort', abort, { once: true })
      if (signal.aborted) abort()
    })
    try {
      await Promise.race([this.committed, aborted])
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  /** Its model call has stood and the loop asks for it. */
  commit(): void {
    this.provisional = false
    this.askedAt = performance.now()
    this.#commit()
  }

  settle(): void {
    this.settled = true
    this.warmUp?.end()
    clearTimeout(this.#timer)
    this.slots.close(this)
  }
}

/** Whether a call waits for a resume, and with it whoever made it: a question that somebody has caught waits for nothing. */
export function isOpen({ stopped, provisional, discarded, maker }: CallEntry): boolean {
  return stopped !== undefined && !provisional && !discarded && (!maker || isOpen(maker))
}
