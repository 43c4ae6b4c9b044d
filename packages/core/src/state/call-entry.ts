/** The handle of a call. It refers to the state of the call, and holds what is not JSON, such as its values, its signal and its promise. */

import type { Context } from '@opentelemetry/api'
import { timer } from '../flow/grace.ts'
import { type Coming, coming } from '../flow/unheard.ts'
import {
  type CallState,
  hasAbandoned,
  hasSettled,
  type MiddlewareHook,
  type WorkState,
  wasEntered,
} from '../machine/call.ts'
import { askerOf, type Calls, callOf, hasQuestion, waitsForResume } from '../machine/calls.ts'
import { parked, settled } from '../machine/decide-call.ts'
import { callMade, decideCall } from '../machine/decide-calls.ts'
import { type CallBegun, loadedCall } from '../machine/saved-state.ts'
import type { CallFacts } from '../telemetry/around.ts'
import type { RunStop } from '../vocabulary/errors.ts'
import type { DiscardCause, OfCall } from '../vocabulary/events.ts'
import { freeze } from '../vocabulary/history.ts'
import type { Interrupt } from '../vocabulary/interrupt.ts'
import type { ToolCall, ToolMessage } from '../vocabulary/message.ts'
import type { SavedCall } from '../vocabulary/saved-run.ts'
import type { Tool } from '../vocabulary/tool.ts'
import { NotCancelableError, ToolCancelledError, ToolTimeoutError } from '../vocabulary/tool-errors.ts'
import type { ToolState } from '../vocabulary/tool-status.ts'
import { atEndOf, type Bounds, factsOf } from './call-effect.ts'
import { CallOutcomes, type Ending, type Execution } from './call-outcomes.ts'
import { CallStatus } from './call-status.ts'
import type { Rest } from './rest.ts'
import type { Slots } from './slots.ts'
import { type Seat, seatFor } from './tool-limit.ts'
import type { WarmUp } from './warm-ups.ts'

/** What is known when a call is made. */
export interface NewCall
  extends Pick<CallEntry, 'key' | 'call' | 'tool' | 'parent'>,
    Partial<Pick<CallEntry, 'attributes' | 'maker' | 'caller' | 'most' | 'rest' | 'warmUp' | 'requestedIn'>> {
  readonly step: number
  /** The attempt that requests it, if there is one. */
  readonly attempt?: number | undefined
  /** Default `false`. */
  readonly provisional?: boolean
  /** The call as a checkpoint contains it. */
  readonly saved?: SavedCall
  /** Present if it is the work of a background call. */
  readonly work?: WorkState
}

/** The part of the call table that a call uses. */
export interface CallHome {
  readonly state: Calls
  readonly slots: Slots
  put(entry: CallEntry): void
  of(number: number): CallEntry | undefined
  allOf(numbers: readonly number[]): readonly CallEntry[]
  stop(entries: readonly CallEntry[], reason: unknown, grace: number): void
  isUndone(key: string): boolean
  contentFor(step: number, call: ToolCall, key: string): number
}

/** The promise of a call that has not started. */
const NEVER = new Promise<never>(() => undefined)

/** Shared by all calls that were never provisional. */
const DECIDED: Coming<void> = coming()
DECIDED.resolve()

export class CallEntry {
  /** Its number in its table. */
  readonly number: number
  readonly table: CallHome
  /** The key that identifies it in checkpoints, and the tool's `idempotencyKey`. */
  key: string
  /** The call as it was requested. If it started with only the needed members, it has only these until its input is complete. */
  call: ToolCall
  readonly tool: Tool | undefined
  /** The name in the addresses of its questions: that of its tool when the call was made. */
  readonly madeAs: string
  /** The parent of the call's spans. */
  parent: Context
  readonly attributes: CallFacts['attributes']
  /** The contexts of the model attempts that request it. */
  readonly requestedIn: Context[]
  /** The call whose tool or wrap makes this one, if there is one. This call has the same fate as its maker, and uses its slot. */
  readonly maker: CallEntry | undefined
  /** Its maker, the maker of that, and so on, outermost first. */
  readonly makers: readonly CallEntry[]
  /** For a call in the run of an agent: the call that runs this agent, if there is one. */
  readonly caller: CallEntry | undefined
  readonly #makerKey: string | undefined
  readonly seat: Seat | undefined
  /** The strongest effect, the keys and the inputs that it may have before it is committed. */
  most: Bounds
  /** Present if it started with only the members that its tool needs. */
  readonly rest: Rest<CallEntry> | undefined
  readonly warmUp: WarmUp | undefined
  /** Whether its result comes from a checkpoint. */
  readonly reused: boolean
  /** Input and output of the last execution, for the undo of a discarded call. Without `input`, the checkpoint did not contain them. */
  done: { readonly input?: unknown; readonly output?: unknown } | undefined
  readonly status: CallStatus
  readonly outcomes: CallOutcomes
  /** The executions whose spans have not ended. */
  readonly executions: Execution[] = []
  promise: Promise<ToolMessage> = NEVER
  /** The work itself, which may continue after the call was abandoned. Its rejection is always handled. */
  work: Promise<unknown> | undefined
  /** The last state, after the call has left its table. */
  #past: CallState | undefined
  /** The outcome. Absent until the call has settled. */
  ending: Ending | undefined
  readonly #controller = new AbortController()
  readonly signal: AbortSignal = this.#controller.signal
  /** Resolves when the call is committed or discarded: at once if it was never provisional. */
  readonly decided: Coming<void>
  /** Rejects with the reason of its signal when the call is still running after its grace time. */
  readonly abandoned: Coming<never> = coming()
  #timer: ReturnType<typeof timer>

