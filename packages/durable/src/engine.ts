/** What an engine does: it decides which worker advances a run, and when. Of runs it knows nothing but their ids. */

export interface Engine {
  /**
   * After this has resolved, some worker is called with the id at least once. Several wakes that no worker has taken yet may become one
   * call. A wake is never taken to be done by a call that was at work before.
   */
  wake(id: string, options?: WakeOptions): Promise<void>
  /**
   * Begins to take wakes in this process, at most `concurrency` at a time. As a rule calls of one id come one after another; if two overlap,
   * no harm is done. If a call rejects, or its process ends, the engine makes it again, in any worker.
   */
  work(advance: Advance, options: { readonly concurrency: number }): Promise<EngineWorker>
  /** Makes what the engine needs where it is missing. It is called before the first wake and before work begins. */
  setUp?(): Promise<void>
}

export interface WakeOptions {
  /** A greater one is taken first. Default 0. */
  readonly priority?: number
  /** Milliseconds before a worker may take it. Default 0. */
  readonly delay?: number
}

/** Brings the run to its next stop. Its result is nothing: what became of the run is in its checkpoint. */
export type Advance = (id: string, call: EngineCall) => Promise<void>

export interface EngineCall {
  /** Aborted when the engine gives the call to another worker, if it can tell. */
  readonly signal: AbortSignal
}

export interface EngineWorker {
  /** Takes nothing more, and resolves when the calls at work have settled. */
  stop(): Promise<void>
}
