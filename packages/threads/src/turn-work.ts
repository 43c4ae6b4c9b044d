/** The work on one turn in this process: its run is played, and what that tells is logged and stored. */

import {
  type Agent,
  type AgentEvent,
  type AgentResult,
  type AgentRun,
  AnswerError,
  CheckpointConflictError,
  type CheckpointStore,
  hasFinalAnswer,
  type Json,
  type Message,
  messageOf,
  type ResumeOptions,
  UnknownInterruptError,
  type Usage,
  type UserMessage,
} from '@meanwhile/core'
import { EventLog } from './event-log.ts'
import { LeaseLostError } from './thread-errors.ts'
import type { ErrorInfo } from './thread-events.ts'
import { historyOf, reconcile } from './thread-history.ts'
import {
  type Claim,
  ended,
  left,
  NOT_ANSWERED,
  newThread,
  type Orders,
  type Outcome,
  type Owner,
  type Progress,
  progressed,
  refused,
  type Work,
} from './thread-machine.ts'
import type { Change, ChangeOptions, StoredEvent, StoredThread, ThreadStore, TurnRecord } from './thread-store.ts'
import type { Wakes } from './wakes.ts'

/** What all work of a process shares. */
export interface Workshop {
  readonly store: ThreadStore
  readonly wakes: Wakes
  /** The work at present, by thread. */
  readonly live: Map<string, TurnWork>
  claim(): Claim
  agentOf(turn: TurnRecord, thread: string): Promise<Agent>
  contextOf(turn: TurnRecord, thread: string): Promise<unknown>
}

/** A message that was given to the run, and has not come back as an event. */
interface Given {
  readonly turn: string
  readonly messageId: string
  readonly message: UserMessage
}

export class TurnWork {
  /** When it is over: the work on the next turn, if it has begun. Never rejects. */
  readonly done: Promise<Work | undefined>
  /** Resolves when its run goes on; rejects if the run does not take the answers. */
  readonly started: Promise<void>
  /** Contexts that were given with messages, by turn. */
  readonly contexts: Map<string, unknown>
  readonly thread: string
  readonly turn: TurnRecord
  log: EventLog | undefined
  readonly #shop: Workshop
  readonly #work: Work
  readonly #owner: Owner
  readonly #abort = new AbortController()
  #start: { resolve(): void; reject(error: unknown): void } = { resolve: () => {}, reject: () => {} }
  #run: AgentRun | undefined
  #hasBegun = false
  #isStopping = false
  /** Somebody else has the turn, or is to have it: nothing is told or written any more. */
  #isOut: 'lost' | 'leaving' | undefined
  #last: Promise<unknown> = Promise.resolve()
  #isFlushing = false
  readonly #given: Given[] = []
  /** Turns whose messages were given to the run. */
  readonly #steered = new Set<string>()
  readonly #joined: { turn: string; seq: number }[] = []
  #retracted: readonly number[] = []

  constructor(shop: Workshop, thread: string, work: Work, contexts: Map<string, unknown>) {
    this.thread = thread
    this.turn = work.turn
    this.contexts = contexts
    this.#shop = shop
    this.#work = work
    this.#owner = { thread, turn: work.turn.id, epoch: work.turn.epoch }
    this.started = new Promise<void>((resolve, reject) => {
      this.#start = { resolve, reject }
    })
    this.started.catch(() => undefined)
    this.done = this.#do()
  }

  /** The user wants no more of it. */
  stop(): void {
    this.#isStopping = true
    this.#run?.cancel().catch(() => undefined)
  }

