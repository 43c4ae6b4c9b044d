/** Threads: conversations that are kept, with one turn at a time. */

import type { Message, OptionNames, PendingInterrupt, ToolMessage, UserMessage } from '@meanwhile/core'
import {
  type Agent,
  type Answers,
  ConfigError,
  ContextError,
  checkOptions,
  InputError,
  type Json,
  messageOf,
} from '@meanwhile/core'
import { cursorAt } from './cursor.ts'
import { ThreadExistsError, ThreadIdError, UnknownTurnError } from './thread-errors.ts'
import type { ErrorInfo } from './thread-events.ts'
import {
  activeTurn,
  alive,
  answered,
  type Claim,
  deleted,
  newThread,
  queueOf,
  recovered,
  retried,
  rewound,
  said,
  stopped,
  turnFrom,
  type WhenAsking,
  type WhenBusy,
  type Work,
} from './thread-machine.ts'
import type { Asked, StoredEvent, StoredThread, ThreadStore, TurnRecord, TurnStatus } from './thread-store.ts'
import { type Turn, turnHandle } from './turn.ts'
import { TurnWork, type Workshop } from './turn-work.ts'
import { Wakes } from './wakes.ts'

/** What the agent and the context of a turn are made of. */
export interface TurnInfo {
  /** The id of the thread. */
  readonly id: string
  /** The id of the turn. */
  readonly turn: string
  /** What was given with the message. */
  readonly metadata?: Json
}

export interface ThreadsOptions {
  /** The agent of all threads, or what gives the agent of each turn: for the same thread one of the same name. */
  readonly agent: Agent | ((turn: TurnInfo) => Agent | Promise<Agent>)
  /** `memoryThreads()`, `sqliteThreads(path)` or your own. */
  readonly store: ThreadStore
  /**
   * Makes the context of a run, in the process that works on the turn, unless it was given with the message to this process. A throw ends the
   * turn as failed, with `ContextError`: nothing has run, and the turn can be retried.
   */
  readonly context?: (turn: TurnInfo) => unknown
  /**
   * What becomes of a message that comes while a turn is running. `queue` (default): it begins a turn when those before it have ended.
   * `steer`: it goes into the running turn before the next model call; if that is too late it is queued. `preempt`: the running turn is
   * stopped, and its turn begins next. `reject`: `send` throws `ThreadBusyError`.
   */
  readonly whenBusy?: WhenBusy
  /**
   * What becomes of a message that comes while a turn waits for an answer. `close` (default): the waiting turn ends as stopped, its open
   * calls are answered with the reason, and the message begins a turn. `reject`: `send` throws `ThreadBusyError`.
   */
  readonly whenAsking?: WhenAsking
  /**
   * Milliseconds for which a process has the turn that it works on; it renews that three times as often. When they are over another process
   * may take the turn over. Default 10,000.
   */
  readonly lease?: number
}

export interface SendOptions {
  /** Of the message. A message with an id that the thread has is not said again: the same turn is given. Default: a random one. */
  readonly messageId?: string
  /** Small JSON that is stored with the turn, and given to `agent` and `context`. */
  readonly metadata?: Json
  /** The context of the run. It is not stored: a process that takes the turn over makes its own. */
  readonly context?: unknown
  /** Default: that of the threads. */
  readonly whenBusy?: WhenBusy
  /** Default: that of the threads. */
  readonly whenAsking?: WhenAsking
}

export interface ThreadMessage {
  readonly id: string
  /** The id of the turn. */
  readonly turn: string
  readonly message: Message
}

export interface TurnState {
  readonly id: string
  readonly status: TurnStatus
  /** Of the message that it begins with. */
  readonly messageId: string
  readonly metadata?: Json
  readonly createdAt: Date
  readonly error?: ErrorInfo
}

export interface ThreadState {
  readonly id: string
  readonly status: 'idle' | 'running' | 'waiting'
  /** All that was said, in order. What the model reads may be shorter, if a middleware summarises it. */
  readonly messages: readonly ThreadMessage[]
  /** What waits for an answer. */
  readonly interrupts: readonly PendingInterrupt[]
  /** While it waits: results of calls beside those that ask. They are not among the messages yet. */
  readonly settled: readonly ToolMessage[]
  /** All turns that have begun, in the order of their messages. */
  readonly turns: readonly TurnState[]
  /** Messages that wait for their turn, the next first. */
  readonly queued: readonly ThreadMessage[]
  /** Give it as `after` to the events of the running turn, to hear what is not among the messages. */
  readonly cursor?: string
}

