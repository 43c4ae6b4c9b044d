/** The state of one run. Everything that changes is here: the agent itself never changes. */

import type { Context } from '@opentelemetry/api'
import type { MiddlewareHook } from '../machine/call.ts'
import { activeContext, Telemetry } from '../telemetry/around.ts'
import type { AgentConfig } from '../vocabulary/agent-config.ts'
import type { CheckpointStore } from '../vocabulary/checkpoint-store.ts'
import type { Effect } from '../vocabulary/effect.ts'
import type { AgentEvent } from '../vocabulary/events.ts'
import { Interrupt, type PendingInterrupt } from '../vocabulary/interrupt.ts'
import { addUsage, type Usage } from '../vocabulary/message.ts'
import type { Middleware } from '../vocabulary/middleware.ts'
import type { Checkpoint, Invocation, Resumed } from '../vocabulary/saved-run.ts'
import type { AgentSetup, Run } from '../vocabulary/tool.ts'
import type { Actor } from './actor.ts'
import { addressOf } from './address.ts'
import type { CallEntry } from './call-entry.ts'
import type { BackgroundWorks, Capabilities, Saver } from './capabilities.ts'
import { CellValues } from './cell-values.ts'
import { Inbox } from './inbox.ts'
import { InnerRuns } from './inner-runs.ts'
import { Questions } from './questions.ts'
import { RunCalls } from './run-calls.ts'
import { RunEvents } from './run-events.ts'
import { RunHalt } from './run-halt.ts'
import { RunHistory } from './run-history.ts'
import { RunSteps } from './run-steps.ts'
import { SideCalls } from './side-calls.ts'
import { signalOwner } from './signal-owner.ts'
import { UserContext } from './user-context.ts'

/** Of a run inside a call of another: which one, where its spans nest, and how its events are shown. */
export interface Nesting {
  readonly run: RunState
  readonly entry: CallEntry
  /** Where in the executions of that call. */
  readonly invocation: Invocation
  readonly context: Context
  /** What the agent of the inner run is given of the outer one's, or in its place. */
  readonly userContext?: UserContext
  readonly show: (event: AgentEvent) => void
}

/** What is done with a run by what lies above its state, and beside the centre: handed in where the run is made. */
export interface RunWork extends Capabilities<RunState, CallEntry> {
  /** The run as user code sees it. */
  view(run: RunState, actor: Actor): Run
  /** Its calls are told to stop. */
  abort(run: RunState, reason: unknown): void
}

export interface RunStateOptions {
  readonly work: RunWork
  readonly id: string
  readonly conversationId?: string | undefined
  readonly checkpoints?: CheckpointStore | undefined
  readonly nesting?: Nesting | undefined
  /** The signal that its caller gave. */
  readonly signal?: AbortSignal | undefined
  /** The context that its caller gave. */
  readonly context?: unknown
  readonly show: (event: AgentEvent) => void
}

/** A hook or wrap that has asked. */
export interface Asking {
  readonly interrupt: Interrupt
  readonly by?: MiddlewareHook
}

export class RunState {
  readonly id: string
  readonly config: AgentConfig
  readonly work: RunWork
  readonly telemetry: Telemetry
  readonly conversationId: string | undefined
  readonly userContext: UserContext
  /** Where its checkpoints are kept. Of a run inside another: the outer one's are. */
  readonly store: CheckpointStore | undefined
  readonly events: RunEvents
  readonly history: RunHistory
  readonly steps: RunSteps = new RunSteps()
  readonly inbox: Inbox = new Inbox(this)
  readonly calls: RunCalls
  readonly background: BackgroundWorks<CallEntry>
  readonly sideCalls: SideCalls
  readonly saver: Saver<CallEntry>
  readonly innerRuns: InnerRuns<RunState, CallEntry> = new InnerRuns()
  readonly halt: RunHalt = new RunHalt(this)
  readonly questions: Questions = new Questions()
  setup: AgentSetup
  /** What the loop works in: the context of the run's span, or of the innermost `wrapAgent`'s. */
  context: Context
  usage: Usage = Object.freeze({})
  /** What a hook or wrap asks: a call's own question is with the call. */
  asking: Asking | undefined
  /** Ids of calls that a run before this one had started, and that may have happened. */
  unknown: readonly string[] = []
  /** Effects whose calls are made again if they were cut off; those of `calls` always are. */
  rerun: readonly Effect[] = ['read']
  /** Its last; of a cancelled run, taken before anything was torn down. */
  checkpoint: Checkpoint | undefined
  /** What it goes on from, if it does. */
  resumed: Resumed | undefined
  /** What of that is not among its calls yet. */
  unclaimed: Pick<Checkpoint, 'calls' | 'undos' | 'tools' | 'interrupts'> | undefined
  /** What run-local values hang on. A run that is over gets another, so that they go though somebody keeps the run. */
  scope: object = {}
  /** The call of another run that it works for, if it does. */
  readonly caller: CallEntry | undefined
  readonly #nesting: Nesting | undefined
  #values: CellValues | undefined

