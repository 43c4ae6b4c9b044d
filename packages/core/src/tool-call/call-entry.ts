/** What a run knows of one logical call. */

import type { Attributes, Context } from '@opentelemetry/api'
import type { SavedCall } from '../checkpoint/checkpoint.ts'
import type { RunStop } from '../errors.ts'
import type { DiscardCause } from '../events.ts'
import type { Answer, Execution } from '../execution/execution.ts'
import { Patience } from '../execution/patience.ts'
import { CallStatus } from '../execution/tool-status.ts'
import { unheard } from '../flow/unheard.ts'
import type { Place } from '../interrupt/address.ts'
import type { Interrupt } from '../interrupt/interrupt.ts'
import { NO_KEYS, type ResourceKeys } from '../machine/resource-keys.ts'
import type { ToolCall, ToolMessage } from '../message.ts'
import type { Rest } from '../needs/rest.ts'
import type { WarmUp } from '../needs/warm-ups.ts'
import { freeze } from '../run/history.ts'
import type { Slots, Ticket } from '../slots/slots.ts'
import { type Seat, seatFor } from '../slots/tool-limit.ts'
import type { Tool } from '../tool.ts'
import { NotCancelableError, ToolCancelledError } from '../tool-errors.ts'
import type { Asker } from './askers.ts'
import { type Bounds, mayNameKeys } from './call-effect.ts'
import { CallRecord } from './call-record.ts'
import { Course, type End, Fate } from './call-state.ts'
import { NestedRuns } from './nested-runs.ts'