  constructor(table: CallHome, beginning: NewCall) {
    const { key, call, tool, maker, rest, saved, requestedIn = [] } = beginning
    const begun = saved ? loadedCall(saved, atEndOf(tool)) : stateOf(beginning)
    const isWhole = begun.isRequested && !rest
    this.key = key
    this.call = call
    this.table = table
    this.number = callMade(table.state, {
      ...begun,
      tool: factsOf(tool),
      maker: maker?.number,
      content: isWhole ? table.contentFor(begun.step, call, key) : undefined,
      requestedAt: performance.now(),
      ...(table.isUndone(key) && { undo: 'before' }),
    })
    table.put(this)
    this.decided = begun.fate === 'provisional' ? coming() : DECIDED
    this.tool = tool
    this.madeAs = saved?.madeAs ?? (saved ?? beginning).call.name
    this.parent = beginning.parent
    this.attributes = beginning.attributes ?? {}
    this.requestedIn = [...requestedIn]
    this.maker = maker
    this.makers = maker ? [...maker.makers, maker] : []
    this.caller = beginning.caller
    this.#makerKey = saved?.maker
    this.most = beginning.most ?? {}
    this.rest = rest
    this.warmUp = beginning.warmUp
    this.reused = saved?.message !== undefined
    this.done = saved?.done
    this.status = new CallStatus(tool?.cancelable !== false, wasEntered(this.state))
    this.outcomes = new CallOutcomes(saved)
    this.seat = seatFor(this)
  }

  /** The key of the maker. After a resume the maker may exist only as background work. */
  get makerKey(): string | undefined {
    return this.maker?.key ?? this.#makerKey
  }

  /** Stores a new state. Returns whether it differs from the old one. */
  decide(after: CallState): boolean {
    if (!this.#past) return decideCall(this.table.state, after)
    const isNew = after !== this.#past
    this.#past = after
    return isNew
  }

  /** Stores what is known of the call from now on. What happens to it is decided in `decide-call.ts`. */
  note(facts: Partial<Omit<CallState, 'course' | 'fate' | 'executions' | 'attempts' | 'told' | 'undo'>>): void {
    this.decide({ ...this.state, ...facts })
  }

  get state(): CallState {
    return this.#past ?? callOf(this.table.state, this.number)
  }

  /** The table forgets the call. */
  leave(): void {
    this.#past = this.state
  }

  get id(): string {
    return this.state.id
  }

  /** A call whose tool asks for this one by its id, and waits for it. */
  get asker(): CallEntry | undefined {
    const asker = askerOf(this.table.state, this.number)
    return asker === undefined ? undefined : this.table.of(asker)
  }

  /** The members that name it in events. Until it is committed, it has the id with which it was made. */
  get named(): OfCall {
    const idOf = (one: CallEntry) => (one.state.fate === 'committed' ? one : one.call).id
    return { callId: idOf(this), toolName: this.call.name, ...(this.maker && { makers: this.makers.map(idOf) }) }
  }

  /** Its inner calls. */
  get children(): readonly CallEntry[] {
    return this.table.allOf(this.state.children)
  }

  /** Neither committed nor discarded. */
  get provisional(): boolean {
    return this.state.fate === 'provisional'
  }

  get discarded(): DiscardCause | undefined {
    return this.state.cause
  }

  get settled(): boolean {
    return hasSettled(this.state)
  }

  get message(): ToolMessage | undefined {
    return this.ending?.message
  }

  get stopped(): RunStop | undefined {
    return this.ending?.stopped
  }

  /** It was cancelled, or its maker was. */
  get cancelled(): boolean {
    return this.state.aborted === 'cancelled'
  }

  /** The stop of its run, if it came while the call waited for its commit. Then its outcome is dropped, and the call stays open. */
  get parkedBy(): RunStop | undefined {
    return this.state.isParked ? this.state.metStop : undefined
  }

  /** The question that its tool, or a wrap around it, asks. */
  get asking(): CallState['ownQuestion'] {
    return this.state.ownQuestion
  }

  /** Whether this call, or an inner call, asks this question. */
  asks(question: RunStop): boolean {
    return hasQuestion(this.table.state, this.state, question)
  }

  /** Records that its tool, or a wrap around it, asks a question. */
  ask(question: Interrupt, by?: MiddlewareHook): void {
    if (by || !this.asks(question)) this.note({ ownQuestion: { interrupt: question, ...(by && { by }) } })
    if (!by) this.relay(question)
  }

  /** Records that the run of an agent inside it asks this question. Returns the question, to be thrown. */
  relay(question: Interrupt): Interrupt {
    this.note({ questions: [...this.state.questions, question] })
    return question
  }

  /** Changes the id of the call and of its result. */
  rename(id: string): void {
    this.note({ id })
    const { message } = this
    if (message && message.callId !== id) this.ending = { ...this.ending, message: freeze({ ...message, callId: id }) }
  }

  /** Aborts this call and its inner calls. After `grace` milliseconds nothing waits for them any more. */
  abort(reason: unknown, grace: number): void {
    this.rest?.fail(reason)
    this.table.stop([this], reason, grace)
  }

  /** Passes a decided stop on to everything that works for the call. */
  stop(reason: unknown, grace: number): void {
    this.warmUp?.abort(reason)
    this.#controller.abort(reason)
    clearTimeout(this.#timer)
    const abandon = () => {
      this.note({ isAbandoned: true })
      this.abandoned.reject(reason)
    }
    // Runs of agents inside the call have set their timers earlier, so they give up first and report their end in a later turn.
    this.#timer = timer(grace, () => {
      if (this.outcomes.hasRuns) this.#timer = timer(0, abandon)
      else abandon()
    })
  }

