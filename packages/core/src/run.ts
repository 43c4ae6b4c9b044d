/** The state of one run: everything that changes lives here, the agent itself never does (A4). */

import { type Attributes, type Context, ROOT_CONTEXT, type Tracer } from '@opentelemetry/api'
import type { AgentConfig } from './config.ts'
import { MaxStepsError, MiddlewareError, RunAbortedError } from './errors.ts'
import type { AgentEvent, AgentEventBody, Warning } from './events.ts'
import { Funnel } from './funnel.ts'
import { DEFAULT_FEEDBACK } from './gate.ts'
import { callIds, freeze } from './history.ts'
import {
  type AssistantMessage,
  addUsage,
  callsOf,
  type Message,
  type ToolMessage,
  textOf,
  type Usage,
} from './message.ts'
import type { AgentSetup, AgentState, Middleware } from './middleware.ts'
import { ToolCalls } from './tool-calls.ts'

export class RunState {
  readonly id: string
  readonly config: AgentConfig
  readonly tracer: Tracer
  readonly conversationId: string | undefined
  readonly funnel: Funnel<AgentEvent> = new Funnel()
  /** Gives an event to the reader. */
  readonly show: (event: AgentEvent) => void
  readonly calls: ToolCalls
  readonly warnings: Warning[] = []
  readonly takenIds: Set<string> = new Set()
  /** Ids of the calls whose end the reader was told of. */
  readonly endsTold: Set<string> = new Set()
  setup: AgentSetup
  /** What the loop works in: the context of the run's span, or of the innermost `wrapAgent`'s. */
  context: Context = ROOT_CONTEXT
  usage: Usage = {}
  messages: readonly Message[] = []
  step = 0
  /** Attempts of this step's model call so far (J10). */
  attempts = 0
  over = false
  /** What run-local values hang on. A run that is over gets another, so that they go though somebody keeps the run (D5). */
  scope: object = {}
  readonly #controller = new AbortController()
  /** By call id; the run's own under `undefined`. */
  readonly #annotations: Map<string | undefined, Attributes> = new Map()
  #request = new AbortController()
  #feedback: string | undefined
  #atWork = false
  /** Who called `next` again last: the one to blame for steps that begin while others are at work. */
  #repeater = ''

  constructor(
    config: AgentConfig,
    options: {
      readonly id: string
      readonly tracer: Tracer
      readonly conversationId: string | undefined
      readonly show: (event: AgentEvent) => void
    },
  ) {
    this.id = options.id
    this.config = config
    this.tracer = options.tracer
    this.conversationId = options.conversationId
    this.show = (event) => {
      if (event.type === 'tool-end') this.endsTold.add(event.callId)
      options.show(event)
    }
    this.setup = config.setup
    this.calls = new ToolCalls(this)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get middleware(): readonly Middleware[] {
    return this.config.middleware
  }

  /** Stops the run: model request and tools are aborted. The first reason counts. */
  abort(reason: unknown): void {
    if (this.signal.aborted || this.over) return
    const error = new RunAbortedError(reason)
    this.#controller.abort(error)
    this.#request.abort(error)
    this.calls.abort(error)
  }

  /** A `wrapAgent` calls its `next` again. */
  repeatedBy(middleware: string): void {
    this.#repeater = middleware
  }

  /** The set-up and the place of steps that begin. They share one history, so that those before must be out. */
  begin(setup: AgentSetup, context: Context): void {
    if (this.#atWork)
      throw new MiddlewareError(this.#repeater, 'wrapAgent', 'the steps of an earlier next are not out yet')
    this.#atWork = true
    this.setup = setup
    this.context = context
    this.calls.slots.limit = setup.toolConcurrency
  }

  /** The steps are out. */
  leave(): void {
    this.#atWork = false
  }

  /** Throws {@link MaxStepsError} if there is none left. */
  nextStep(): void {
    if (this.step >= this.setup.maxSteps) throw new MaxStepsError(this.setup.maxSteps, this.#feedback)
    this.#feedback = undefined
    this.step++
    this.attempts = 0
  }

  /** A signal for the next model request, aborted with the run. */
  requestSignal(): AbortSignal {
    this.#request = new AbortController()
    if (this.signal.aborted) this.#request.abort(this.signal.reason)
    return this.#request.signal
  }

  cancelRequest(): void {
    this.#request.abort()
  }

  /** A `wrapAgent` has left: the step at work, if there is one, waits for nothing more. */
  cancelStep(): void {
    if (!this.#atWork) return
    this.cancelRequest()
    this.calls.abort(new Error('the wrap that asked has left'))
  }

  /** Adds to the history, frozen. */
  append<Added extends Message>(message: Added): Added {
    this.messages = freeze([...this.messages, message])
    return message
  }

  /** The history as it came, or as hooks left it. The ids of its calls are taken (G10). */
  remember({ messages }: AgentState): void {
    if (messages === this.messages) return
    this.messages = freeze([...messages])
    for (const id of callIds(messages)) this.takenIds.add(id)
  }

  /** An answer was not accepted: the model reads why. */
  reject(feedback: string | readonly Message[], origin: string): string | readonly Message[] {
    const empty = feedback.length === 0
    if (empty)
      this.warn({ code: 'empty-feedback', message: `${origin} rejected an answer without feedback`, source: 'core' })
    const said = empty ? DEFAULT_FEEDBACK : feedback
    const messages = typeof said === 'string' ? [{ role: 'user', content: said } as const] : said
    for (const message of messages) this.append(message.role === 'user' ? { origin, ...message } : message)
    this.#feedback = typeof said === 'string' ? said : said.map(textOf).join('\n')
    return said
  }

  /** The answer as the gate rewrote it: in the place of the model's, or at the end if that is a call or result, which stay (A14). */
  replaceAnswer(old: AssistantMessage | ToolMessage, answer: AssistantMessage): AssistantMessage {
    if (old.role === 'tool' || callsOf(old).length > 0) return this.append(answer)
    this.messages = freeze(this.messages.map((message) => (message === old ? answer : message)))
    return answer
  }

  /** An event as the reader gets it. */
  event(body: AgentEventBody): AgentEvent {
    return this.step > 0 ? { runId: this.id, step: this.step, ...body } : { runId: this.id, ...body }
  }

  /** `outside` of the steps, a `wrapAgent` speaks past the events that go up through it, straight to the reader. */
  push(body: AgentEventBody, outside = false): void {
    if (this.over) return
    const event = this.event(body)
    if (outside) this.show(event)
    else this.funnel.push(event)
  }

  /** An event of the loop's own, behind what was pushed before it. */
  *tell(body: AgentEventBody): Generator<AgentEvent, void, undefined> {
    this.push(body)
    yield* this.funnel.drain()
  }

  addUsage(usage: Usage | undefined): void {
    this.usage = addUsage(this.usage, usage)
  }

  warn(warning: Warning, outside = false): void {
    if (this.over) return
    this.warnings.push(warning)
    this.push({ type: 'warning', ...warning }, outside)
  }

  annotate(attributes: Attributes, callId?: string): void {
    this.#annotations.set(callId, { ...this.#annotations.get(callId), ...attributes })
  }

  annotationsOf(callId?: string): Attributes {
    return this.#annotations.get(callId) ?? {}
  }
}