/** What is known when a call is made. */
interface Beginning
  extends Pick<CallEntry, 'key' | 'call' | 'tool' | 'step' | 'parent' | 'slots'>,
    Partial<Pick<CallEntry, 'attributes' | 'maker' | 'caller' | 'most' | 'nested' | 'record' | 'rest' | 'warmUp'>> {
  readonly asker?: Asker | undefined
  /** Default `false`. */
  readonly provisional?: boolean
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
  /** The id it has by now: an attempt that joined may have given it another (O4). */
  id: string
  readonly tool: Tool | undefined
  readonly step: number
  /** What the call's spans nest under. */
  parent: Context
  readonly attributes: Attributes
  /** Who asks for it; whether a response does, or did before a resume. */
  readonly askers: Asker[]
  readonly asked: boolean
  /** Absent unless a tool or wrap makes this call: then it shares that call's fate, works inside its slot and under its keys. */
  readonly maker: CallEntry | undefined
  /** Of a call in the run of an agent: the call that runs this agent, if one does. */
  readonly caller: CallEntry | undefined
  readonly #makerKey: string | undefined
  /** The calls it made. */
  readonly children: CallEntry[] = []
  readonly slots: Slots
  readonly seat: Seat | undefined
  /** What it touches; not known until its input is checked, if its tool names keys. */
  keys: ResourceKeys | undefined
  executing = 0
  /** What it may do and touch before it is committed. */
  readonly most: Bounds
  /** Of a call that started with the members its tool needs. */
  readonly rest: Rest | undefined
  readonly warmUp: WarmUp | undefined
  readonly fate: Fate
  readonly course: Course
  readonly startedEarly: boolean
  /** Whether its result is that of a checkpoint. */
  readonly reused: boolean
  /** Whether it was cut off by the end of a process, and is made again (L20). */
  rerun = false
  readonly record: CallRecord
  readonly status: CallStatus
  /** Those whose spans have not ended. */
  readonly executions: Execution[] = []
  readonly answers: Answer[] = []
  promise: Promise<ToolMessage> = NEVER
  /** The work itself, which may go on after the call was abandoned. Always has a handler. */
  work: Promise<unknown> | undefined
  /** Whether the run has told of its message. */
  told: boolean
  /** Whether that has come through all `wrapAgent`s to the reader. */
  shown: boolean
  /** What its tool, or a wrap round it, asks. */
  asking: { readonly interrupt: Interrupt; readonly by?: Place } | undefined
  readonly nested: NestedRuns
  /** The pause of its run that reached it while it waited for its commit: what comes of it is dropped, and it stays open. */
  dropped: RunStop | undefined
  /** What its tool, or the runs of agents in it, have asked: several at once, if a wrap has it executed several times at once. */
  readonly #questions: RunStop[] = []
  /** A stop that is not its own question. */
  #met: RunStop | undefined
  readonly #made = performance.now()
  readonly #patience = new Patience()

  constructor(beginning: Beginning) {
    const { call, tool, maker, asker, provisional = false, saved } = beginning
    this.key = beginning.key
    this.call = call
    this.id = saved?.id ?? call.id
    this.tool = tool
    this.step = beginning.step
    this.parent = beginning.parent
    this.attributes = beginning.attributes ?? {}
    this.askers = asker ? [asker] : []
    this.asked = saved?.asked ?? asker !== undefined
    this.maker = maker
    this.caller = beginning.caller
    this.#makerKey = saved?.maker
    this.slots = beginning.slots
    this.keys = mayNameKeys(tool) ? undefined : NO_KEYS
    this.most = beginning.most ?? {}
    this.rest = beginning.rest
    this.warmUp = beginning.warmUp
    this.fate = new Fate(provisional)
    this.course = new Course(saved !== undefined)
    this.startedEarly = provisional
    this.reused = saved?.message !== undefined
    this.record = beginning.record ?? new CallRecord(saved)
    this.status = new CallStatus(tool?.cancelable !== false, this.record.isTried)
    this.told = saved?.told ?? false
    this.shown = this.told
    this.nested = beginning.nested ?? new NestedRuns(saved)
    this.seat = seatFor(this)
    maker?.children.push(this)
    this.slots.open(this)
    if (saved?.message) this.settleAs(saved.message)
  }

  /** Of a call that another one makes. After a resume the maker may be there as work in the background only. */
  get makerKey(): string | undefined {
    return this.maker?.key ?? this.#makerKey
  }

  /** Since when it could have been executed, in `performance.now()`: since it was asked for, then since it stands. */
  get askedAt(): number {
    return Math.max(this.#made, this.fate.committedAt ?? 0)
  }

  /** Neither committed nor discarded. */
  get provisional(): boolean {
    return this.fate.isProvisional
  }

  get discarded(): DiscardCause | undefined {
    return this.fate.discarded
  }

  get settled(): boolean {
    return this.course.end !== undefined
  }

  get message(): ToolMessage | undefined {
    return this.course.end?.message
  }

  get stopped(): RunStop | undefined {
    return this.course.end?.stopped
  }

  /**
   * Let go of, asked for by failed attempts alone, or of a checkpoint and not asked for yet: it does not start, and nobody
   * waits for its turn (G11, H22).
   */
  get aside(): boolean {
    const isLeft = this.provisional && this.askers.length > 0 && this.askers.every(({ over }) => over)
    return this.course.isAsleep || this.discarded !== undefined || isLeft
  }

  get signal(): AbortSignal {
    return this.#patience.signal
  }

  /** Resolves when the call was aborted and went on beyond its grace time (K12). */
  get abandoned(): Promise<void> {
    return this.#patience.lost
  }

  /** It was aborted, or an execution of it timed out, and it went on beyond its grace time. */
  get isAbandoned(): boolean {
    return this.#patience.isLost || this.executions.some(({ abandoned }) => abandoned)
  }

  /** It was cancelled, or the call that makes it was. */
  get cancelled(): boolean {
    return this.signal.reason instanceof ToolCancelledError
  }

  /** Whether a question is one that this call asks, or one that it makes. */
  asks(question: RunStop): boolean {
    if (this.asking?.interrupt === question || this.#questions.includes(question)) return true
    return this.children.some((child) => child.asks(question))
  }

  /** Its tool asks. */
  ask(interrupt: Interrupt): void {
    if (!this.asks(interrupt)) this.asking = { interrupt }
    this.#questions.push(interrupt)
  }

  /** The run of an agent in it asks, for which it throws this. */
  relay(interrupt: Interrupt): Interrupt {
    this.#questions.push(interrupt)
    return interrupt
  }

  /** It goes on under this id, and so does its result. */
  rename(id: string): void {
    this.id = id
    this.course.rename(id)
  }

  /** Resolves when it is over, whatever it came to. */
  async over(): Promise<void> {
    // A wrap may stop the run in the very turn in which the call begins: it has no promise before that is through.
    await Promise.resolve()
    await this.promise.catch(() => undefined)
  }

  /** Aborts this call and those it made; `grace` ms later they are no longer waited for. */
  abort(reason: unknown, grace: number): void {
    for (const child of this.children) child.abort(reason, grace)
    this.rest?.fail(reason)
    if (!this.course.isAtWork || this.signal.aborted) return
    this.warmUp?.abort(reason)
    this.#patience.abort(reason, grace)
  }

  /** Aborts this call if it is at work, and its tool allows that; gives whether it did (I4). */
  cancel(grace: number): boolean {
    if (this.settled || this.discarded) return false
    if (this.tool?.cancelable === false) throw new NotCancelableError(this.id, this.tool.name)
    this.abort(new ToolCancelledError(this.id), grace)
    return this.cancelled
  }

  /**
   * The commit or the call that it waits for has come to this stop. `grace` is given if the stop is the run's own. What comes of an early
   * call is dropped then, as it would not have met the stop if it had started later: it is aborted, and waited for at most `grace` ms.
   * What a committed call makes of the stop stands.
   */
  meet(stop: RunStop, grace?: number): void {
    if (this.asks(stop)) return
    this.#met = stop
    if (grace === undefined || !this.provisional || !this.course.isAtWork) return
    this.dropped ??= stop
    this.#patience.later(() => this.abort(stop, grace))
  }

  /** Whether what it throws, or a wrap round it, only passes on a stop that it has met. */
  isStoppedBy(thrown: unknown): boolean {
    return this.dropped !== undefined || (this.#met !== undefined && this.#met === thrown)
  }

  settle(end: End): void {
    this.course.settle(end)
    this.warmUp?.end()
    this.#patience.over()
    this.slots.close(this)
  }

  /** It is over, as a checkpoint says. */
  settleAs(message: ToolMessage): void {
    this.settle({ message: freeze(message) })
    this.promise = Promise.resolve(message)
    this.status.end(message.isError ? 'error' : 'ok')
  }

  /** It stays open, as a checkpoint says: its question has no answer yet. */
  stayOpen(stopped: RunStop): void {
    this.settle({ stopped })
    this.promise = unheard(Promise.reject(stopped))
  }
}

/** Whether a call waits for a resume, and with it whoever made it: a question that somebody has caught waits for nothing. */
export function isOpen({ stopped, fate, maker }: CallEntry): boolean {
  return stopped !== undefined && fate.isCommitted && (!maker || isOpen(maker))
}