  /** Messages that are to join its turn. */
  steer(turns: readonly TurnRecord[]): void {
    for (const { id, messageId, message } of turns) {
      // Before it has begun nobody knows whether it takes them: with the next write they come again.
      if (!message || !this.#run || !this.#hasBegun || this.#isOut || this.#steered.has(id)) continue
      if (this.#run.send(message)) this.#expect({ turn: id, messageId, message })
    }
  }

  /** It comes back as an event, and is not given again. */
  #expect(given: Given): void {
    this.#steered.add(given.turn)
    this.#given.push(given)
  }

  /** Leaves the turn to another process. */
  async leave(): Promise<void> {
    this.#isOut ??= 'leaving'
    this.#abort.abort()
    await this.done
  }

  async #do(): Promise<Work | undefined> {
    const { live, wakes } = this.#shop
    live.set(this.thread, this)
    const beat = setInterval(() => void this.#write({ isBeat: true }), this.#shop.claim().lease / 3)
    try {
      const outcome = await this.#outcome()
      return outcome && (await this.#end(outcome))
    } catch (error) {
      // What could not be stored is as it was: somebody takes the turn over when its lease has run out.
      this.#start.reject(error)
      return undefined
    } finally {
      clearInterval(beat)
      this.log?.close()
      // A write that is under way would take the lease again.
      await this.#last
      if (this.#isOut === 'leaving') await this.#change((stored) => left(stored, this.#owner)).catch(() => undefined)
      if (live.get(this.thread) === this) live.delete(this.thread)
      wakes.wake(this.thread)
    }
  }

  /** What the turn comes to; undefined if nothing is to be written of it. */
  async #outcome(): Promise<Outcome | undefined> {
    try {
      return await (this.#work.kind === 'close' ? this.#close(this.turn.closing ?? NOT_ANSWERED) : this.#play())
    } catch (error) {
      if (this.#isOut) throw error
      const isRefused = error instanceof AnswerError || error instanceof UnknownInterruptError
      if (!isRefused || this.#hasBegun || !this.turn.answers) return { status: 'failed', error: infoOf(error) }
      await this.#last
      await this.#change((stored) => refused(stored, this.#owner))
      this.#start.reject(error)
      return undefined
    }
  }

  /** Begins the run, or goes on with it, and listens to its end. */
  async #play(): Promise<Outcome> {
    const agent = await this.#shop.agentOf(this.turn, this.thread)
    const context = await this.#shop.contextOf(this.turn, this.thread)
    const options: ResumeOptions = {
      checkpoints: this.#checkpoints,
      conversationId: this.thread,
      signal: this.#abort.signal,
      ...(context !== undefined && { context }),
    }
    const { input, checkpoint, lost } = await this.#prepare()
    const { id } = this.turn
    this.#run = checkpoint
      ? agent.resume(id, answersTo(this.turn, checkpoint), options)
      : agent.stream(input, { ...options, id })
    for (const one of lost) if (this.#run.send(one.message)) this.#expect(one)
    if (this.#isStopping) this.stop()
    for await (const event of this.#run) {
      this.#hasBegun = true
      this.#start.resolve()
      this.#hear(event)
      if (this.log?.isFull) await this.#write({})
    }
    return outcomeOf(await this.#run.result)
  }

  /** Closes its run, if that has a checkpoint. */
  async #close(reason: string): Promise<Outcome> {
    this.#start.resolve()
    const agent = await this.#shop.agentOf(this.turn, this.thread)
    const checkpoint = await this.#checkpoint()
    // Its answer was accepted before anybody could stop it.
    if (checkpoint?.hasFinalAnswer) return await this.#play()
    const { before, own } = await this.#events()
    if (!checkpoint) {
      this.#makeEqual(before, own, historyOf(before))
      return { status: 'stopped' }
    }
    const { messages, usage } = await agent.close(this.turn.id, { reason, checkpoints: this.#checkpoints })
    await this.#expectKnown(checkpoint)
    this.#makeEqual(before, own, messages)
    return { status: 'stopped', usage }
  }

  /** What the run begins with, or goes on from. `lost`: messages that it had taken, and that its checkpoint does not have. */
  async #prepare() {
    const { before, own } = await this.#events()
    const input = historyOf(before)
    if (this.#work.kind === 'begin') return { input, checkpoint: undefined, lost: [] }
    const checkpoint = await this.#checkpoint()
    await this.#expectKnown(checkpoint)
    const retracted = this.#makeEqual(before, own, checkpoint ? checkpoint.messages : input)
    const taken = retracted.flatMap(({ event, turn }): Given[] => {
      if (event.type !== 'message' || !isSaid(event.message)) return []
      return [{ turn, messageId: event.messageId ?? crypto.randomUUID(), message: event.message }]
    })
    const sent = new Set((checkpoint?.sent ?? []).map((message) => JSON.stringify(message)))
    const isSent = ({ message }: Given) => sent.has(JSON.stringify(message))
    for (const one of taken.filter(isSent)) this.#expect(one)
    return { input, checkpoint, lost: taken.filter((one) => !isSent(one)) }
  }

  /** Kept events: up to the beginning of the turn, and since. */
  async #events() {
    const { store, wakes } = this.#shop
    const { startSeq = 0, historyAt = 0, id } = this.turn
    const stored = await store.load(this.thread)
    const heard = () => wakes.wake(this.thread)
    this.log ??= new EventLog(id, stored?.thread.seq ?? 0, () => this.#soon(), heard)
    const kept = await store.events(this.thread, { after: historyAt - 1, keptOnly: true })
    return { before: kept.filter(({ seq }) => seq <= startSeq), own: kept.filter(({ seq }) => seq > startSeq) }
  }

  async #checkpoint(): Promise<SeenCheckpoint | undefined> {
    const checkpoint = await this.#shop.store.checkpoints.load(this.turn.id)
    if (checkpoint === undefined) return undefined
    // A damaged one is refused by the agent, which says what is wrong with it.
    const { messages, sent, interrupts } = Object(checkpoint)
    return {
      messages: Array.isArray(messages) ? messages : [],
      sent: Array.isArray(sent) ? sent : [],
      interrupts: Array.isArray(interrupts) ? interrupts : [],
      hasFinalAnswer: hasFinalAnswer(checkpoint),
    }
  }

  /** Messages that the run has taken although their turns are still in the queue: its checkpoint has them. */
  async #expectKnown(checkpoint: SeenCheckpoint | undefined): Promise<void> {
    const stored = await this.#shop.store.load(this.thread)
    const taken = [...(checkpoint?.messages ?? []).filter(isSaid), ...(checkpoint?.sent ?? [])]
    const texts = new Set(taken.map((message) => JSON.stringify(message)))
    for (const { id, messageId, message, isSteering } of stored?.turns ?? []) {
      if (isSteering && message && texts.has(JSON.stringify(message))) this.#expect({ turn: id, messageId, message })
    }
  }

  /** Tells that the turn goes on, and what of its messages counts. */
  #makeEqual(
    before: readonly StoredEvent[],
    own: readonly StoredEvent[],
    history: readonly Message[],
  ): readonly StoredEvent[] {
    const { retracted, missing, replaced } = reconcile(before, own, history)
    this.#retracted = retracted.map(({ seq }) => seq)
    const cause = this.#work.kind === 'begin' ? undefined : this.#work.cause
    if (cause) {
      const counts = [...before, ...own].filter((one) => one.turn === this.turn.id && !retracted.includes(one))
      const messages = counts.flatMap(({ event }) => ('messageId' in event && event.messageId ? [event.messageId] : []))
      this.log?.push({ type: 'turn-resumed', cause, messages })
    }
    const runId = this.turn.id
    for (const message of missing) this.#hear({ type: 'message', message, runId })
    if (replaced) this.#hear({ type: 'history-replaced', messages: replaced, runId })
    return retracted
  }

  #hear(event: AgentEvent): void {
    if (this.#isOut || !this.log) return
    if (event.path) {
      this.log.push(event)
      return
    }
    if (event.type === 'run-start' || event.type === 'run-end') return
    if (event.type !== 'message') {
      this.log.push(event)
      return
    }
    const given = isSaid(event.message) ? this.#given.shift() : undefined
    const seq = this.log.push({ ...event, messageId: given?.messageId ?? crypto.randomUUID() })
    if (given) this.#joined.push({ turn: given.turn, seq })
  }

  /** Stores what waits, with what else comes at the same moment. */
  #soon(): void {
    if (this.#isFlushing) return
    this.#isFlushing = true
    queueMicrotask(() => {
      this.#isFlushing = false
      this.#write({}).catch(() => undefined)
    })
  }

  /** Stores what waits, one batch after another. */
  #write({ isBeat = false, ...extra }: Pick<Progress, 'checkpoint'> & { readonly isBeat?: boolean }): Promise<void> {
    const written = this.#last.then(async () => {
      const { batch, progress, putBack } = this.#take()
      const isEmpty = progress.events.length === 0 && progress.droppedThrough === undefined
      if (isEmpty && !isBeat && !extra.checkpoint) return
      try {
        const decide = (stored: StoredThread) =>
          progressed(stored, this.#owner, { ...progress, ...extra }, this.#shop.claim())
        const orders = await this.#change(decide, { isFleeting: !extra.checkpoint })
        if (batch) this.log?.stored(batch)
        this.#obey(orders)
      } catch (error) {
        putBack()
        throw error
      }
    })
    this.#last = written.catch(() => undefined)
    return isBeat ? written.catch(() => undefined) : written
  }

  #take() {
    const batch = this.log?.take()
    const joined = this.#joined.splice(0)
    const retracted = this.#retracted
    this.#retracted = []
    const putBack = () => {
      if (batch) this.log?.putBack(batch)
      this.#joined.unshift(...joined)
      this.#retracted = retracted
    }
    const progress: Progress = { events: [], ...batch, joined, retracted }
    return { batch, progress, putBack }
  }

  #obey({ isStopping, steering }: Orders): void {
    if (isStopping && !this.#isStopping) this.stop()
    this.steer(steering)
  }

  async #end(outcome: Outcome): Promise<Work | undefined> {
    await this.#last
    const { progress } = this.#take()
    const decide = (stored: StoredThread) => ended(stored, this.#owner, outcome, progress, this.#shop.claim())
    const next = await this.#change(decide)
    this.#start.resolve()
    return next
  }

  async #change<Result>(decide: (stored: StoredThread) => Change<Result>, options?: ChangeOptions): Promise<Result> {
    try {
      if (this.#isOut === 'lost') throw new LeaseLostError(this.thread)
      const known = (stored: StoredThread | undefined) => decide(stored ?? newThread(this.thread, '', 0))
      return await this.#shop.store.change(this.thread, known, { turn: this.turn.id, ...options })
    } catch (error) {
      if (error instanceof LeaseLostError) this.#lose()
      throw error
    }
  }

  #lose(): void {
    this.#isOut = 'lost'
    this.#abort.abort()
  }

  /** Where the run keeps its checkpoints: what was told until then is stored with them. */
  get #checkpoints(): CheckpointStore {
    const { checkpoints } = this.#shop.store
    return {
      load: (id) => checkpoints.load(id),
      save: async (id, checkpoint, expected) => {
        try {
          await this.#write({ checkpoint: { id, checkpoint, expected } })
        } catch (error) {
          // The run must not go on.
          throw error instanceof LeaseLostError ? new CheckpointConflictError(id, expected) : error
        }
      },
      delete: (id) => checkpoints.delete(id),
      prune: (options) => checkpoints.prune(options),
    }
  }
}

