/** The work of background calls, which goes on beside the run, and what the model and the caller are told of it. */

import { triesOf } from '../machine/call.ts'
import type { ContentPart, ToolMessage, UserMessage } from '../message.ts'
import type { BackgroundHandle } from '../result.ts'
import type { SavedWork } from '../saved-run.ts'
import type { Tool } from '../tool.ts'
import type { CallEntry } from './call-entry.ts'

/** The origin of the messages that bring results of background calls (B19). */
export const BACKGROUND_ORIGIN = 'background'

export interface Work {
  /** Its promise gives its message; it rejects only where the work stays open for a resume. */
  readonly entry: CallEntry
  /** The model has read its result. */
  delivered: boolean
  /** Its run no longer stops it. */
  handedOver: boolean
}

export class Background {
  readonly #grace: number
  /** By the keys of their calls. */
  readonly #works: Map<string, Work> = new Map()
  #wake: () => void = () => undefined

  constructor(grace: number) {
    this.#grace = grace
  }

  add(work: Work): void {
    this.#works.set(work.entry.key, work)
  }

  /** Whether there is work behind the call with this key. */
  has(key: string): boolean {
    return this.#works.has(key)
  }

  /** The work of a call of this id: of several the latest. */
  get(callId: string): CallEntry | undefined {
    return this.#latest(callId)?.entry
  }

  /** The work of this call. */
  of({ key }: CallEntry): CallEntry | undefined {
    return this.#works.get(key)?.entry
  }

  /** The result of a call, if there is one; the model has read it then. */
  read(callId: string): ToolMessage | undefined {
    const work = this.#latest(callId)
    const message = work && resultOf(work)
    if (message) work.delivered = true
    return message
  }

  /** Whether there are results the model has not read. */
  get hasNews(): boolean {
    return this.all().some(isNews)
  }

  /** The results the model has not read, as messages of their own: their calls were answered when they began. */
  deliver(): UserMessage[] {
    return this.all().flatMap((work) => {
      const message = resultOf(work)
      if (!message || work.delivered) return []
      work.delivered = true
      return [told(message)]
    })
  }

  /** Throws what stops the run if an agent that works in the background asks: the run stops at its next safe point. */
  stopIfAsked(): void {
    stopIfAsked(this.open())
  }

  /** Whether its run has to stop some of it. */
  get isOpen(): boolean {
    return this.#works.size > 0 && this.open().some(({ handedOver }) => !handedOver)
  }

  /** Those whose result is not there yet. */
  openEntries(): readonly CallEntry[] {
    return this.open().map(({ entry }) => entry)
  }

  /** Resolves when {@link wake} is called next. */
  untilWoken(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  /** The run is to stop: nobody waits for work any more. */
  wake(): void {
    this.#wake()
  }

  /** Whether this is work of a call that goes on beyond its run. */
  hasHandedOver(entry: CallEntry): boolean {
    const work = this.#works.get(entry.key)
    return work?.entry === entry && work.handedOver
  }

  abort(reason: unknown): void {
    for (const { entry, handedOver } of this.open()) if (!handedOver) entry.abort(reason, this.#grace)
  }

  /** Resolves when nothing that the run has to do with is at work. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.open().flatMap(({ entry, handedOver }) => (handedOver ? [] : [entry.promise])))
  }

  /** `isLast`: what has not begun will not begin any more. */
  save(isLast: boolean): SavedWork[] {
    return this.all().map((work) => {
      const { key, call, state, outcomes } = work.entry
      const { attempts, ...entered } = triesOf(state, isLast)
      const message = resultOf(work)
      const saved = { key, call, step: state.step, attempts, delivered: work.delivered }
      // What an agent has done is in its own checkpoint.
      if (!message && outcomes.hasRuns) return { ...saved, ...outcomes.saveRuns() }
      return {
        ...saved,
        ...entered,
        ...(message ? { message } : outcomes.save(state.known)),
      }
    })
  }

  #latest(callId: string): Work | undefined {
    return this.all().findLast(({ entry }) => entry.id === callId)
  }

  /** In the order in which it was begun. */
  all(): Work[] {
    return [...this.#works.values()]
  }

  /** Work without a result. */
  open(): Work[] {
    return this.all().filter((work) => !resultOf(work))
  }
}

export function stopIfAsked(works: readonly Work[]): void {
  for (const { entry } of works) if (entry.stopped) throw entry.stopped
}

/** Not what only says that the end of its run cut it off: a resume goes on with it. */
function resultOf({ entry: { state, message } }: Work): ToolMessage | undefined {
  return state.course === 'cut off' ? undefined : message
}

/** Its turn had not come when its run was told to stop: a resume begins it, if the run does stop. */
export function isKept({ entry: { state } }: Work): boolean {
  return state.course === 'cut off' && !state.aborted
}

export function isNews(work: Work): boolean {
  return resultOf(work) !== undefined && !work.delivered
}

export function atEndOf(tool: Tool | undefined): 'wait' | 'cancel' | 'detach' {
  return (typeof tool?.background === 'object' && tool.background.atEnd) || 'wait'
}

function told({ callId, name, content, isError }: ToolMessage): UserMessage {
  const what = isError ? 'failed' : 'has come to its result'
  const header: ContentPart = { type: 'text', text: `The background call ${callId} of ${name} ${what}:` }
  return { role: 'user', origin: BACKGROUND_ORIGIN, content: [header, ...content] }
}

/** JSON without its promise (B2). */
export function handleOf(callId: string, name: string, result: Promise<ToolMessage>): BackgroundHandle {
  return Object.defineProperty({ callId, name, result }, 'toJSON', { value: () => ({ callId, name }) })
}
