/** Implements the methods of `Threads` over a store. */

import { type Answers, ConfigError, checkOptions, type OptionNames, type UserMessage } from '@meanwhile/core'
import { activeContext, asJson, traceIn, userMessage } from '@meanwhile/core/calls'
import { checkedSendPolicy, checkId } from './argument-checks.ts'
import { forkThread } from './fork.ts'
import { changeThread, type Host, tag, timeOf } from './host.ts'
import { OneByOne } from './one-by-one.ts'
import { checkExpected, type Preview, previewOf, type ThreadRequest } from './preview.ts'
import { Takeovers } from './takeovers.ts'
import { UnknownTurnError } from './thread-errors.ts'
import { activeTurn, begunTurns, type Claim, newestTurn, newThread, notDeleted } from './thread-records.ts'
import { emptyState, stateOf, type ThreadState } from './thread-state.ts'
import type { LoadOptions, StoredThread, TurnRecord } from './thread-store.ts'
import type { ContextOptions, ExpectedOptions, SendOptions, StopOptions, ThreadSummary, Threads } from './threads.ts'
import { type ResumedTurn, type Turn, turnHandle } from './turn.ts'
import type { TurnRunner } from './turn-runner.ts'
import type { SendPolicy } from './user-decisions.ts'
import {
  addMessage,
  deleteThread,
  dropMessage,
  type Resumption,
  replaceMessage,
  retryTurn,
  rewindTo,
  stopTurn,
  turnBegunBy,
} from './user-decisions.ts'

/** Milliseconds after which `stop` looks again at a turn whose lease has expired. */
const MIN_WAIT = 200

const SEND_OPTIONS: OptionNames<SendOptions> = {
  messageId: 'id',
  replacing: 'edit before',
  metadata: 'meta',
  display: '',
  context: 'deps',
  whenBusy: '',
  whenAsking: '',
  expected: 'preview',
}

/** Each request is written to the store in one change. The runner then does the work that follows from it. */
export class StoredThreads<Context> implements Threads<Context> {
  readonly acceptsContext: boolean
  declare readonly toolNames?: readonly string[]
  /** Not a method, so that an object that inherits from these threads, and replaces some methods, has it. */
  readonly preview: Threads['preview'] = (thread, request) => this.#preview(thread, request)
  readonly #host: Host
  readonly #runner: TurnRunner
  readonly #defaults: SendPolicy
  readonly #takeovers: Takeovers
  /** The answers to each thread are checked one at a time. */
  readonly #answers = new OneByOne()

  constructor(host: Host, runner: TurnRunner, defaults: SendPolicy, toolNames?: readonly string[]) {
    this.#host = host
    if (toolNames) this.toolNames = toolNames
    this.acceptsContext = runner.acceptsContext
    this.#runner = runner
    this.#defaults = defaults
    this.#takeovers = new Takeovers(host, runner)
  }

