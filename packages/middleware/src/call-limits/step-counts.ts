/** What a run has used: the counts at the beginning of its current step, and what happens in the step, which counts from the next one on. */

import { type AgentEvent, type Cell, type Message, ToolDiscardedError } from '@meanwhile/core'
import { isRecord } from '@meanwhile/core/calls'
import { isCount } from '../schema-of.ts'
import { type MadeCall, MadeCalls, pathOf } from './made-calls.ts'
import { type OrderedCall, ResponseOrder } from './response-order.ts'
import { Counting, NO_CALLS, sumOf, type Tally, withTool } from './tally.ts'

/** The value in checkpoints. */
export interface SavedCounts extends Tally {
  /** Whether the last model call has succeeded. */
  readonly closed: boolean
  readonly step: number
  readonly now: StepPart
}

/** What happened in the step. */
interface StepPart {
  /** How often the model was called. */
  readonly attempts: number
  /** The calls that ran: the ids of the calls that made it, as JSON, its id and its name. */
  readonly made: readonly (readonly [by: string, id: string, name: string])[]
  /** What agents inside calls have used, by the id of the call. */
  readonly inside: Readonly<Record<string, Tally>>
  /** The accepted response, in call order. */
  readonly response?: readonly OrderedCall[]
  /** The ids of calls without room that may have changed something early. Absent if there are none. */
  readonly happened?: readonly string[]
}

const NO_PART: StepPart = { attempts: 0, made: [], inside: {} }

export const NOTHING: SavedCounts = { ...NO_CALLS, closed: false, step: 0, now: NO_PART }

/** The counts of one run. Changes are saved once per turn of the event loop, because a checkpoint may be taken in any turn. */
export class StepCounts {
  #cell: Cell<SavedCounts> | undefined
  /** At the beginning of the step. */
  #base: Omit<SavedCounts, 'now'> = NOTHING
  #attempts = 0
  #made = new MadeCalls([])
  #inside: Record<string, Tally> = {}
  #accepted: readonly OrderedCall[] | undefined
  #isSaving = false
  /** The calls that have entered their wrap in this process. */
  readonly #entered = new Set<string>()
  #happened = new Set<string>()
  response: ResponseOrder = new ResponseOrder()

