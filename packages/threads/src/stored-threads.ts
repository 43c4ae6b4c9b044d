/** Threads over a store: what their methods do. */

import { type Answers, ConfigError, checkOptions, type OptionNames, type UserMessage } from '@meanwhile/core'
import { cursorAt } from './cursor.ts'
import { forked } from './fork.ts'
import { asJson, checkedManners, checkedMessage, checkId, type Manners } from './given.ts'
import type { Host, LiveTurn } from './host.ts'
import { recovered } from './owner-decisions.ts'
import { UnknownTurnError } from './thread-errors.ts'
import { activeTurn, alive, type Claim, newestTurn, newThread, type Work } from './thread-records.ts'
import { emptyState, stateOf, type ThreadState } from './thread-state.ts'
import type { Asked, StoredThread, TurnRecord } from './thread-store.ts'
import type { ContextOptions, SendOptions, ThreadSummary, Threads } from './threads.ts'
import { type ResumedTurn, type Turn, turnHandle } from './turn.ts'
import { TurnWork } from './turn-work.ts'
import { answered, deleted, retried, rewound, said, saidInstead, stopped, turnFrom } from './user-decisions.ts'

/** As many threads are taken over before the store is asked for more. */
const PAGE = 100

const SEND_OPTIONS: OptionNames<SendOptions> = {
  messageId: 'id',
  replacing: 'edit before',
  metadata: 'meta',
  context: 'deps',
  whenBusy: '',
  whenAsking: '',
}

/** What users ask for is decided and written in one change of the store; then this process works on what that begins. */
export class StoredThreads<Context> implements Threads<Context> {
  readonly #host: Host
  readonly #defaults: Manners
  readonly #watches = new Set<ReturnType<typeof setInterval>>()
  #isClosed = false

  constructor(host: Host, defaults: Manners) {
    this.#host = host
    this.#defaults = defaults
  }

  async send(thread: string, given: string | UserMessage, options: SendOptions<Context> = {}): Promise<Turn> {
    checkId(thread, 'thread')
    checkOptions('send', options, SEND_OPTIONS)
    const { whenBusy = this.#defaults.whenBusy, whenAsking = this.#defaults.whenAsking } = options
    const manners = checkedManners({ whenBusy, whenAsking })
    const { messageId = crypto.randomUUID(), replacing, metadata } = options
    checkId(messageId, 'message', thread)
    if (replacing !== undefined) checkId(replacing, 'message', thread)
    const message = checkedMessage(given)
    const stated = metadata === undefined ? {} : { metadata: asJson(metadata, 'metadata') }
    const turn = crypto.randomUUID()
    const say = { turn, messageId, message, ...manners, ...stated }
    const decide = (stored: StoredThread, claim: Claim) =>
      replacing === undefined ? said(stored, say, claim) : saidInstead(stored, replacing, say, claim)
    const replaced = replacing !== messageId && (await this.#turnOf(thread, replacing))
    const asked = { messageId, ...(replaced && { turn: replaced }) }
    const { record, work, busy } = await this.#change(thread, decide, asked)
    const contexts = this.#host.live.get(thread)?.contexts ?? new Map<string, unknown>()
    if (options.context !== undefined && record.id === turn) contexts.set(turn, options.context)
    if (work) this.#begin(thread, work, contexts)
    // The turn at work learns at once what it would read with its next write.
    const working = this.#workOn(thread, busy)
    if (whenBusy === 'preempt') working?.stop()
    if (record.isSteering) working?.steer([record])
    return this.#handle(thread, record)
  }

  /** The id of the turn that a message began. */
  async #turnOf(thread: string, messageId: string | undefined): Promise<string | undefined> {
    if (messageId === undefined) return undefined
    const stored = await this.#host.store.load(thread, { messageId })
    return stored?.turns.find((turn) => turn.messageId === messageId)?.id
  }

  /** The work on a turn, if it is done here. */
  #workOn(thread: string, turn: string | undefined): LiveTurn | undefined {
    const work = this.#host.live.get(thread)
    return work?.turn.id === turn ? work : undefined
  }

