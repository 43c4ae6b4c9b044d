/** Defines the state of one run: everything that changes during the run. The agent itself never changes. */

import type { Context } from '@opentelemetry/api'
import type { Awaitable } from '../flow/flow.ts'
import type { MiddlewareHook } from '../machine/call.ts'
import { activeContext, Telemetry } from '../telemetry/around.ts'
import type { AgentConfig } from '../vocabulary/agent-config.ts'
import { isWithin } from '../vocabulary/call-limits.ts'
import type { CheckpointStore } from '../vocabulary/checkpoint-store.ts'
import { behind } from '../vocabulary/copies.ts'
import type { Effect } from '../vocabulary/effect.ts'
import { ConfigError } from '../vocabulary/errors.ts'
import type { AgentEvent } from '../vocabulary/events.ts'
import { Interrupt, type PendingInterrupt } from '../vocabulary/interrupt.ts'
import { extentOf } from '../vocabulary/json-text.ts'
import type { Json, Usage } from '../vocabulary/message.ts'
import type { Middleware } from '../vocabulary/middleware.ts'
import type { Checkpoint, Invocation, Resumed, SavedUndo } from '../vocabulary/saved-run.ts'
import type { AgentSetup, Run } from '../vocabulary/tool.ts'
import type { Actor } from './actor.ts'
import { addressOf } from './address.ts'
import type { CallEntry } from './call-entry.ts'
import { Inbox } from './inbox.ts'
import { Questions } from './questions.ts'
import { RunCalls } from './run-calls.ts'
import { RunEvents } from './run-events.ts'
import { RunHalt } from './run-halt.ts'
import { RunHistory } from './run-history.ts'
import { RunSteps } from './run-steps.ts'
import { SideCalls } from './side-calls.ts'
import { UserContext } from './user-context.ts'

/** For a run inside a call of another run: its place there, the parent of its spans, and how its events are shown. */
export interface Nesting {
  readonly run: RunState
  readonly entry: CallEntry
  /** The place inside the executions of that call. */
  readonly invocation: Invocation
  readonly context: Context
  /** The context of the inner run, if it is not that of the outer run. */
  readonly userContext?: UserContext
  readonly show: (event: AgentEvent) => void
}

/** The functions that a run calls but its state layer must not import. They are passed in when the run is created. */
export interface RunWork {
  /** The run as user code sees it. */
  view(run: RunState, actor: Actor): Run
  /** Stops its calls and its background work. */
  abort(run: RunState, reason: unknown): void
  /** Creates the saver of a run, which also saves its inner runs. */
  saverOf(run: RunState): Saver
  /** Returns a checkpoint of the run at this moment. Throws {@link CheckpointStoreError} if the run contains a value that is not JSON. */
  take(run: RunState, status: Checkpoint['status']): Checkpoint
}

/** Saves a run and its inner runs. */
export interface Saver {
  /** Whether there is a store. */
  readonly isOn: boolean
  /** How often the run has been saved. */
  revision: number
  readonly undos: Undos
  /** Whether executions that wait for a save do not start any more. */
  readonly startsNothing: boolean
  /** Saves without being awaited, at most 10 ms later. If that fails, the next save contains everything. */
  soon(): void
  /** If {@link soon} was called, begins that save with the state of this moment. */
  flush(): Promise<void>
  /**
   * Resolves when the current state, or a later one, is stored. The rejection need not be handled.
   *
   * @throws {CheckpointStoreError} The store failed.
   * @throws {CheckpointConflictError} Another process has saved this run in the meantime.
   */
  now(): Promise<void>
  /** Stores exactly this state, after saves that are running. Throws the errors of {@link now}. */
  put(checkpoint: Checkpoint): Promise<void>
  /** Whether this error comes from a save of this run, and not from a tool that has its own checkpoints. */
  hasThrown(error: unknown): boolean
  /** Resolves when no save is running. */
  idle(): Promise<void>
}

/** The undos of a run and of its inner runs. */
export interface Undos {
  /** Whether an undo of the call with this key had begun before the resume. */
  hadBegun(key: string): boolean
  /**
   * Undoes a call after the beginning of the undo is stored; immediately if there is no store. `id`: the id of the call in the outermost run.
   *
   * @throws {CheckpointError} The beginning could not be stored: nothing is undone, and a resume will undo it.
   */
  during(entry: CallEntry, id: string, undo: () => Awaitable<void>): Promise<void>
  save(): readonly SavedUndo[]
  /** Loads undos of a checkpoint. They are not repeated, and the run warns about those that had not ended. */
  load(saved: readonly SavedUndo[]): void
}