/** What is looked at of a checkpoint. */
interface SeenCheckpoint {
  readonly messages: readonly Message[]
  readonly sent: readonly UserMessage[]
  readonly interrupts: readonly { readonly id: string }[]
  /** Such a run cannot be closed, and a resume gives its result. */
  readonly hasFinalAnswer: boolean
}

/** Whether a user has said it, and no middleware. */
function isSaid(message: Message): message is UserMessage {
  return message.role === 'user' && message.origin === undefined
}

/** Those that the checkpoint still waits for. */
function answersTo({ answers = {} }: TurnRecord, { interrupts }: SeenCheckpoint): Record<string, Json> {
  const asked = new Set(interrupts.map(({ id }) => id))
  return Object.fromEntries(Object.entries(answers).filter(([id]) => asked.has(id)))
}

function outcomeOf(result: AgentResult): Outcome {
  const { status, usage, checkpointError } = result
  if (status === 'interrupted') {
    if (checkpointError) return { status: 'failed', error: infoOf(checkpointError), usage }
    return { status: 'waiting', interrupts: result.interrupts, settled: result.settled }
  }
  if (status === 'cancelled') return { status: 'stopped', usage }
  const { text, output } = result
  return { status: 'completed', text, usage, ...(output !== undefined && { output: output as Json }) }
}

function infoOf(error: unknown): ErrorInfo & { readonly usage?: Usage } {
  return { name: error instanceof Error ? error.name : 'Error', message: messageOf(error) }
}
