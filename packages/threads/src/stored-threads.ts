/** Threads over a store: what their methods do. */

import { type Answers, ConfigError, checkOptions, type OptionNames, type UserMessage } from '@meanwhile/core'
import { asJson, userMessage } from '@meanwhile/core/calls'
import { forked } from './fork.ts'
import { checkedManners, checkId, type Manners } from './given.ts'
import { changed, type Host, tag } from './host.ts'
import { UnknownTurnError } from './thread-errors.ts'
import { activeTurn, alive, begunTurns, type Claim, newestTurn, newThread } from './thread-records.ts'
import { emptyState, stateOf, type ThreadState } from './thread-state.ts'
import type { StoredThread, TurnRecord } from './thread-store.ts'
import type { ContextOptions, SendOptions, ThreadSummary, Threads } from './threads.ts'
import { type ResumedTurn, type Turn, turnHandle } from './turn.ts'
import type { TurnRunner } from './turn-runner.ts'
import { deleted, type Resumption, retried, rewound, said, saidInstead, stopped, turnFrom } from './user-decisions.ts'

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
  readonly #runner: TurnRunner
  readonly #defaults: Manners
  readonly #watches = new Set<ReturnType<typeof setInterval>>()
  #isClosed = false

  constructor(host: Host, runner: TurnRunner, defaults: Manners) {
    this.#host = host
    this.#runner = runner
    this.#defaults = defaults
  }

  async send(thread: string, given: string | UserMessage, options: SendOptions<Context> = {}): Promise<Turn> {
    checkId(thread, 'thread')
    this.#checkGiven('send', options, SEND_OPTIONS)
    const { whenBusy = this.#defaults.whenBusy, whenAsking = this.#defaults.whenAsking } = options
    const manners = checkedManners({ whenBusy, whenAsking })
    const { messageId = crypto.randomUUID(), replacing, metadata } = options
    checkId(messageId, 'message', thread)
    if (replacing !== undefined) checkId(replacing, 'message', thread)
    const message = userMessage(given)
    const stated = metadata === undefined ? {} : { metadata: structuredClone(asJson(metadata, 'metadata')) }
    const turn = crypto.randomUUID()
    const say = { turn, messageId, message, ...manners, ...stated }
    const decide = (stored: StoredThread, claim: Claim) =>
      replacing === undefined ? said(stored, say, claim) : saidInstead(stored, replacing, say, claim)
    const replaced = replacing !== messageId && (await this.#turnOf(thread, replacing))
    const asked = { messageId, ...(replaced && { turn: replaced }) }
    const result = await changed(this.#host, thread, decide, asked)
    const { context } = options
    const isNew = result.record.id === turn
    await this.#runner.said(thread, result, {
      isPreempting: whenBusy === 'preempt',
      ...(isNew && context !== undefined && { context }),
    })
    return this.#handle(thread, result.record)
  }

  /** The id of the turn that a message began. */
  async #turnOf(thread: string, messageId: string | undefined): Promise<string | undefined> {
    if (messageId === undefined) return undefined
    const stored = await this.#host.store.load(thread, { messageId })
    return stored?.turns.find((turn) => turn.messageId === messageId)?.id
  }

  async answer(thread: string, given: Answers, options: ContextOptions<Context> = {}): Promise<ResumedTurn> {
    checkId(thread, 'thread')
    this.#checkGiven('answer', options, { context: 'deps' })
    asJson(given, 'answers')
    if (Object.keys(Object(given)).length === 0)
      throw new TypeError('answers has no answer: it must have one for the id of each question to answer')
    const answers = structuredClone(given)
    return this.#resumed(thread, await this.#runner.answer(thread, answers, options.context))
  }

  async retry(thread: string, options: ContextOptions<Context> = {}): Promise<ResumedTurn> {
    checkId(thread, 'thread')
    this.#checkGiven('retry', options, { context: 'deps' })
    const resumption = await changed(this.#host, thread, retried)
    await this.#runner.retry(thread, resumption.work, options.context)
    return this.#resumed(thread, resumption)
  }

  async stop(
    thread: string,
    options: { readonly queue?: 'keep' | 'drop'; readonly signal?: AbortSignal } = {},
  ): Promise<void> {
    checkId(thread, 'thread')
    checkOptions('stop', options, { queue: '', signal: 'abortSignal' })
    const { queue = 'keep', signal } = options
    if (queue !== 'keep' && queue !== 'drop') throw new ConfigError('queue', 'must be keep or drop')
    const { turn, work } = await changed(this.#host, thread, (stored, claim) => stopped(stored, queue, claim))
    await this.#runner.stop(thread, turn, work)
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
        if (active.status === 'running' && active.leaseUntil < Date.now()) await this.#runner.recover(thread)
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
    await changed(this.#host, thread, (stored, claim) => rewound(stored, before, claim), { messageId: before })
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
    await changed(this.#host, as, (target) => forked(target, { turns, events, end }))
    return as
  }

  async read(thread: string): Promise<ThreadState> {
    checkId(thread, 'thread')
    const { store } = this.#host
    const stored = await store.load(thread)
    if (!stored || stored.thread.isDeleted) return emptyState(thread)
    // The turns first: of a turn that is said to have ended all messages are read.
    const turns = await store.turns(thread)
    const events = await store.events(thread, { keptOnly: true })
    const active = begunTurns(turns).find(({ status }) => status === 'running')
    const open = active && (await this.#runner.open(thread, active, stored.thread.seq))
    return stateOf(stored.thread, turns, events, open)
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
    await changed(this.#host, thread, deleted)
    await this.#runner.leave(thread)
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
        const isTaken = await this.#runner.recover(thread).catch((error: unknown) => {
          failed(error, thread)
          return false
        })
        if (isTaken) count++
        else passed.add(thread)
      }
    }
    return count
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
    const timer = setInterval(() => void look(), this.#runner.lookEvery)
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
    await this.#runner.close()
  }

  #handle(thread: string, { id }: TurnRecord): Turn {
    return turnHandle(this.#host, this.#runner, thread, id)
  }

  #checkGiven<Options extends ContextOptions>(owner: string, options: Options, names: OptionNames<Options>): void {
    checkOptions(owner, options, names)
    if (options.context !== undefined && !this.#runner.takesContext)
      throw new ConfigError('context', 'is made by durableRuns({ context }), from the metadata of the message')
  }

  #resumed(thread: string, { work, cursor }: Resumption): ResumedTurn {
    return Object.assign(this.#handle(thread, work.turn), { cursor })
  }
}
