/**
 * Holds the callbacks of an early run until the agent executes the call, and then reports them as those of the tools
 * node. Callbacks of an unused call are never reported.
 */

import { CallbackManager } from '@langchain/core/callbacks/manager'
import type { StartedCall } from '../host/host-tool.ts'
import { setAsked } from './early-config.ts'
import type { NodeConfig } from './library.ts'
import { Recorder, standIns } from './recorder.ts'
import { type Asked, type Early, type Report, ReportedRuns } from './reported-runs.ts'

/** How many callbacks are held. Then the tool waits until the agent executes the call. */
const MOST_HELD = 10_000

/** By the signal of the early call. */
const all = new WeakMap<AbortSignal, HeldCallbacks>()

export class HeldCallbacks {
  /** Overrides the config of the node. */
  readonly config: { readonly callbacks: CallbackManager }
  readonly #signal: AbortSignal
  #early: Early
  #asked: Asked | undefined
  #held: Report[] = []
  #runs: ReportedRuns | undefined
  #stage: 'held' | 'reporting' | 'dropped' = 'held'
  /** Resolves when everything has been reported. Never rejects. */
  #reported: Promise<void> = Promise.resolve()
  /** The first error of a handler through which streams pass. LangChain handles those of all others. */
  #failure: { readonly error: unknown } | undefined
  #waiting: (() => void)[] = []

  private constructor(
    node: NodeConfig,
    handlers: readonly object[],
    { id, signal }: Pick<StartedCall, 'id' | 'signal'>,
  ) {
    this.#signal = signal
    const parent = Array.isArray(node.callbacks) ? undefined : node.callbacks?.getParentRunId()
    this.#early = { id, parent, config: node }
    const manager = new CallbackManager(parent)
    manager.addHandler(new Recorder(handlers, (report) => this.#tell(report)))
    for (const one of standIns(handlers)) manager.addHandler(one)
    this.config = { callbacks: manager }
  }

  /** `node`: the config of the node that calls the model. `undefined`: it has no callbacks. */
  static hold(node: NodeConfig, call: Pick<StartedCall, 'id' | 'signal' | 'used'>): HeldCallbacks | undefined {
    const handlers = (Array.isArray(node.callbacks) ? node.callbacks : node.callbacks?.handlers) ?? []
    if (handlers.length === 0) return undefined
    const held = new HeldCallbacks(node, handlers, call)
    all.set(call.signal, held)
    void call.used.then((isUsed) => {
      if (!isUsed) held.drop()
    })
    return held
  }

  /** The whole config that the early call gets. */
  set early(config: NodeConfig) {
    this.#early = { ...this.#early, config }
  }

  /** The callbacks of the early call whose function has this signal. */
  static of(signal: AbortSignal): HeldCallbacks | undefined {
    return all.get(signal)
  }

  /** The agent executes the call. With `isLive`, callbacks are reported from now on as they come. */
  ask(asked: Asked, isLive: boolean): void {
    this.#runs ??= new ReportedRuns(this.#early, asked)
    this.#asked = asked
    if ((isLive && asked.id === this.#early.id) || this.#held.length >= MOST_HELD) this.#flow()
  }

  /**
   * The agent uses the result. Resolves when all callbacks have been reported, and rejects with the error of a handler
   * that fails a stream.
   */
  async report(): Promise<void> {
    this.#flow()
    await this.#reported
    if (this.#failure) throw this.#failure.error
  }

  /** The agent does not use the call, or executes it itself. */
  drop(): void {
    this.#stage = 'dropped'
    this.#held = []
    for (const resume of this.#waiting.splice(0)) resume()
  }

  #flow(): void {
    if (this.#stage !== 'held') return
    this.#stage = 'reporting'
    // What is reported cannot be taken back, so the call must not decline any more.
    if (this.#asked) setAsked(this.#signal, this.#asked.config)
    for (const report of this.#held.splice(0)) void this.#tell(report)
    for (const resume of this.#waiting.splice(0)) resume()
  }

  #tell(report: Report): Promise<void> | undefined {
    const runs = this.#runs
    if (this.#stage === 'dropped') return undefined
    if (this.#stage === 'held') {
      this.#held.push(report)
      if (this.#held.length < MOST_HELD) return undefined
      if (runs) this.#flow()
      else return new Promise((resolve) => void this.#waiting.push(resolve))
    } else if (runs) this.#add(() => report(runs))
    return this.#reported
  }

  #add(report: () => unknown): void {
    this.#reported = this.#reported.then(async () => {
      try {
        await report()
      } catch (error) {
        this.#failure ??= { error }
      }
    })
  }
}
