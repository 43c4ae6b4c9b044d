/** One request at the door: `open` is asked what it may do, before the thread is read, and again if the thread shows that it does more. */

import type { Json } from '@meanwhile/core'
import type { Preview, ThreadRequest, TurnState } from '@meanwhile/threads'
import { AccessError } from './access-error.ts'
import { checkedBy } from './approvals.ts'
import { isContext, isResponse } from './door.ts'
import type { Access, Action, HandlerOptions, SessionOf } from './handler-options.ts'

/** `open` has refused the request with this response. */
export class RefusedRequest extends Error {
  override readonly name = 'RefusedRequest'
  readonly response: Response

  constructor(response: Response) {
    super('open has refused the request')
    this.response = response
  }
}

/** `open` has thrown: the handler throws the cause. */
export class OpenFailed extends Error {
  override readonly name = 'OpenFailed'
}

/** The request would change another turn than the one that `open` was shown. */
export class TurnChangedError extends Error {
  override readonly name = 'TurnChangedError'
}

type DoorOptions<Context> = Pick<HandlerOptions<Context>, 'threads' | 'open' | 'metadata' | 'by'>

/** How often a change is tried while the thread changes. */
const TRIES = 3

const STOP = { type: 'stop' } as const

export class Visit<Context> {
  readonly #options: DoorOptions<Context>
  readonly #request: Request
  readonly #thread: string
  readonly #asked = new Set<Action>()
  /** The ids of the turns that `open` was shown as changing; undefined: it was shown that none does. */
  readonly #shown = new Set<string | undefined>()
  #context: SessionOf<Context> | undefined

  constructor(options: DoorOptions<Context>, request: Request, thread: string) {
    this.#options = options
    this.#request = request
    this.#thread = thread
  }

  /**
   * Asks `open` whether the request may do this, unless it was asked before. `change`: what it would change; undefined for nothing.
   *
   * @throws {RefusedRequest} It may not.
   * @throws {AccessError} `open` returned neither an object nor undefined.
   */
  async ask(action: Action, change: ThreadRequest | undefined): Promise<void> {
    if (this.#asked.has(action)) return
    let turn: Promise<TurnState | undefined> | undefined
    const access = { action, turn: () => (turn ??= this.#show(change)) }
    const returned: unknown = await this.#opened(access)
    if (isResponse(returned)) throw new RefusedRequest(returned)
    if (returned !== undefined && !isContext(returned)) throw new AccessError('open', returned)
    // `open` has returned it, and it is an object.
    this.#context = returned as SessionOf<Context> | undefined
    this.#asked.add(action)
  }

  /** Asks `open` whether the request may do this, instead of what `open` was asked before: it does not do that. Throws as {@link ask}. */
  async askInstead(action: Action, change: ThreadRequest): Promise<void> {
    this.#shown.clear()
    this.#asked.delete(action)
    await this.ask(action, change)
  }

  async #opened(access: Access): Promise<unknown> {
    try {
      return await this.#options.open(this.#request, this.#thread, access)
    } catch (cause) {
      throw new OpenFailed('open has thrown', { cause })
    }
  }

  async #show(change: ThreadRequest | undefined): Promise<TurnState | undefined> {
    if (!change) return undefined
    const { turn } = await this.#options.threads.preview(this.#thread, change)
    this.#shown.add(turn?.id)
    return turn
  }

  /**
   * Makes a change of the thread. `open` is asked first if the thread shows that it is more than `action`: that the message enters a turn or stops one.
   *
   * @throws {TurnChangedError} It would change another turn than `open` was shown.
   * @throws {ThreadChangedError} The thread does not stop changing.
   */
  async make<Result>(
    action: Action,
    change: ThreadRequest,
    commit: (expected: Preview) => Promise<Result>,
  ): Promise<Result> {
    for (let tries = 1; ; tries++) {
      const preview = await this.#options.threads.preview(this.#thread, change)
      this.checkTurn(preview.turn?.id)
      await this.ask(actionOf(preview, action), change)
      this.checkTurn(preview.turn?.id)
      try {
        const result = await commit(preview)
        // What `open` was shown is done with: the next change of this request finds the thread without it.
        this.#shown.delete(preview.turn?.id)
        return result
      } catch (error) {
        if (!(error instanceof Error && error.name === 'ThreadChangedError') || tries === TRIES) throw error
      }
    }
  }

  /** Stops the turn. The signal aborts the wait for its end. `queue`: what happens to the queued messages. */
  async stop(signal: AbortSignal, queue: 'keep' | 'drop' = 'keep'): Promise<void> {
    await this.ask('stop', STOP)
    await this.make('stop', STOP, (expected) => this.#options.threads.stop(this.#thread, { queue, signal, expected }))
  }

  /** Takes a message out of the queue. */
  async drop(messageId: string): Promise<void> {
    const change = { type: 'drop', messageId } as const
    await this.ask('drop', change)
    await this.make('drop', change, (expected) => this.#options.threads.drop(this.#thread, messageId, { expected }))
  }

  /** @throws {TurnChangedError} `open` was shown another turn. */
  checkTurn(turn: string | undefined): void {
    for (const shown of this.#shown) if (shown !== turn) throw new TurnChangedError('the turn has changed')
  }

  /** The options of a call that begins a turn. */
  async sending(): Promise<{ readonly metadata?: Json; readonly context?: Context }> {
    const { metadata } = this.#options
    return metadata ? { metadata: await metadata(this.#context, this.#request) } : this.continuing
  }

  /** The options of a call that continues a turn: with `metadata` it keeps the rights of its sender. */
  get continuing(): { readonly context?: Context } {
    const { threads, metadata } = this.#options
    if (metadata || !threads.acceptsContext || this.#context === undefined) return {}
    // Threads that accept a context have one type of it.
    return { context: this.#context as Context }
  }

  /** Returns who answers. */
  async signature(): Promise<string | undefined> {
    return checkedBy(await this.#options.by?.(this.#context))
  }
}

/** What a change is in the words of `open`. */
function actionOf({ action }: Preview, requested: Action): Action {
  return action === 'steer' || action === 'stop' ? action : requested
}