export interface ThreadSummary {
  readonly id: string
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** All methods reject with `ThreadIdError` for an id that is none. All but `read` and `list` reject with `ThreadDeletedError`. */
export interface Threads {
  /**
   * Says something in a thread; the first message makes the thread. Resolves when the message is stored.
   *
   * @throws {ThreadBusyError} A turn is running or waits, and the message was not to come then.
   * @throws {InputError} It is no user message, or empty.
   */
  send(thread: string, message: string | UserMessage, options?: SendOptions): Promise<Turn>
  /**
   * Answers what the waiting turn asks, by id of the interrupt. Resolves when its run goes on.
   *
   * @throws {UnknownInterruptError} The thread does not ask that, or it was answered.
   * @throws {TypeError} There is no answer, or one that is not JSON.
   * @throws {AnswerError} An answer does not have the form that is asked for. Nothing has run, and the question stays open.
   */
  answer(thread: string, answers: Answers, options?: { readonly context?: unknown }): Promise<Turn>
  /**
   * Stops the turn that runs or waits. What was said stays. The queue is kept, and waits for the next message, or it is dropped. Resolves when
   * the turn has ended.
   */
  stop(thread: string, options?: { readonly queue?: 'keep' | 'drop'; readonly signal?: AbortSignal }): Promise<void>
  /**
   * The newest turn has failed: it goes on from its last complete step.
   *
   * @throws {NothingToRetryError} It has not failed.
   * @throws {ThreadBusyError} A turn is running or waits.
   */
  retry(thread: string, options?: { readonly context?: unknown }): Promise<Turn>
  /**
   * Goes back to before a message that began a turn: to edit it, or to have another answer. What came later stays stored as superseded,
   * and nobody sees it any more.
   *
   * @throws {UnknownMessageError} No turn begins with it.
   * @throws {ThreadBusyError} A turn is running.
   */
  rewind(thread: string, options: { readonly before: string }): Promise<void>
  /**
   * Copies a thread, up to a message that began a turn, or all turns that have ended. Gives the id of the copy.
   *
   * @throws {ThreadExistsError} There is a thread under the id `as`.
   * @throws {UnknownMessageError} No turn begins with the message.
   */
  fork(thread: string, options?: { readonly before?: string; readonly as?: string }): Promise<string>
  /** A thread that does not exist, or was deleted, is empty. */
  read(thread: string): Promise<ThreadState>
  /** A turn; without an id the newest one, and undefined if there is none. @throws {UnknownTurnError} */
  turn(thread: string, turn?: string): Promise<Turn | undefined>
  /** Newest first. `after`: the id of the last thread of the page before; `limit`: default 100. */
  list(options?: { readonly after?: string; readonly limit?: number }): Promise<readonly ThreadSummary[]>
  /** Deletes what was said. The running turn is stopped, and the id cannot be used again. */
  delete(thread: string): Promise<void>
  /** Takes over turns whose process is gone, and gives how many that were. */
  recover(): Promise<number>
  /** Recovers again and again, until it is closed. */
  watch(): { close(): void }
  /** Leaves the turns that run here to other processes, and takes no more. */
  close(): Promise<void>
}

/** As many threads are taken over before the store is asked for more. */
const PAGE = 100

const OPTIONS: OptionNames<ThreadsOptions> = {
  agent: '',
  store: 'storage',
  context: 'deps',
  whenBusy: '',
  whenAsking: '',
  lease: 'leaseTime',
}

/**
 * Makes threads over a store.
 *
 * @throws {ConfigError} An option cannot work; the error names it.
 */
export function createThreads(options: ThreadsOptions): Threads {
  checkOptions('createThreads', options, OPTIONS)
  const { agent, store, context, lease = 10_000 } = options
  if (typeof agent !== 'function' && typeof agent?.resume !== 'function')
    throw new ConfigError('agent', 'must be an agent that createAgent made, or a function that gives one')
  if (typeof store?.change !== 'function')
    throw new ConfigError('store', 'must be a store of threads, such as memoryThreads() gives')
  if (!(Number.isFinite(lease) && lease >= 100))
    throw new ConfigError('lease', 'must be a number of milliseconds, 100 or more')
  const live = new Map<string, TurnWork>()
  const infoOf = ({ id: turn, metadata }: TurnRecord, id: string): TurnInfo => ({
    id,
    turn,
    ...(metadata !== undefined && { metadata }),
  })
  const shop: Workshop = {
    store,
    wakes: new Wakes(),
    live,
    claim: () => ({ now: Date.now(), lease }),
    agentOf: async (turn, id) => (typeof agent === 'function' ? await agent(infoOf(turn, id)) : agent),
    async contextOf(turn, id) {
      const given = live.get(id)?.contexts
      if (given?.has(turn.id)) return given.get(turn.id)
      try {
        return await context?.(infoOf(turn, id))
      } catch (cause) {
        throw new ContextError([{ path: '', message: `it could not be made: ${messageOf(cause)}` }], { cause })
      }
    },
  }
  return new StoredThreads(shop, { whenBusy: 'queue', whenAsking: 'close', ...options })
}

class StoredThreads implements Threads {
  readonly #shop: Workshop
  readonly #defaults: { readonly whenBusy: WhenBusy; readonly whenAsking: WhenAsking }
  readonly #watches = new Set<ReturnType<typeof setInterval>>()
  #isClosed = false