  /** Returns itself, at this step. */
  of(cell: Cell<SavedCounts>, step: number): this {
    if (!this.#cell) this.#restore(cell)
    if (step > this.#base.step) this.#begin(step)
    return this
  }

  get modelCalls(): number {
    return this.#base.modelCalls + this.#attempts
  }

  get isClosed(): boolean {
    return this.#base.closed
  }

  get made(): MadeCalls {
    return this.#made
  }

  /** New counts that begin with those at the beginning of the step. */
  get counting(): Counting {
    return new Counting(this.#base)
  }

  callsModel(): void {
    this.#attempts++
    this.#save()
  }

  close(): void {
    this.#base = { ...this.#base, closed: true }
    this.#save()
  }

  /** Whether a call was let run before a resume. */
  mayRunAgain(path: readonly string[]): boolean {
    return this.#made.executionsOf(path) > 0 && !this.#entered.has(JSON.stringify(path))
  }

  /** A call runs. It does not count if it is discarded. */
  makes(path: readonly string[], name: string, stood: Promise<unknown>): void {
    const isAgain = this.mayRunAgain(path)
    this.#entered.add(JSON.stringify(path))
    if (isAgain) return
    const makers = path.slice(0, -1)
    const id = path.at(-1) ?? ''
    const made = this.#made.add(makers, id, name)
    this.#save()
    this.#uncount(made, stood)
  }

  /** Called when a run is resumed: the calls of its step do not count if they are discarded now. */
  resumed(stood: (id: string) => Promise<unknown>): void {
    for (const made of this.#made.all) this.#uncount(made, stood(pathOf(made)[0] ?? ''))
  }

  #uncount(made: MadeCall, stood: Promise<unknown>): void {
    const { step } = this.#base
    stood.catch((error: unknown) => {
      if (!(error instanceof ToolDiscardedError) || step !== this.#base.step) return
      this.#made.remove(made)
      if (made.by === '[]') delete this.#inside[made.id]
      this.#save()
    })
  }

  /**
   * A call has no room in the accepted response, so nothing counts of what it did early, under the id `early`. `happened`: it may have changed something.
   */
  withdraw(id: string, early: string, happened: boolean): void {
    for (const call of this.#made.within(early)) this.#made.remove(call)
    delete this.#inside[early]
    if (happened) this.#happened.add(id)
    this.#save()
  }

  /** Whether a call may have changed something early, although it has no room. */
  mayHaveHappened(id: string): boolean {
    return this.#happened.has(id)
  }

  /** Called with each event of the run. */
  see(event: AgentEvent): void {
    const [part] = event.path ?? []
    if (part) this.#seeInside(event, part.callId)
    else if (event.type === 'message') this.#accept(event.message)
    else if (event.type === 'history-replaced' && this.response.isAccepted)
      this.#accept(event.messages.findLast(({ role }) => role === 'assistant'))
  }

  #seeInside(event: AgentEvent, callId: string): void {
    const used = this.#inside[callId] ?? NO_CALLS
    if (event.type === 'step-start' && !event.resumed)
      this.#inside[callId] = { ...used, modelCalls: used.modelCalls + 1 }
    else if (event.type === 'tool-end') this.#inside[callId] = withTool(used, event.toolName)
    else return
    this.#save()
  }

  #accept(message: Message | undefined): void {
    if (message?.role !== 'assistant') return
    this.#accepted = this.response.accept(message)
    this.#save()
  }

  /** Another step begins: what happened in the last one counts in full. */
  #begin(step: number): void {
    const used = Object.values(this.#inside).reduce(sumOf, this.#made.tally)
    const tally = sumOf(sumOf(this.#base, used), { ...NO_CALLS, modelCalls: this.#attempts })
    this.#base = { ...tally, closed: this.#base.closed, step }
    this.#attempts = 0
    this.#made.clear()
    this.#inside = {}
    this.#accepted = undefined
    this.#entered.clear()
    this.#happened.clear()
    this.response.begin()
    this.#save()
  }

  #restore(cell: Cell<SavedCounts>): void {
    this.#cell = cell
    const { now, ...base } = cell.value
    this.#base = base
    this.#attempts = now.attempts
    this.#made = new MadeCalls(now.made.map(([by, id, name]) => ({ by, id, name })))
    this.#inside = { ...now.inside }
    this.#accepted = now.response
    this.#happened = new Set(now.happened)
    this.response = new ResponseOrder(now.response)
  }

  /** Saved once per turn: a step may have thousands of calls, and each save copies what the step has so far. */
  #save(): void {
    if (this.#isSaving) return
    this.#isSaving = true
    queueMicrotask(() => {
      this.#isSaving = false
      this.#write()
    })
  }

  #write(): void {
    if (!this.#cell) return
    const made = this.#made.all.map(({ by, id, name }) => [by, id, name] as const)
    const response = this.#accepted && { response: this.#accepted }
    const happened = this.#happened.size > 0 && { happened: [...this.#happened] }
    const now = { attempts: this.#attempts, made, inside: { ...this.#inside }, ...response, ...happened }
    this.#cell.value = { ...this.#base, now }
  }
}

export function isSavedCounts(value: unknown): value is SavedCounts {
  if (!isTally(value) || !isRecord(value)) return false
  const { closed, step, now } = value
  return typeof closed === 'boolean' && isCount(step) && isPart(now)
}

function isPart(value: unknown): value is StepPart {
  if (!isRecord(value) || !isRecord(value.inside)) return false
  const { attempts, made, inside, response, happened = [] } = value
  const isMade = isListOf(made, (one) => isListOf(one, isText) && one.length === 3)
  const isNamed = (one: unknown) => isRecord(one) && isText(one.id) && isText(one.name)
  const isResponse = response === undefined || isListOf(response, isNamed)
  return isCount(attempts) && isMade && isResponse && isListOf(happened, isText) && Object.values(inside).every(isTally)
}

function isTally(value: unknown): value is Tally {
  if (!isRecord(value) || !isRecord(value.perTool)) return false
  return [value.modelCalls, value.toolCalls, ...Object.values(value.perTool)].every(isCount)
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function isListOf<Item>(value: unknown, is: (one: unknown) => one is Item): value is readonly Item[]
function isListOf(value: unknown, is: (one: unknown) => boolean): boolean
function isListOf(value: unknown, is: (one: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(is)
}