  async #preview(thread: string, request: ThreadRequest): Promise<Preview> {
    checkId(thread, 'thread')
    const { messageId = '', replacing } = request.type === 'send' ? request : {}
    const loaded = await this.#loading(thread, messageId, replacing)
    const stored = (await this.#host.store.load(thread, loaded)) ?? newThread(thread, '', 0)
    return previewOf(stored, request, this.#defaults)
  }

  async send(thread: string, given: string | UserMessage, options: SendOptions<Context> = {}): Promise<Turn> {
    checkId(thread, 'thread')
    this.#checkOptions('send', options, SEND_OPTIONS)
    const { maxQueued, ...defaults } = this.#defaults
    const { whenBusy = defaults.whenBusy, whenAsking = defaults.whenAsking } = options
    const policy = checkedSendPolicy({ whenBusy, whenAsking, maxQueued })
    const { messageId = crypto.randomUUID(), replacing, metadata, display, expected } = options
    checkId(messageId, 'message', thread)
    if (replacing !== undefined) checkId(replacing, 'message', thread)
    const message = userMessage(given)
    const optional = {
      ...(metadata !== undefined && { metadata: structuredClone(asJson(metadata, 'metadata')) }),
      ...(display !== undefined && { display: structuredClone(asJson(display, 'display')) }),
    }
    const turn = crypto.randomUUID()
    const trace = traceIn(activeContext())
    const newMessage = { turn, messageId, message, ...policy, ...optional, ...(trace && { trace }) }
    const request = { type: 'send', messageId, ...(replacing !== undefined && { replacing }) } as const
    const loaded = await this.#loading(thread, messageId, replacing)
    const store = (admit: () => void) => {
      const decide = (stored: StoredThread, claim: Claim) => {
        checkExpected(stored, request, policy, expected)
        const change =
          replacing === undefined
            ? addMessage(stored, newMessage, claim)
            : replaceMessage(stored, replacing, newMessage, claim)
        if (change.result.work) admit()
        return change
      }
      return changeThread(this.#host, thread, decide, loaded)
    }
    const { context } = options
    const { record } = await this.#runner.send(thread, turn, store, { isPreempting: whenBusy === 'preempt', context })
    return this.#turnHandle(thread, record)
  }

  /** The turns to load for a message: its own, and the one that it replaces. */
  async #loading(thread: string, messageId: string, replacing: string | undefined): Promise<LoadOptions> {
    if (replacing === undefined || replacing === messageId) return { messageId }
    const stored = await this.#host.store.load(thread, { messageId: replacing })
    const replaced = stored?.turns.find((turn) => turn.messageId === replacing)?.id
    return { messageId, ...(replaced !== undefined && { turn: replaced }) }
  }

  async answer(thread: string, given: Answers, options: ContextOptions<Context> = {}): Promise<ResumedTurn> {
    checkId(thread, 'thread')
    this.#checkOptions('answer', options, { context: 'deps' })
    asJson(given, 'answers')
    if (Object.keys(Object(given)).length === 0)
      throw new TypeError('answers has no answer: it must have one for the id of each question to answer')
    const answers = structuredClone(given)
    // An answer that is being judged may be refused. Then its question is open again.
    const answered = () => this.#runner.answer(thread, answers, options.context)
    return this.#resumedHandle(thread, await this.#answers.run(thread, answered))
  }

  async retry(thread: string, options: ContextOptions<Context> & ExpectedOptions = {}): Promise<ResumedTurn> {
    checkId(thread, 'thread')
    this.#checkOptions('retry', options, { context: 'deps', expected: 'preview' })
    const resumption = await changeThread(this.#host, thread, (stored, claim) => {
      checkExpected(stored, { type: 'retry' }, this.#defaults, options.expected)
      return retryTurn(stored, claim)
    })
    await this.#runner.retry(thread, resumption.work, options.context)
    return this.#resumedHandle(thread, resumption)
  }

  async stop(thread: string, options: StopOptions = {}): Promise<void> {
    checkId(thread, 'thread')
    checkOptions('stop', options, { queue: '', signal: 'abortSignal', expected: 'preview' })
    const { queue = 'keep', signal, expected } = options
    if (queue !== 'keep' && queue !== 'drop') throw new ConfigError('queue', 'must be keep or drop')
    const { turn, work } = await changeThread(this.#host, thread, (stored, claim) => {
      checkExpected(stored, { type: 'stop' }, this.#defaults, expected)
      return stopTurn(stored, queue, claim)
    })
    await this.#runner.stop(thread, turn, work)
    if (turn) await this.#untilEnded(thread, turn, signal)
  }

  async drop(thread: string, messageId: string, options: ExpectedOptions = {}): Promise<void> {
    checkId(thread, 'thread')
    checkId(messageId, 'message', thread)
    checkOptions('drop', options, { expected: 'preview' })
    const decide = (stored: StoredThread, claim: Claim) => {
      checkExpected(stored, { type: 'drop', messageId }, this.#defaults, options.expected)
      return dropMessage(stored, messageId, claim)
    }
    const dropped = await changeThread(this.#host, thread, decide, { messageId })
    this.#host.changes.changed(thread, (turn) => turn !== dropped)
  }

  /** Waits until the turn has ended, here or in another process. */
  async #untilEnded(thread: string, turn: string, signal: AbortSignal | undefined): Promise<void> {
    for (;;) {
      const { store, changes } = this.#host
      const change = changes.listen(thread, turn, 'end')
      try {
        const stored = await store.load(thread, { turn })
        const active = stored && activeTurn(stored)
        if (active?.id !== turn) return
        if (this.#runner.logOf(thread, turn)) await change.next({ signal })
        else {
          const left = active.leaseUntil - (await timeOf(store))
          if (active.status === 'running' && left < 0) await this.#runner.recover(thread)
          await change.next({ signal, atMost: Math.max(left, MIN_WAIT) })
        }
      } finally {
        change.close()
      }
    }
  }

  async rewind(thread: string, options: { readonly before: string }): Promise<void> {
    checkId(thread, 'thread')
    checkOptions('rewind', options, { before: 'messageId' })
    const { before } = options
    checkId(before, 'message', thread)
    await changeThread(this.#host, thread, (stored, claim) => rewindTo(stored, before, claim), { messageId: before })
  }

  async fork(thread: string, options: { readonly before?: string; readonly as?: string } = {}): Promise<string> {
    checkId(thread, 'thread')
    checkOptions('fork', options, { before: 'messageId', as: 'id' })
    const { before, as = crypto.randomUUID() } = options
    checkId(as, 'thread')
    if (before !== undefined) checkId(before, 'message', thread)
    const { store } = this.#host
    const stored = notDeleted((await store.load(thread)) ?? newThread(thread, tag(), Date.now()))
    const turns = await store.turns(thread)
    const end =
      before === undefined ? activeTurn({ turns })?.startSeq : turnBegunBy({ ...stored, turns }, before).startSeq
    const events = await store.events(thread, { keptOnly: true })
    await changeThread(this.#host, as, (target) => forkThread(target, { turns, events, end }))
    return as
  }

  async read(thread: string): Promise<ThreadState> {
    checkId(thread, 'thread')
    const { store } = this.#host
    for (;;) {
      const stored = await store.load(thread)
      if (!stored || stored.thread.isDeleted) return emptyState(thread)
      // Turns are read before events, so that all messages of each ended turn are read.
      const turns = await store.turns(thread)
      const events = await store.events(thread, { keptOnly: true })
      const active = begunTurns(turns).find(({ status }) => status === 'running')
      const open = active && (await this.#runner.unstoredEvents(thread, active, stored.thread.seq))
      if (open || !active) return stateOf(stored.thread, turns, events, open)
    }
  }

  async turn(thread: string, turn?: string): Promise<Turn | undefined> {
    checkId(thread, 'thread')
    if (turn !== undefined) checkId(turn, 'turn', thread)
    const stored = await this.#host.store.load(thread, turn === undefined ? {} : { turn })
    if (!stored) return undefined
    const { turns } = notDeleted(stored)
    const record = turn === undefined ? newestTurn(turns) : turns.find(({ id }) => id === turn)
    if (!record && turn !== undefined) throw new UnknownTurnError(thread, turn)
    if (!record) return undefined
    const handle = this.#turnHandle(thread, record)
    if (record.endedAt === undefined || record.status === 'running') return handle
    return Object.assign(handle, { endedFor: (await timeOf(this.#host.store)) - record.endedAt })
  }

  async list(options: { readonly after?: string; readonly limit?: number } = {}): Promise<readonly ThreadSummary[]> {
    checkOptions('list', options, { after: 'cursor', limit: '' })
    const { after, limit = 100 } = options
    if (after !== undefined) checkId(after, 'thread')
    if (!(Number.isSafeInteger(limit) && limit > 0)) throw new ConfigError('limit', 'must be a whole number, 1 or more')
    const records = await this.#host.store.list({ limit, ...(after !== undefined && { after }) })
    return records.map(({ id, createdAt, updatedAt }) => {
      return { id, createdAt: new Date(createdAt), updatedAt: new Date(updatedAt) }
    })
  }

  async delete(thread: string): Promise<void> {
    checkId(thread, 'thread')
    await changeThread(this.#host, thread, deleteThread)
    await this.#runner.release(thread)
    this.#host.changes.changed(thread)
  }

  async recover(): Promise<number> {
    return await this.#takeovers.recover()
  }

  watch(): { close(): void } {
    return this.#takeovers.watch()
  }

  async close(): Promise<void> {
    await this.#takeovers.close()
    await this.#runner.close()
  }

  #turnHandle(thread: string, { id }: TurnRecord): Turn {
    return turnHandle(this.#host, this.#runner, thread, id)
  }

  #checkOptions<Options extends ContextOptions>(owner: string, options: Options, names: OptionNames<Options>): void {
    checkOptions(owner, options, names)
    if (options.context !== undefined && !this.#runner.acceptsContext)
      throw new ConfigError(
        'context',
        'must not be given: durableRuns({ context }) makes it from the metadata of the message',
      )
  }

  #resumedHandle(thread: string, { work, cursor }: Resumption): ResumedTurn {
    return Object.assign(this.#turnHandle(thread, work.turn), { cursor })
  }
}