export interface RunStateOptions {
  readonly work: RunWork
  readonly id: string
  readonly conversationId?: string | undefined
  readonly checkpoints?: CheckpointStore | undefined
  readonly nesting?: Nesting | undefined
  /** The signal that its caller passed. */
  readonly signal?: AbortSignal | undefined
  /** The context that its caller passed. */
  readonly context?: unknown
  readonly show: (event: AgentEvent) => void
}

/** A hook or wrap that has asked a question. */
export interface Asking {
  readonly interrupt: Interrupt
  readonly by?: MiddlewareHook
}

export class RunState {
  readonly id: string
  readonly config: AgentConfig
  readonly work: RunWork
  readonly telemetry: Telemetry
  readonly userContext: UserContext
  /** The store of its checkpoints. An inner run uses the checkpoints of the outer one. */
  readonly store: CheckpointStore | undefined
  readonly events: RunEvents
  readonly history: RunHistory
  readonly steps: RunSteps = new RunSteps()
  readonly calls: RunCalls
  readonly sideCalls: SideCalls = new SideCalls()
  readonly saver: Saver
  /** The runs inside its calls that are running, with their calls: they are saved and cancelled with it. */
  readonly innerRuns: Map<RunState, CallEntry> = new Map()
  readonly halt: RunHalt = new RunHalt(this)
  readonly inbox: Inbox = new Inbox(this.steps, this.halt)
  readonly questions: Questions = new Questions()
  setup: AgentSetup
  /** The context of the loop: that of the run's span, or of the innermost `wrapAgent`. */
  context: Context
  usage: Usage = Object.freeze({})
  /** The question of a hook or wrap. The question of a call is stored with the call. */
  asking: Asking | undefined
  /** The ids of calls that had started before the resume and may have been executed. */
  unknown: readonly string[] = []
  /** Effects whose calls run again if the end of a process, or a cancel, cut them off. Calls with the effect `calls` always run again. */
  rerun: readonly Effect[] = ['read']
  /** The last checkpoint. That of a cancelled run is taken before anything is stopped. */
  checkpoint: Checkpoint | undefined
  /** The checkpoint and answers from which the run continues, if it is resumed. */
  resumed: Resumed | undefined
  /** The part of that checkpoint that has not been restored yet. */
  unclaimed: Pick<Checkpoint, 'calls' | 'undos' | 'tools' | 'interrupts'> | undefined
  /** The key of run-local values. A run that is over gets a new one, so that its values can be garbage-collected. */
  scope: object = {}
  /** What returns the values of its run-local cells, by key. A run that is over has none. */
  readonly values: Map<string, () => Json> = new Map()
  /** The cells that have these keys. */
  readonly cells: Map<string, object> = new Map()
  /** The call of another run for which this run works, if there is one. */
  readonly caller: CallEntry | undefined
  readonly #nesting: Nesting | undefined

  constructor(config: AgentConfig, options: RunStateOptions) {
    this.id = options.id
    this.config = config
    this.work = options.work
    const { nesting } = options
    const capture = () => this.setup.captureContent
    const { conversationId } = options
    const outer = nesting?.run.telemetry
    this.telemetry = new Telemetry(config.telemetry, { agent: config.name, capture, outer, conversationId })
    this.context = nesting?.context ?? activeContext()
    this.userContext = nesting?.userContext ?? new UserContext(options.context)
    this.store = options.checkpoints
    this.events = new RunEvents(this, options.show)
    this.history = new RunHistory(this.events)
    // A `beforeAgent` may mask content, so no content may be recorded before it has run.
    this.setup = Object.freeze({ ...config.setup, captureContent: false })
    this.calls = new RunCalls(this)
    this.#nesting = nesting
    this.caller = nesting?.entry ?? behind<CallEntry>('call', options.signal)
    this.saver = nesting?.run.saver ?? options.work.saverOf(this)
  }

  get over(): boolean {
    return this.halt.state.phase === 'over'
  }

  get signal(): AbortSignal {
    return this.halt.signal
  }

  get middleware(): readonly Middleware[] {
    return this.config.middleware
  }

  /** The run around the call that contains this run, if there is one. That run saves this one in its checkpoint. */
  get outer(): RunState | undefined {
    return this.#nesting?.run
  }

  /** Whether it is not inside another run, and so saves itself. */
  get isOutermost(): boolean {
    return this.outer === undefined
  }