  async answer(thread: string, given: Answers, options: ContextOptions<Context> = {}): Promise<ResumedTurn> {
    checkId(thread, 'thread')
    checkOptions('answer', options, { context: 'deps' })
    const answers = asJson(given, 'answers')
    if (Object.keys(Object(answers)).length === 0)
      throw new TypeError('answers must have an answer, by id of the interrupt')
    return this.#resume(thread, (stored, claim) => answered(stored, answers, claim), options)
  }

  async retry(thread: string, options: ContextOptions<Context> = {}): Promise<ResumedTurn> {
    checkId(thread, 'thread')
    checkOptions('retry', options, { context: 'deps' })
    return this.#resume(thread, retried, options)
  }

  async #resume(
    thread: string,
    decide: (stored: StoredThread, claim: Claim) => ReturnType<typeof retried>,
    { context }: ContextOptions<Context>,
  ): Promise<ResumedTurn> {
    const { work, cursor } = await this.#change(thread, (stored, claim) => {
      const change = decide(stored, claim)
      const { result } = change
      return { ...change, result: { work: result, cursor: cursorAt(stored.thread, result.seq) } }
    })
    const contexts = new Map(context === undefined ? [] : [[work.turn.id, context]])
    await this.#begin(thread, work, contexts).started
    return Object.assign(this.#handle(thread, work.turn), { cursor })
  }

  async stop(
    thread: string,
    options: { readonly queue?: 'keep' | 'drop'; readonly signal?: AbortSignal } = {},
  ): Promise<void> {
    checkId(thread, 'thread')
    checkOptions('stop', options, { queue: '', signal: 'abortSignal' })
    const { queue = 'keep', signal } = options
    if (queue !== 'keep' && queue !== 'drop') throw new ConfigError('queue', 'must be keep or drop')
    const { turn, work } = await this.#change(thread, (stored, claim) => stopped(stored, queue, claim))
    if (work) this.#begin(thread, work, new Map())
    else this.#workOn(thread, turn)?.stop()
    if (turn) await this.#whenOver(thread, turn, signal)
  }

  /** Waits until the turn has ended, here or in another process. */
  async #whenOver(thread: string, turn: string, signal: AbortSignal | undefined): Promise<void> {
    for (;;) {
      const woken = this.#host.wakes.listen(thread, signal)
      try {
        const stored = await this.#host.store.load(thread, { turn })
        const active = stored && activeTurn(stored)
        if (active?.id !== turn) return
        if (active.status === 'running' && active.leaseUntil < Date.now()) await this.#recover(thread)
        await woken.next()
      } finally {
        woken.close()
      }
    }
  }

  async rewind(thread: string, options: { readonly before: string }): Promise<void> {
    checkId(thread, 'thread')
    checkOptions('rewind', options, { before: 'messageId' })
    const { before } = options
    checkId(before, 'message', thread)
    await this.#change(thread, (stored, claim) => rewound(stored, before, claim), { messageId: before })
  }

  async fork(thread: string, options: { readonly before?: string; readonly as?: string } = {}): Promise<string> {
    checkId(thread, 'thread')
    checkOptions('fork', options, { before: 'messageId', as: 'id' })
    const { before, as = crypto.randomUUID() } = options
    checkId(as, 'thread')
    if (before !== undefined) checkId(before, 'message', thread)
    const { store } = this.#host
    const stored = alive((await store.load(thread)) ?? newThread(thread, tag(), Date.now()))
    const turns = await store.turns(thread)
    const end = before === undefined ? activeTurn({ turns })?.startSeq : turnFrom({ ...stored, turns }, before).startSeq
    const events = await store.events(thread, { keptOnly: true })
    await this.#change(as, (target) => forked(target, { turns, events, end }))
    return as
  }

  async read(thread: string): Promise<ThreadState> {
    checkId(thread, 'thread')
    const { store } = this.#host
    const stored = await store.load(thread)
    if (!stored || stored.thread.isDeleted) return emptyState(thread)
    // The turns first: of a turn that is said to have ended all messages are read.
    const turns = await store.turns(thread)
    return stateOf(stored.thread, turns, await store.events(thread, { keptOnly: true }))
  }

  async turn(thread: string, turn?: string): Promise<Turn | undefined> {
    checkId(thread, 'thread')
    if (turn !== undefined) checkId(turn, 'turn', thread)
    const stored = await this.#host.store.load(thread, turn === undefined ? {} : { turn })
    if (!stored) return undefined
    const { turns } = alive(stored)
    const record = turn === undefined ? newestTurn(turns) : turns.find(({ id }) => id === turn)
    if (!record && turn !== undefined) throw new UnknownTurnError(thread, turn)
    return record && this.#handle(thread, record)
  }

  async list(options: { readonly after?: string; readonly limit?: number } = {}): Promise<readonly ThreadSummary[]> {
    checkOptions('list', options, { after: 'cursor', limit: '' })
    const { after, limit = 100 } = options
    if (after !== undefined) checkId(after, 'thread')
    if (!(Number.isSafeInteger(limit) && limit > 0)) throw new ConfigError('limit', 'must be a whole number from 1 on')
    const records = await this.#host.store.list({ limit, ...(after !== undefined && { after }) })
    return records.map(({ id, createdAt, updatedAt }) => {
      return { id, createdAt: new Date(createdAt), updatedAt: new Date(updatedAt) }
    })
  }

  async delete(thread: string): Promise<void> {
    checkId(thread, 'thread')
    await this.#change(thread, deleted)
    await this.#host.live.get(thread)?.leave()
    this.#host.wakes.wake(thread)
  }

  async recover(): Promise<number> {
    const errors: unknown[] = []
    const count = await this.#recoverAll((error) => errors.push(error))
    if (errors.length > 0) throw errors[0]
    return count
  }

  /** Returns how many turns were taken over. */
  async #recoverAll(failed: (error: unknown, thread: string) => void): Promise<number> {
    const now = Date.now()
    let count = 0
    // Threads that are still due although they were looked at: the store gives them again.
    const passed = new Set<string>()
    while (!this.#isClosed) {
      const due = await this.#host.store.due(now, PAGE + passed.size)
      const page = due.filter((thread) => !passed.has(thread))
      if (page.length === 0) break
      for (const thread of page) {
        const isTaken = await this.#recover(thread).catch((error: unknown) => {
          failed(error, thread)
          return false
        })
        if (isTaken) count++
        else passed.add(thread)
      }
    }
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
      // What fails now is tried again the next time.
      const { report } = this.#host
      await this.#recoverAll((error, thread) => report(error, { thread })).catch((error: unknown) => report(error, {}))
      looking = false
    }
    const timer = setInterval(() => void look(), this.#host.claim().lease / 2)
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
    const { live } = this.#host
    // A turn that ended meanwhile may have begun the next one.
    while (live.size > 0) await Promise.all([...live.values()].map((work) => work.leave()))
  }

  #begin(thread: string, work: Work, contexts: Map<string, unknown>): TurnWork {
    const begun = new TurnWork(this.#host, thread, work, contexts)
    void begun.done.then((next) => {
      contexts.delete(work.turn.id)
      if (next) this.#begin(thread, next, contexts)
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
    const { store, claim } = this.#host
    return store.change(thread, (stored) => decide(stored ?? newThread(thread, tag(), Date.now()), claim()), asked)
  }

  #handle(thread: string, { id }: TurnRecord): Turn {
    return turnHandle(this.#host, thread, id)
  }
}

function tag(): string {
  return crypto.randomUUID().slice(0, 8)
}
