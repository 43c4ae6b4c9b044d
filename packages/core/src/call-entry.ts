/** What a run knows of one logical call. */

import type { Attributes, Context, Span } from '@opentelemetry/api'
import type { DiscardCause } from './events.ts'
import { timer } from './grace.ts'
import type { ToolCall, ToolMessage } from './message.ts'
import { mayNameKeys, NO_KEYS, type ResourceKeys } from './resource-keys.ts'
import type { Ticket } from './slots.ts'
import type { OpenSpan } from './telemetry/spans.ts'
import type { Effect, Tool } from './tool.ts'

/** Who asked for calls: a model attempt; or a wrap that answers itself, which is number 0 and has no span. */
export interface Asker {
  readonly attempt: number
  readonly span: Span | undefined
  /** When its stream ended, in `performance.now()`; absent while it goes on. */
  ended?: number
  /** It failed, or a wrap left it: no call of it starts any more. */
  over?: boolean
}

/** One execution of the tool's function. Times: `performance.now()`. `ended` is absent while it goes on. */
export interface Execution {
  readonly open: OpenSpan
  /** The how-manieth of its call, from 1 (C14). */
  readonly attempt: number
  /** Aborted with its call, or alone when the wrap that asked for it has left. */
  readonly signal: AbortSignal
  /** When it got its slot, then when the function was called. */
  started: number
  ended?: number
  error?: unknown
}

interface EntryOptions {
  readonly key: string
  readonly call: ToolCall
  readonly tool: Tool | undefined
  readonly step: number
  readonly parent: Context
  readonly attributes: Attributes
  readonly asker: Asker | undefined
  /** The call whose tool or wrap makes this one. */
  readonly maker: CallEntry | undefined
  readonly provisional: boolean
  readonly ceiling: Effect | undefined
  readonly within: ResourceKeys | undefined
}

/** Until a call is made. */
const NEVER = new Promise<never>(() => undefined)

export class CallEntry implements Ticket {
  /** The ledger's key, and the tool's `idempotencyKey` (H25). */
  readonly key: string
  readonly call: ToolCall
  readonly tool: Tool | undefined
  readonly step: number
  /** What the call's spans nest under. */
  readonly parent: Context
  readonly attributes: Attributes
  /** Absent unless a tool or wrap makes this call: then it shares that call's fate, works inside its slot and under its keys. */
  readonly maker: CallEntry | undefined
  readonly startedEarly: boolean
  /** What it may do, at the most, before it is committed. */
  readonly ceiling: Effect | undefined
  /** What it may touch, at the most, before it is committed. */
  readonly within: ResourceKeys | undefined
  /** What it touches; not known until its input is checked, if its tool names keys. */
  keys: ResourceKeys | undefined
  /** What it does, known when its input is checked. */
  effect: Effect | undefined
  /** Its tool's function was called. */
  entered = false
  /** When it was asked for, in `performance.now()`. */
  readonly asked: number = performance.now()
  readonly askers: Asker[]
  readonly executions: Execution[] = []
  /** How often it was executed (C14). */
  attempts = 0
  /** When the stream of the attempt that stood ended, in `performance.now()`; set when the call is committed. */
  modelEnded: number | undefined
  /** The calls it made. */
  readonly children: CallEntry[] = []
  readonly signal: AbortSignal
  /** The id it has by now: an attempt that joined may have given it another (O4). */
  id: string
  provisional: boolean
  discarded: DiscardCause | undefined
  settled = false
  promise: Promise<ToolMessage> = NEVER
  message: ToolMessage | undefined
  /** What the last execution was given and gave: what a discarded `reversible` call is undone with. */
  done: { readonly input: unknown; readonly output: unknown } | undefined
  /** The work itself, which may go on after the call was abandoned. Always has a handler. */
  work: Promise<unknown> = NEVER
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
    this.attributes = options.attributes
    this.askers = options.asker ? [options.asker] : []
    this.maker = options.maker
    this.provisional = options.provisional
    this.startedEarly = options.provisional
    this.ceiling = options.ceiling
    this.within = options.within
    this.keys = mayNameKeys(options.tool) ? undefined : NO_KEYS
    this.maker?.children.push(this)
    this.signal = this.#controller.signal
    this.abandoned = new Promise((resolve) => {
      this.#abandon = resolve
    })
    this.committed = new Promise((resolve) => {
      this.#commit = resolve
    })
    if (!options.provisional) this.#commit()
  }

  /** Let go of, or asked for by failed attempts alone: it does not start, and nobody waits for its turn (G11, H22). */
  get aside(): boolean {
    return this.provisional && (this.discarded !== undefined || this.askers.every(({ over }) => over))
  }

  /** Aborts this call and those it made; `grace` ms later they are no longer waited for. */
  abort(reason: unknown, grace: number): void {
    for (const child of this.children) child.abort(reason, grace)
    if (this.settled || this.signal.aborted) return
    this.#timer = timer(grace, this.#abandon)
    this.#controller.abort(reason)
  }

  /** Its model call has stood and the loop asks for it. */
  commit(): void {
    this.provisional = false
    this.#commit()
  }

  settle(): void {
    this.settled = true
    clearTimeout(this.#timer)
  }
}