  /** Whether this run, or a run around it, is cancelled with `now`. A resume continues from there, unless an abort replaced the cancel. */
  get isCancelledNow(): boolean {
    return this.halt.state.stop === 'cancel' || (this.#nesting?.run.isCancelledNow ?? false)
  }

  /** How many characters what its readers get may have. The readers of the runs around it get it, too. */
  get mostShown(): number {
    return Math.min(this.config.outputLimits.characters, this.outer?.mostShown ?? Number.POSITIVE_INFINITY)
  }

  /** How many runs are around it. */
  get depth(): number {
    return this.#nesting ? this.#nesting.run.depth + 1 : 0
  }

  /** Called when the run is ready to begin: an earlier cancel may act now. */
  unlock(): void {
    if (this.#nesting) this.#nesting.run.hold(this, this.#nesting)
    this.halt.post({ is: 'running' })
  }

  hold(inner: RunState, { entry, invocation }: Nesting): void {
    this.innerRuns.set(inner, entry)
    const saved = () => inner.checkpoint ?? this.work.take(inner, inner.isCancelledNow ? 'cancelled' : 'running')
    entry.outcomes.begin(invocation, saved)
    const { mode } = this.halt.state
    if (mode) inner.halt.cancel({ at: mode })
  }

  /** Stops its calls and its background work. */
  stopCalls(reason: unknown): void {
    this.work.abort(this, reason)
  }

  /** Takes the checkpoint from which a resume continues, unless there already is one. */
  takeLast(): Checkpoint {
    const { mode } = this.halt.state
    if (mode) this.steps.cut()
    return (this.checkpoint ??= this.work.take(this, mode ? 'cancelled' : 'interrupted'))
  }

  /** Nothing more happens in the run. */
  close(): void {
    this.halt.post({ is: 'over' })
    this.scope = {}
    this.values.clear()
    this.#nesting?.run.innerRuns.delete(this)
  }

  /** Called when a hook or wrap has thrown. If the error is a question that nothing inside it has asked, it is the question of this hook or wrap. */
  threw(thrown: unknown, by: MiddlewareHook, call?: CallEntry): void {
    if (!(thrown instanceof Interrupt) || call?.isStoppedBy(thrown)) return
    // The question of another call also arrives here, because nothing may start that must not overtake that call.
    if (call?.asks(thrown) || this.calls.asks(thrown)) return
    this.measure(thrown, call)
    if (call) call.ask(thrown, by)
    else if (this.asking?.interrupt !== thrown) this.asking = { interrupt: thrown, by }
  }

  /** Fails the run if a question is over the limit. The input of its call, which it may show as written and as checked, has another limit. */
  measure({ payload }: Interrupt, call?: CallEntry): void {
    const most = this.mostShown
    if (!isWithin(payload, most + 2 * extentOf(call?.call.input).characters))
      this.halt.fail(new ConfigError('interrupt', `payload is longer than ${most} characters`))
  }

  /** Shows the reader these questions, each once. Questions of an inner run belong to the outer run, too. */
  showQuestions(questions: readonly PendingInterrupt[]): void {
    if (!this.isOutermost) return
    for (const question of questions) {
      if (!this.questions.mark(question.id)) continue
      const [, part] = question.address
      const isOfCall = part && 'tool' in part
      const call = isOfCall && { callId: part.callId, toolName: this.calls.get(part.callId)?.call.name ?? part.tool }
      this.events.push({ type: 'question', ...question, ...call })
    }
  }

  /** Called when a hook or wrap has finished: it starts without answers when it runs again. */
  answered(by: MiddlewareHook, call?: CallEntry): void {
    if (!this.questions.isEmpty && !call?.parkedBy) this.questions.done(addressOf(this, call, by))
  }

  addUsage(usage: Usage | undefined): void {
    if (usage) this.usage = sumOf(this.usage, usage)
    this.#nesting?.run.addUsage(usage)
  }

  /** The id of a call in the outermost run: prefixed with the id of the call around this run, if there is one. */
  outerId(callId: string): string {
    return this.#nesting ? this.#nesting.run.outerId(`${this.#nesting.entry.id}/${callId}`) : callId
  }

  /** Records that a call has no known result, although it was started. */
  mayHaveHappened(callId: string): void {
    this.unknown = [...this.unknown, callId]
    this.#nesting?.run.mayHaveHappened(`${this.#nesting.entry.id}/${callId}`)
  }

  /** Records that a call is still running, and that nothing waits for it any more. */
  noLongerWaitedFor(callId: string): void {
    this.calls.abandoned.push(callId)
    this.#nesting?.run.noLongerWaitedFor(`${this.#nesting.entry.id}/${callId}`)
  }
}

const FIGURES = ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'reasoningTokens'] as const

/** Returns the frozen sum of two usages. A count that both lack stays absent. */
function sumOf(a: Usage, b: Usage): Usage {
  const sum: { -readonly [K in keyof Usage]: Usage[K] } = { ...a }
  for (const figure of FIGURES) if (b[figure] !== undefined) sum[figure] = (a[figure] ?? 0) + b[figure]
  return Object.freeze(sum)
}