  constructor(config: AgentConfig, options: RunStateOptions) {
    this.id = options.id
    this.config = config
    this.work = options.work
    const { nesting } = options
    const capture = () => this.setup.captureContent
    this.telemetry = new Telemetry(config.telemetry, config.name, capture, nesting?.run.telemetry)
    this.context = nesting?.context ?? activeContext()
    this.userContext = nesting?.userContext ?? new UserContext(options.context)
    this.conversationId = options.conversationId
    this.store = options.checkpoints
    this.events = new RunEvents(this, options.show)
    this.history = new RunHistory(this.events)
    // What a `beforeAgent` is to mask must not be recorded before it has said so.
    this.setup = Object.freeze({ ...config.setup, captureContent: false })
    this.calls = new RunCalls(this)
    this.background = options.work.background.worksOf(this)
    this.sideCalls = new SideCalls(this)
    this.#nesting = nesting
    this.caller = nesting?.entry ?? signalOwner(options.signal)
    this.saver = nesting?.run.saver ?? options.work.checkpoints.saverOf(this)
  }

  get over(): boolean {
    return this.halt.state.phase === 'over'
  }

  get signal(): AbortSignal {
    return this.halt.signal
  }

  /** Of its run-local cells. */
  get values(): CellValues {
    return (this.#values ??= new CellValues(this.over))
  }

  get middleware(): readonly Middleware[] {
    return this.config.middleware
  }

  /** The run of the call that it is inside of, if it is: that saves it in its checkpoint. */
  get outer(): RunState | undefined {
    return this.#nesting?.run
  }

  /** Whether it saves itself. */
  get isOutermost(): boolean {
    return this.outer === undefined
  }

  /** Whether it is cancelled at once, or a run that it is inside of is: a resume goes on from there, unless an abort has won. */
  get isCancelledNow(): boolean {
    return this.halt.state.stop === 'cancel' || (this.#nesting?.run.isCancelledNow ?? false)
  }

  /** How many runs it is inside of. */
  get depth(): number {
    return this.#nesting ? this.#nesting.run.depth + 1 : 0
  }

  /** It is ready to begin: a cancel that came before may act. */
  unlock(): void {
    if (this.#nesting) this.#nesting.run.#hold(this, this.#nesting)
    this.halt.post({ is: 'running' })
  }

  #hold(inner: RunState, { entry, invocation }: Nesting): void {
    this.innerRuns.add(inner, entry)
    const saved = () =>
      inner.checkpoint ?? this.work.checkpoints.take(inner, inner.isCancelledNow ? 'cancelled' : 'running')
    entry.outcomes.begin(invocation, saved)
    const { mode } = this.halt.state
    if (mode) inner.halt.cancel({ at: mode })
  }

  /** Its calls are told to stop. */
  stopCalls(reason: unknown): void {
    this.work.abort(this, reason)
  }

  /** Takes the checkpoint that a resume goes on from, unless there is one. */
  takeLast(): Checkpoint {
    const { mode } = this.halt.state
    if (mode) this.steps.cut()
    return (this.checkpoint ??= this.work.checkpoints.take(this, mode ? 'cancelled' : 'interrupted'))
  }

  /** Nothing more happens in it. */
  close(): void {
    this.halt.post({ is: 'over' })
    this.scope = {}
    this.#values?.over()
    this.#nesting?.run.innerRuns.delete(this)
  }

  /** A hook or wrap, of a call or not, has thrown: if that is a question nobody inside it has asked, it asks it. */
  threw(thrown: unknown, by: MiddlewareHook, call?: CallEntry): void {
    if (!(thrown instanceof Interrupt) || call?.isStoppedBy(thrown)) return
    // Another call's comes up here, too, because nothing starts any more that must not overtake that (A22, H14).
    if (call?.asks(thrown) || this.calls.asks(thrown)) return
    if (call) call.ask(thrown, by)
    else if (this.asking?.interrupt !== thrown) this.asking = { interrupt: thrown, by }
  }

  /** The reader is told of these questions, of each once. Those of a run inside another are the outer one's, too. */
  tellQuestions(questions: readonly PendingInterrupt[]): void {
    if (!this.isOutermost) return
    for (const question of questions) {
      if (!this.questions.mark(question.id)) continue
      const [, part] = question.address
      const call = part && 'tool' in part && { callId: part.callId, toolName: part.tool }
      this.events.push({ type: 'question', ...question, ...call })
    }
  }

  /** A hook or wrap is done: what it was answered has served. */
  answered(by: MiddlewareHook, call?: CallEntry): void {
    if (!this.questions.isEmpty && !call?.dropped) this.questions.done(addressOf(this, call, by))
  }

  addUsage(usage: Usage | undefined): void {
    this.usage = addUsage(this.usage, usage)
    this.#nesting?.run.addUsage(usage)
  }

  /** A call's id as the outermost run knows it: in front of it the id of the call that it is inside of, if there is one. */
  outerId(callId: string): string {
    return this.#nesting ? this.#nesting.run.outerId(`${this.#nesting.entry.id}/${callId}`) : callId
  }

  /** A call that had been started when an earlier run of its checkpoint was cut off. */
  mayHaveHappened(callId: string): void {
    this.unknown = [...this.unknown, callId]
    this.#nesting?.run.mayHaveHappened(`${this.#nesting.entry.id}/${callId}`)
  }

  /** A call that goes on, and that nobody waits for any more. */
  noLongerWaitedFor(callId: string): void {
    this.calls.abandoned.push(callId)
    this.#nesting?.run.noLongerWaitedFor(`${this.#nesting.entry.id}/${callId}`)
  }
}