  constructor(shop: Workshop, defaults: { readonly whenBusy: WhenBusy; readonly whenAsking: WhenAsking }) {
    this.#shop = shop
    this.#defaults = defaults
  }

  async send(thread: string, given: string | UserMessage, options: SendOptions = {}): Promise<Turn> {
    checkId(thread, 'thread')
    const { whenBusy, whenAsking } = { ...this.#defaults, ...present(options) }
    const { messageId = crypto.randomUUID(), metadata } = options
    checkId(messageId, 'message')
    const message = checkedMessage(given)
    const stated = metadata === undefined ? {} : { metadata: asJson(metadata, 'metadata') }
    const turn = crypto.randomUUID()
    const say = { turn, messageId, message, whenBusy, whenAsking, ...stated }
    const { turn: record, work } = await this.#change(thread, (stored, claim) => said(stored, say, claim), {
      messageId,
    })
    const contexts = this.#shop.live.get(thread)?.contexts ?? new Map<string, unknown>()
    if (options.context !== undefined && record.id === turn) contexts.set(turn, options.context)
    if (work) this.#begin(thread, work, contexts)
    else if (record.id === turn) this.#poke(thread, record, whenBusy)
    return this.#handle(thread, record)
  }

  /** The turn at work learns at once what it would read with its next write. */
  #poke(thread: string, turn: TurnRecord, whenBusy: WhenBusy): void {
    const work = this.#shop.live.get(thread)
    if (!work) return
    if (whenBusy === 'preempt') work.stop()
    if (turn.isSteering) work.steer([turn])
  }

  async answer(thread: string, given: Answers, options: { readonly context?: unknown } = {}): Promise<Turn> {
    checkId(thread, 'thread')
    const answers = asJson(given, 'answers')
    if (Object.keys(Object(answers)).length === 0)
      throw new TypeError('answers must have an answer, by id of the interrupt')
    return this.#resume(thread, (stored, claim) => answered(stored, answers, claim), options)
  }

  async retry(thread: string, options: { readonly context?: unknown } = {}): Promise<Turn> {
    checkId(thread, 'thread')
    return this.#resume(thread, retried, options)
  }

  async #resume(
    thread: string,
    decide: (stored: StoredThread, claim: Claim) => ReturnType<typeof retried>,
    { context }: { readonly context?: unknown },
  ): Promise<Turn> {
    const work = await this.#change(thread, decide)
    const contexts = new Map(context === undefined ? [] : [[work.turn.id, context]])
    await this.#begin(thread, work, contexts).started
    return this.#handle(thread, work.turn)
  }

  async stop(
    thread: string,
    { queue = 'keep', signal }: { readonly queue?: 'keep' | 'drop'; readonly signal?: AbortSignal } = {},
  ): Promise<void> {
    checkId(thread, 'thread')
    if (queue !== 'keep' && queue !== 'drop') throw new ConfigError('queue', 'must be keep or drop')
    const before = await this.#shop.store.load(thread)
    if (!before) return
    const active = activeTurn(before)
    const work = await this.#change(thread, (stored, claim) => stopped(stored, queue, claim))
    if (work) this.#begin(thread, work, new Map())
    else this.#shop.live.get(thread)?.stop()
    if (active) await this.#whenOver(thread, active.id, signal)
  }

  /** Waits until the turn has ended, here or in another process. */
  async #whenOver(thread: string, turn: string, signal: AbortSignal | undefined): Promise<void> {
    for (;;) {
      const woken = this.#shop.wakes.listen(thread, signal)
      try {
        const stored = await this.#shop.store.load(thread, { turn })
        const active = stored && activeTurn(stored)
        if (active?.id !== turn) return
        if (active.status === 'running' && active.leaseUntil < Date.now()) await this.#recover(thread)
        await woken.next()
      } finally {
        woken.close()
      }
    }
  }

  async rewind(thread: string, { before }: { readonly before: string }): Promise<void> {
    checkId(thread, 'thread')
    checkId(before, 'message')
    await this.#change(thread, (stored, claim) => rewound(stored, before, claim), { messageId: before })
  }

  async fork(
    thread: string,
    { before, as = crypto.randomUUID() }: { readonly before?: string; readonly as?: string } = {},
  ): Promise<string> {
    checkId(thread, 'thread')
    checkId(as, 'thread')
    const { store } = this.#shop
    const asked = before === undefined ? {} : { messageId: before }
    const stored = alive((await store.load(thread, asked)) ?? newThread(thread, tag(), Date.now()))
    const end = before === undefined ? activeTurn(stored)?.startSeq : turnFrom(stored, before).startSeq
    const isBefore = (seq: number | undefined) => seq !== undefined && (end === undefined || seq < end)
    const turns = (await store.turns(thread)).filter(({ startSeq }) => isBefore(startSeq))
    const events = (await store.events(thread, { keptOnly: true })).filter(({ seq }) => isBefore(seq))
    const ids = new Map(turns.map(({ id }) => [id, crypto.randomUUID() as string]))
    const copied = (id: string) => ids.get(id) ?? id
    await this.#change(as, (target) => {
      if (target.thread.turns > 0) throw new ThreadExistsError(as)
      const historyAt = events.findLast(({ event }) => event.type === 'history-replaced')?.seq ?? 0
      const seq = events.at(-1)?.seq ?? 0
      return {
        thread: { ...target.thread, seq, turns: turns.at(-1)?.number ?? 0, historyAt },
        turns: turns.map((turn) => ({
          ...turn,
          id: copied(turn.id),
          ...(turn.joined !== undefined && { joined: copied(turn.joined) }),
        })),
        events: events.filter(({ turn }) => ids.has(turn)).map((event) => ({ ...event, turn: copied(event.turn) })),
        result: undefined,
      }
    })
    return as
  }

  async read(thread: string): Promise<ThreadState> {
    checkId(thread, 'thread')
    const { store } = this.#shop
    const stored = await store.load(thread)
    const empty = {
      id: thread,
      status: 'idle',
      messages: [],
      interrupts: [],
      settled: [],
      turns: [],
      queued: [],
    } as const
    if (!stored || stored.thread.isDeleted) return empty
    const events = await store.events(thread, { keptOnly: true })
    const turns = await store.turns(thread)
    const active = turns.find(({ status }) => status === 'running' || status === 'waiting')
    const waiting = active?.status === 'waiting' ? active : undefined
    return {
      id: thread,
      status: active?.status === 'running' ? 'running' : waiting ? 'waiting' : 'idle',
      messages: events.flatMap(messageIn),
      interrupts: waiting?.interrupts ?? [],
      settled: waiting?.settled ?? [],
      turns: turns.filter(({ startSeq, status }) => startSeq !== undefined && status !== 'joined').map(stateOf),
      queued: queueOf({ ...stored, turns }).flatMap(({ id, messageId, message }) =>
        message ? [{ id: messageId, turn: id, message }] : [],
      ),
      cursor: cursorAt(stored.thread, events.at(-1)?.seq ?? 0),
    }
  }

  async turn(thread: string, turn?: string): Promise<Turn | undefined> {
    checkId(thread, 'thread')
    if (turn !== undefined) checkId(turn, 'turn')
    const stored = await this.#shop.store.load(thread, turn === undefined ? {} : { turn })
    if (!stored) return undefined
    const { turns } = alive(stored)
    const begun = turns.filter(({ startSeq, status }) => startSeq !== undefined && status !== 'joined')
    const record = turn === undefined ? (activeTurn(stored) ?? begun.at(-1)) : turns.find(({ id }) => id === turn)
    if (!record && turn !== undefined) throw new UnknownTurnError(thread, turn)
    return record && this.#handle(thread, record)
  }

  async list(options: { readonly after?: string; readonly limit?: number } = {}): Promise<readonly ThreadSummary[]> {
    const { after, limit = 100 } = options
    if (after !== undefined) checkId(after, 'thread')
    if (!(Number.isSafeInteger(limit) && limit > 0)) throw new ConfigError('limit', 'must be a whole number from 1 on')
    const records = await this.#shop.store.list({ limit, ...(after !== undefined && { after }) })
    return records.map(({ id, createdAt, updatedAt }) => {
      return { id, createdAt: new Date(createdAt), updatedAt: new Date(updatedAt) }
    })
  }

  async delete(thread: string): Promise<void> {
    checkId(thread, 'thread')
    await this.#change(thread, deleted)
    const work = this.#shop.live.get(thread)
    await work?.leave()
    this.#shop.wakes.wake(thread)
  }

  async recover(): Promise<number> {
    const now = Date.now()
    let count = 0
    // Threads that are still due although they were looked at: the store gives them again.
    const passed = new Set<string>()
    const errors: unknown[] = []
    while (!this.#isClosed) {
      const due = await this.#shop.store.due(now, PAGE + passed.size)
      const page = due.filter((thread) => !passed.has(thread))
      if (page.length === 0) break
      for (const thread of page) {
        const isTaken = await this.#recover(thread).catch((error: unknown) => {
          errors.push(error)
          return false
        })
        if (isTaken) count++
        else passed.add(thread)
      }
    }
    if (errors.length > 0) throw errors[0]
    return count
  }

  async #recover(thread: string): Promise<boolean> {
    if (this.#isClosed) return false
    const work = await this.#change(thread, recovered)
    if (work) this.#begin(thread, work, new Map())
    return work !== undefined
  }

  watch(): { close(): void } {
    let looking = false
    const look = async () => {
      if (looking) return
      looking = true
      // What cannot be read now is read the next time.
      await this.recover().catch(() => undefined)
      looking = false
    }
    const timer = setInterval(() => void look(), this.#shop.claim().lease / 2)
    this.#watches.add(timer)
    void look()
    return {
      close: () => {
        clearInterval(timer)
        this.#watches.delete(timer)
      },
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const timer of this.#watches) clearInterval(timer)
    const { live } = this.#shop
    // A turn that ended meanwhile may have begun the next one.
    while (live.size > 0) await Promise.all([...live.values()].map((work) => work.leave()))
  }

  #begin(thread: string, work: Work, contexts: Map<string, unknown>): TurnWork {
    const begun = new TurnWork(this.#shop, thread, work, contexts)
    void begun.done.then((next) => {
      contexts.delete(work.turn.id)
      if (next) this.#begin(thread, next, contexts)
      this.#shop.wakes.wake(thread)
    })
    if (this.#isClosed) void begun.leave()
    return begun
  }

  /** Of a thread that does not exist a new one is changed. */
  #change<Result>(
    thread: string,
    decide: (stored: StoredThread, claim: Claim) => { readonly result: Result },
    asked?: Asked,
  ): Promise<Result> {
    const { store, claim } = this.#shop
    return store.change(thread, (stored) => decide(stored ?? newThread(thread, tag(), Date.now()), claim()), asked)
  }

  #handle(thread: string, { id }: TurnRecord): Turn {
    return turnHandle(this.#shop, thread, id)
  }
}

function messageIn({ turn, event }: StoredEvent): readonly ThreadMessage[] {
  if (event.type !== 'turn-start' && event.type !== 'message') return []
  return [{ id: event.messageId ?? '', turn, message: event.message }]
}

function stateOf({ id, status, messageId, metadata, createdAt, error }: TurnRecord): TurnState {
  return {
    id,
    status,
    messageId,
    createdAt: new Date(createdAt),
    ...(metadata !== undefined && { metadata }),
    ...(error && { error }),
  }
}

function checkId(id: unknown, what: 'thread' | 'message' | 'turn'): void {
  if (typeof id !== 'string' || id === '' || id.length > 1_024) throw new ThreadIdError(id, what)
}

/** The message, as JSON of its own. */
function checkedMessage(given: string | UserMessage): UserMessage {
  const message: UserMessage = typeof given === 'string' ? { role: 'user', content: given } : given
  const isUser = typeof message === 'object' && message !== null && message.role === 'user'
  const { content } = Object(message)
  if (!isUser || !(typeof content === 'string' || Array.isArray(content))) throw new InputError('message', 'malformed')
  if (content.length === 0) throw new InputError('message', 'empty')
  return asJson(message, 'message')
}

/** A copy. Throws a `TypeError` if it is not JSON. */
function asJson<Value>(value: Value, what: string): Value {
  const text = JSON.stringify(value, (_, member: unknown) => {
    const isNone = ['function', 'symbol', 'bigint'].includes(typeof member)
    if (isNone || (typeof member === 'number' && !Number.isFinite(member))) throw new TypeError(`${what} must be JSON`)
    return member
  })
  if (text === undefined) throw new TypeError(`${what} must be JSON`)
  return JSON.parse(text)
}

function present<Options extends object>(options: Options): Options {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Options
}

function tag(): string {
  return crypto.randomUUID().slice(0, 8)
}
