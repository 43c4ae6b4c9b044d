/** Connects the executions of a call with their run: known outcomes, answers to questions, saves, and calls of unknown tools. */

import type { Host } from '../execution/tool-host.ts'
import type { Judgement } from '../machine/call.ts'
import { executionAsked, movedTo, recalled } from '../machine/decide-call.ts'
import { knownFor } from '../machine/invocation.ts'
import type { Actor } from '../state/actor.ts'
import { addressOf } from '../state/address.ts'
import type { CallEntry } from '../state/call-entry.ts'
import type { RunState } from '../state/run.ts'
import type { UserContext } from '../state/user-context.ts'
import type { Telemetry } from '../telemetry/around.ts'
import { shownName } from '../vocabulary/call-limits.ts'
import { AgentError, messageOf } from '../vocabulary/errors.ts'
import { freeze } from '../vocabulary/history.ts'
import { Interrupt } from '../vocabulary/interrupt.ts'
import type { Json, Message, ToolCall, ToolMessage } from '../vocabulary/message.ts'
import type { Invocation, Outcome } from '../vocabulary/saved-run.ts'
import type { Run, Tool } from '../vocabulary/tool.ts'
import { OutcomeUnknownError, ToolTimeoutError, UnknownToolError } from '../vocabulary/tool-errors.ts'
import { textMessage } from './no-result-message.ts'
import { resultMessage } from './result-message.ts'
import { untilCallersCommitted, untilCommitted } from './wait-for-commit.ts'

/** A class with methods, because closures would have to be created for each of possibly thousands of calls. */
export class RunHost implements Host<ToolMessage> {
  readonly #run: RunState
  readonly #entry: CallEntry
  readonly telemetry: Telemetry
  readonly userContext: UserContext
  readonly grace: number
  /** The messages of the step in which the call began. Its background work may begin in a later step. */
  readonly messages: readonly Message[]

  constructor(run: RunState, entry: CallEntry) {
    this.#run = run
    this.#entry = entry
    this.telemetry = run.telemetry
    this.userContext = run.userContext
    this.grace = run.config.grace
    this.messages = run.steps.asked ?? run.history.messages
  }

  /** Aborts when nothing new may start. Absent for an inner call: it is part of work that has already started, so a halt does not stop it. */
  get halted(): AbortSignal | undefined {
    return this.#entry.maker ? undefined : this.#run.halt.halted
  }

  /** An inner call waits for its own commit. Every call waits for the commit of the calls outside its run. */
  waitForCommit({ effect, mayBeEarly }: Judgement, signals: readonly AbortSignal[]): Promise<void> | undefined {
    const [run, entry] = [this.#run, this.#entry]
    if (!entry.maker || !entry.provisional || mayBeEarly) return untilCallersCommitted(run, signals, effect)
    return untilCommitted(run, entry, { call: entry, signals }).then(() => untilCallersCommitted(run, signals, effect))
  }

  answers(): readonly Json[] {
    return this.#run.questions.askedAt(addressOf(this.#run, this.#entry)).answers
  }

  warn(message: string): void {
    this.#run.calls.events.warn(this.#entry, { code: 'effect-failed', message, source: 'core' })
  }

  get save(): (() => Promise<void>) | undefined {
    const { saver } = this.#run
    return saver.isOn ? () => saver.now() : undefined
  }

  known(invocation: Invocation): (() => ToolMessage) | undefined {
    const entry = this.#entry
    const known = entry.outcomes.before(knownFor(entry.state, invocation))
    if (known && entry.decide(recalled(entry.state, invocation))) entry.outcomes.add(invocation, known)
    return known && (() => again(known, entry.call.name))
  }

  came(invocation: Invocation, { result, error }: { readonly result?: ToolMessage; readonly error?: unknown }): void {
    if (error instanceof AgentError) return
    const entry = this.#entry
    if (error instanceof OutcomeUnknownError) this.#run.mayHaveHappened(entry.id)
    if (entry.decide(movedTo(entry.state, invocation, 'ended')))
      entry.outcomes.add(invocation, result ? { message: result } : thrown(error, entry.call.name))
  }

  entered(attempt: number): void {
    this.#run.calls.events.emit(this.#entry, { type: 'tool-entered', attempt })
  }

  threw(error: unknown, invocation: Invocation): void {
    const entry = this.#entry
    // The execution starts again only after a question that it asked itself.
    if (!(error instanceof Interrupt) || entry.isStoppedBy(error)) return
    if (!entry.asks(error)) this.#run.measure(error, entry)
    entry.ask(error)
    entry.decide(executionAsked(entry.state, invocation))
  }

  viewOf(actor: Actor): Run {
    return this.#run.work.view(this.#run, actor)
  }

  resultOf(call: ToolCall, tool: Tool, output: unknown): ToolMessage {
    return freeze(resultMessage(call, tool, output, this.#run.config.outputLimits))
  }

  /** A call of no tool of the run, or of one that the request did not offer. */
  async unknown(call: ToolCall): Promise<ToolMessage> {
    const { calls, config, setup } = this.#run
    if (calls.isUnoffered(call)) throw new Error(`Not run: ${shownName(call.name)} is not available in this step.`)
    const answer = call.name === '' ? undefined : await config.unknownTool?.(call)
    if (answer !== undefined) return freeze(textMessage(call, answer, false))
    const names = setup.tools.map(({ name }) => name)
    throw new UnknownToolError(call.name, names)
  }
}

function thrown(error: unknown, tool: string): Outcome {
  const isLimit = error instanceof ToolTimeoutError && error.tool === tool
  return { error: messageOf(error), ...(isLimit && { timeout: error.timeout }) }
}

function again(known: Outcome, tool: string): ToolMessage {
  if ('message' in known) return freeze({ ...known.message, name: tool })
  throw known.timeout === undefined ? new Error(known.error) : new ToolTimeoutError(tool, known.timeout)
}
