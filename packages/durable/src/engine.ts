/** Decides which worker advances a run, and when. An engine knows only the ids of runs. */

export interface Engine {
  /**
   * After this has resolved, a worker is called with the id at least once. Several wakes that no worker has taken yet may become one
   * call. A call that was already running does not count for the wake.
   */
  wake(id: string, options?: WakeOptions): Promise<void>
  /**
   * Starts to take wakes in this process, at most `concurrency` at a time. Calls with the same id normally run one after another; two calls
   * that overlap are harmless. If a call rejects, or its process dies, the engine makes the call again, in any worker.
   */
  work(advance: Advance, options: { readonly concurrency: number }): Promise<EngineWorker>
  /** Creates what the engine needs and does not exist yet. Called before the first wake and before a worker starts. */
  setUp?(): Promise<void>
}

/** When an engine wakes a run. */
export interface WakeOptions {
  /** Wakes with a greater priority are taken first. Default 0. */
  readonly priority?: number
  /** Milliseconds before a worker may take it. Default 0. */
  readonly delay?: number
}

/** Advances the run to its next stop. Returns nothing: the outcome is in the run's checkpoint. */
export type Advance = (id: string, call: EngineCall) => Promise<void>

/** What an engine passes with each call of a worker. */
export interface EngineCall {
  /** Aborted when the engine gives the call to another worker, if it notices that. */
  readonly signal: AbortSignal
}

/** A running worker of an engine. */
export interface EngineWorker {
  /** Takes no more wakes, and resolves when the running calls have settled. */
  stop(): Promise<void>
}