  /** Aborts this call if it is running and its tool allows that. Returns whether it did. */
  cancel(grace: number): boolean {
    if (this.settled || this.discarded) return false
    if (this.tool?.cancelable === false) throw new NotCancelableError(this.id, this.tool.name)
    this.abort(new ToolCancelledError(this.id), grace)
    return this.cancelled
  }

  /**
   * Called when the commit or the call that it waits for ended with this stop. `grace` is present if the stop belongs to the run itself. Then the
   * outcome of an early call is dropped, because the same call, started later, would not have met the stop: it is aborted, and awaited for at most
   * `grace` milliseconds. A committed call keeps its outcome.
   */
  meet(stop: RunStop, grace?: number): void {
    if (this.state.isParked || this.asks(stop)) return
    this.note({ metStop: stop })
    // In a later turn, because other code in the call may notice the stop in another way and must notice it first.
    if (grace !== undefined && this.decide(parked(this.state))) this.#timer ??= timer(0, () => this.abort(stop, grace))
  }

  /** Whether an error that the call or a wrap around it throws only passes on a stop that it has met. */
  isStoppedBy(thrown: unknown): boolean {
    const { isParked, metStop } = this.state
    return isParked === true || (metStop !== undefined && metStop === thrown)
  }

  /** How it ended, once it has settled. Call this before its spans end. */
  endState(ok: boolean): ToolState {
    if (ok) return 'ok'
    if (this.isAbandoned) return 'abandoned'
    if (this.signal.aborted) return 'cancelled'
    const thrown = [this.ending?.error, this.executions.at(-1)?.error]
    return thrown.some((error) => error instanceof ToolTimeoutError) ? 'timed-out' : 'error'
  }

  /** Whether something of it is still running after its grace time. */
  get isAbandoned(): boolean {
    return this.state.isAbandoned === true || hasAbandoned(this.state)
  }

  settle(ending: Ending): void {
    const { message, isCutOff, stopped } = ending
    if (this.decide(settled(this.state, isCutOff ? 'cut off' : message ? 'result' : stopped ? 'open' : 'none')))
      this.ending = ending
    this.warmUp?.end()
    clearTimeout(this.#timer)
    this.table.slots.close(this)
  }
}

function stateOf({ call, step, attempt, provisional = false, most, work }: NewCall): CallBegun {
  return {
    id: call.id,
    step,
    isRequested: attempt !== undefined,
    fate: provisional ? 'provisional' : 'committed',
    startedEarly: provisional,
    ceiling: most?.ceiling,
    requestedBy: attempt === undefined ? [] : [attempt],
    course: 'begun',
    attempts: 0,
    executions: [],
    questions: [],
    told: 'open',
    ...(work && { work }),
  }
}

/** See {@link waitsForResume}. */
export function isOpen({ table, state }: CallEntry): boolean {
  return waitsForResume(table.state, state)
}
