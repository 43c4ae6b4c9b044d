/** The state of one run: everything that changes lives here, the agent itself never does (A4). */

import {
  type Attributes,
  type Context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  type Tracer,
} from '@opentelemetry/api'
import { addressOf, type Place } from './address.ts'
import { Background } from './background.ts'
import type { CallEntry } from './call-entry.ts'
import { Cancel, type CancelMode } from './cancel.ts'
import type { Checkpoint } from './checkpoint.ts'
import type { AgentConfig } from './config.ts'
import {
  type AgentError,
  InputError,
  MaxStepsError,
  MiddlewareError,
  type OutputError,
  RunAbortedError,
  RunStop,
} from './errors.ts'
import type { AgentEvent } from './events.ts'
import { DEFAULT_FEEDBACK } from './gate.ts'
import { freeze, isMessage } from './history.ts'
import { Interrupt } from './interrupt.ts'
import { type AssistantMessage, addUsage, type Message, textOf, type Usage, type UserMessage } from './message.ts'
import type { AgentSetup, Middleware, SideRequest } from './middleware.ts'
import { Questions } from './questions.ts'
import type { Resumed } from './restore.ts'
import { RunEvents } from './run-events.ts'
import { RunHistory } from './run-history.ts'
import { CellValues } from './run-local.ts'
import type { Actor } from './run-view.ts'
import { Saver } from './saver.ts'
import { SideCalls } from './side-calls.ts'
import { checkpointOf } from './snapshot.ts'
import { Step } from './step.ts'
import { type CaptureContent, through } from './telemetry/content.ts'
import type { Metrics } from './telemetry/metrics.ts'
import type { Effect } from './tool.ts'
import { ToolCalls } from './tool-calls.ts'

/** Of a run inside a call of another: which one, where its spans nest, and how its events are shown. */
export interface Nesting {
  readonly run: RunState
  readonly entry: CallEntry
  readonly context: Context
  readonly show: (event: AgentEvent) => void
}

export interface RunStateOptions {
  readonly id: string
  readonly tracer: Tracer | undefined
  readonly metrics: Metrics | undefined
  readonly conversationId: string | undefined
  readonly nesting: Nesting | undefined
  readonly show: (event: AgentEvent) => void
}

/** A hook or wrap that has asked. */
export interface Asking {
  readonly interrupt: Interrupt
  readonly by?: Place
}

export class RunState {
  readonly id: string
  readonly config: AgentConfig
  readonly tracer: Tracer | undefined
  /** Absent if nothing measures. */
  readonly metrics: Metrics | undefined
  readonly conversationId: string | undefined
  readonly events: RunEvents
  readonly history: RunHistory = new RunHistory()
  readonly calls: ToolCalls
  readonly background: Background
  readonly sideCalls: SideCalls
  readonly saver: Saver
  readonly cancel: Cancel
  /** Of hooks and wraps that are not out: those that never come out end with the run. */
  readonly spans: Set<Span> = new Set()
  readonly questions: Questions = new Questions()
  setup: AgentSetup
  /** What the loop works in: the context of the run's span, or of the innermost `wrapAgent`'s. */
  context: Context = ROOT_CONTEXT
  /** The run's own. */
  span: Span | undefined
  usage: Usage = {}
  /** Steps begun. */
  step = 0
  /** The step at work; absent between two. */
  current: Step | undefined
  /** What the gate said when it rejected the last answer. */
  feedback: string | undefined
  /** Messages that wait for their safe point (K18). */
  sent: readonly UserMessage[] = []
  /** What a hook or wrap asks: a call's own question is with the call. */
  asking: Asking | undefined
  /** Ids of calls that a run before this one had started, and that may have happened (L21). */
  unknown: readonly string[] = []
  /** Effects whose calls are made again if they were cut off (L20). */
  rerun: readonly Effect[] = ['read']
  /** Its last; of a cancelled run, taken before anything was torn down (K4). */
  checkpoint: Checkpoint | undefined
  /** What it goes on from, if it does. */
  resumed: Resumed | undefined
  /** What of that is not in the ledger yet. */
  unclaimed: Pick<Checkpoint, 'calls' | 'background' | 'tools' | 'interrupts'> | undefined
  /** Rejects when the run has come to nothing, by an abort or so: nobody waits for a store any more. */
  readonly broken: Promise<never>
  /** Whether there is a state to save: if it goes on from a checkpoint, that has been read. */
  isReady = false
  /** Nothing that is sent to it enters the history any more. */
  closing = false
  over = false
  /** What run-local values hang on. A run that is over gets another, so that they go though somebody keeps the run (D5). */
  scope: object = {}
  readonly #controller = new AbortController()
  /** By call id; the run's own under `undefined`. */
  readonly #annotations: Map<string | undefined, Attributes> = new Map()
  readonly #nesting: Nesting | undefined
  /** Runs inside its calls. */
  readonly #nested: Set<RunState> = new Set()
  #values: CellValues | undefined
  #ended: AgentError | undefined
  #graceBegan: number | undefined
  #break: (error: AgentError) => void = () => undefined
  /** Of the latest model request. */
  #request: AbortController | undefined
  #betweenAttempts = false
  /** Why the last answer did not fit the output schema, if that was what was wrong with it. */
  #misfit: OutputError | undefined
  #atWork = false
  #entered = false
  /** Who called `next` again last: the one to blame for steps that begin while others are at work. */
  #repeater = ''

  constructor(config: AgentConfig, options: RunStateOptions) {
    this.id = options.id
    this.config = config
    this.tracer = options.tracer
    this.metrics = options.metrics
    this.conversationId = options.conversationId
    this.events = new RunEvents(this, options.show)
    // What a `beforeAgent` is to mask must not be recorded before it has said so.
    this.setup = { ...config.setup, captureContent: false }
    this.calls = new ToolCalls(this)
    this.background = new Background(this)
    this.sideCalls = new SideCalls(this)
    this.cancel = new Cancel((mode) => this.#cancelled(mode))
    this.broken = new Promise((_, reject) => {
      this.#break = reject
    })
    this.broken.catch(() => undefined)
    this.#nesting = options.nesting
    this.saver =
      options.nesting?.run.saver ??
      new Saver({
        runId: this.id,
        store: config.checkpoints,
        place: () => this.context,
        // An abort writes none, and what a cancel saves was taken before anything was torn down (K1, K4).
        snapshot: () => (this.over || this.signal.aborted ? undefined : checkpointOf(this, 'running')),
        lost: (error) => {
          if (!this.over) this.stop(error)
        },
      })
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** For whoever resumes the run (L12). */
  get trace(): Checkpoint['trace'] {
    const context = this.span?.spanContext()
    if (!context || !isSpanContextValid(context)) return undefined
    const { traceId, spanId, traceFlags } = context
    return { traceId, spanId, traceFlags }
  }

  /** Of its run-local cells. */
  get values(): CellValues {
    return (this.#values ??= new CellValues())
  }

  /** What its spans hold of messages: what the run it is inside of masks is masked here, too. */
  get capture(): CaptureContent {
    return through(this.setup.captureContent, this.#nesting?.run.capture)
  }

  get middleware(): readonly Middleware[] {
    return this.config.middleware
  }

  /** Why the run was stopped at once, if it was: an abort wins over a cancel (K11). */
  get ended(): AgentError | undefined {
    return this.#ended
  }

  /** The caller, or a reader that leaves, aborts the run. */
  abort(reason: unknown): void {
    this.stop(new RunAbortedError(reason))
  }

  /** Stops the run: model request and tools are aborted. The first reason counts, but for a cancel's. */
  stop(error: AgentError): void {
    if (this.#ended && !(this.#ended instanceof RunStop)) return
    this.#ended = error
    this.#graceBegan ??= performance.now()
    this.closing = true
    if (!(error instanceof RunStop)) this.#break(error)
    if (this.over || this.signal.aborted) return
    this.#controller.abort(error)
    this.#request?.abort(error)
    this.calls.abort(error)
    this.background.abort(error)
  }

  /** Whether it saves itself: a run that a tool makes is saved in its caller's checkpoint. */
  get isOutermost(): boolean {
    return this.#nesting === undefined
  }

  /** Milliseconds that what it has at work is still waited for. */
  get graceLeft(): number {
    this.#graceBegan ??= performance.now()
    return Math.max(0, this.config.grace - (performance.now() - this.#graceBegan))
  }

  /** Whether it is cancelled at once, or a run that it is inside of is. */
  get isCancelledNow(): boolean {
    return this.cancel.mode === 'now' || (this.#nesting?.run.isCancelledNow ?? false)
  }

  /** How many runs it is inside of. */
  get depth(): number {
    return this.#nesting ? this.#nesting.run.depth + 1 : 0
  }

  /** It is ready to begin: a cancel that came before may act. */
  unlock(): void {
    this.isReady = true
    this.#nesting?.run.contains(this, this.#nesting.entry)
    if (this.cancel.mode) this.#cancelled(this.cancel.mode)
  }

  /** From now on the run inside is saved with this one, and cancelled with it (K16). */
  contains(inner: RunState, entry: CallEntry): void {
    this.#nested.add(inner)
    entry.nested = {
      get saved() {
        return inner.checkpoint ?? checkpointOf(inner, inner.isCancelledNow ? 'cancelled' : 'running')
      },
    }
    if (this.cancel.mode) inner.cancel.request({ at: this.cancel.mode })
  }

  /** The run inside is over. */
  contained(inner: RunState): void {
    this.#nested.delete(inner)
  }

  /** Nothing more happens in it. */
  close(): void {
    this.closing = true
    this.over = true
    this.scope = {}
    this.values.over()
    this.#nesting?.run.contained(this)
  }

  #cancelled(mode: CancelMode): void {
    if (!this.isReady || this.over) return
    this.background.wake()
    if (mode === 'now') {
      this.checkpoint ??= checkpointOf(this, 'cancelled')
      this.stop(this.cancel.error)
      return
    }
    if (this.#betweenAttempts) this.#request?.abort(this.cancel.error)
    for (const inner of this.#nested) inner.cancel.request({ at: mode })
  }

  /** An attempt has failed and another will follow: the wait for it is a safe point for every mode (K7). */
  set betweenAttempts(between: boolean) {
    this.#betweenAttempts = between
    if (between && this.cancel.mode) this.#request?.abort(this.cancel.error)
  }

  /** A `wrapAgent` calls its `next` again. */
  repeatedBy(middleware: string): void {
    this.#repeater = middleware
  }

  /** The set-up and the place of steps that begin. They share one history, so that those before must be out. */
  enter(setup: AgentSetup, context: Context): void {
    if (this.#atWork)
      throw new MiddlewareError(this.#repeater, 'wrapAgent', 'the steps of an earlier next are not out yet')
    // Called again, the steps go on with a new one.
    if (this.#entered) {
      this.cancel.stopAt('after-tools')
      this.current = undefined
    }
    this.#entered = true
    this.#atWork = true
    this.closing = false
    this.setup = setup
    this.context = context
    this.calls.slots.limit = setup.toolConcurrency
  }

  /** The steps are out. */
  leave(): void {
    this.#atWork = false
  }

  /** The step in whose middle the run is, or the next. Throws {@link MaxStepsError} if there is none left. */
  openStep(): Step {
    if (this.current) return this.current
    this.cancel.stopAt('after-tools')
    if (this.step >= this.setup.maxSteps) {
      this.takeNews()
      throw new MaxStepsError(this.setup.maxSteps, this.feedback, this.#misfit && { cause: this.#misfit })
    }
    this.feedback = undefined
    this.#misfit = undefined
    this.current = new Step(++this.step, this.history.messages)
    return this.current
  }

  /** A hook or wrap, of a call or not, has thrown: if that is a question nobody inside it has asked, it asks it. */
  threw(thrown: unknown, by: Place, call?: CallEntry): void {
    // Another call's comes up here, too, because nothing starts any more that must not overtake that (A22, H14).
    if (!(thrown instanceof Interrupt) || call?.asks(thrown) || this.calls.asks(thrown)) return
    if (call) call.asking = { interrupt: thrown, by }
    else if (this.asking?.interrupt !== thrown) this.asking = { interrupt: thrown, by }
  }

  /** A hook or wrap is done: what it was answered has served. */
  answered(by: Place, call?: CallEntry): void {
    if (!this.questions.isEmpty) this.questions.done(addressOf(this, call, by))
  }

  /** Queues a user message; false once no step can follow that would read it. */
  send(message: string | UserMessage): boolean {
    if (this.closing) return false
    const said: UserMessage =
      typeof message === 'string' ? { role: 'user', content: message } : structuredClone(message)
    if (message === '') throw new InputError('message', 'empty')
    if (!isMessage(said) || said.role !== 'user') throw new InputError('message', 'malformed')
    this.sent = [...this.sent, freeze(said)]
    return true
  }

  /** Whether there is something the model has not read, and a step in which it can. */
  get hasNews(): boolean {
    return this.sent.length > 0 || (this.background.hasNews && this.step < this.setup.maxSteps)
  }

  /** Messages from outside of the steps enter the history: between two, and never between a call and its result (K18, I15). */
  takeNews(): void {
    for (const message of [...this.background.deliver(), ...this.sent]) this.history.append(message)
    this.sent = []
  }

  /** A signal for the next model request, aborted with the run. */
  requestSignal(): AbortSignal {
    this.#request = new AbortController()
    if (this.signal.aborted) this.#request.abort(this.signal.reason)
    return this.#request.signal
  }

  /** Aborts with the request's signal, and with the run, whoever made that signal. */
  stopOf(signal: AbortSignal): AbortSignal {
    return signal === this.#request?.signal ? signal : AbortSignal.any([signal, this.signal])
  }

  cancelRequest(): void {
    this.#request?.abort()
  }

  /** A `wrapAgent` has left: the step at work, if there is one, waits for nothing more. */
  cancelStep(): void {
    if (!this.#atWork) return
    this.events.funnel.leave()
    this.cancelRequest()
    this.calls.abort(new Error('the wrap that asked has left'))
  }

  /** An answer was not accepted: the model reads why. */
  reject(feedback: string | readonly Message[], origin: string, misfit?: OutputError): string | readonly Message[] {
    const empty = feedback.length === 0
    if (empty)
      this.events.warn({
        code: 'empty-feedback',
        message: `${origin} rejected an answer without feedback`,
        source: 'core',
      })
    const said = empty ? DEFAULT_FEEDBACK : feedback
    const messages = typeof said === 'string' ? [{ role: 'user', content: said } as const] : said
    for (const message of messages) this.history.append(message.role === 'user' ? { origin, ...message } : message)
    this.feedback = typeof said === 'string' ? said : said.map(textOf).join('\n')
    this.#misfit = misfit
    return said
  }

  /** On the side: it is no step's (N29). */
  callModel(request: SideRequest, actor: Actor, signal: AbortSignal): Promise<AssistantMessage> {
    return this.sideCalls.call(request, actor, signal)
  }

  addUsage(usage: Usage | undefined): void {
    this.usage = addUsage(this.usage, usage)
    this.#nesting?.run.addUsage(usage)
  }

  /** A call that had been started when an earlier run of its checkpoint was cut off (L21). */
  mayHaveHappened(callId: string): void {
    this.unknown = [...this.unknown, callId]
    this.#nesting?.run.mayHaveHappened(`${this.#nesting.entry.id}/${callId}`)
  }

  annotate(attributes: Attributes, callId?: string): void {
    this.#annotations.set(callId, { ...this.#annotations.get(callId), ...attributes })
  }

  /** The step of this call is over. */
  forget(callId: string): void {
    this.#annotations.delete(callId)
  }

  annotationsOf(callId?: string): Attributes {
    return this.#annotations.get(callId) ?? {}
  }
}
