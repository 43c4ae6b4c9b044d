/** An engine within one process, for tests: its wakes are lost when the process ends. */

import type { Advance, Engine, EngineWorker, WakeOptions } from '../engine.ts'

interface Wake {
  readonly id: string
  readonly priority: number
}

interface Worker {
  readonly advance: Advance
  readonly concurrency: number
  readonly calls: Set<Promise<void>>
  isStopping: boolean
}

/** The options of `memoryEngine`. */
export interface MemoryEngineOptions {
  /** Milliseconds before a rejected call is made again. Default 10. */
  readonly retryDelay?: number
}

/** Returns an engine in the memory of this process, for tests. */
export function memoryEngine({ retryDelay = 10 }: MemoryEngineOptions = {}): Engine {
  /** In order of arrival. At most one per run, in addition to the running one. */
  const waiting = new Map<string, Wake>()
  const running = new Set<string>()
  const workers = new Set<Worker>()

  function enqueue(wake: Wake): void {
    if (!waiting.has(wake.id)) waiting.set(wake.id, wake)
    dispatch()
  }

  function enqueueAfter(wake: Wake, delay: number): void {
    if (delay > 0) setTimeout(() => enqueue(wake), delay)
    else enqueue(wake)
  }

  function dispatch(): void {
    for (const worker of workers) {
      while (!worker.isStopping && worker.calls.size < worker.concurrency) {
        const next = [...waiting.values()]
          .filter(({ id }) => !running.has(id))
          .sort((a, b) => b.priority - a.priority)[0]
        if (!next) return
        waiting.delete(next.id)
        startCall(worker, next)
      }
    }
  }

  function startCall(worker: Worker, wake: Wake): void {
    running.add(wake.id)
    const call = callOnce(worker, wake).finally(() => {
      worker.calls.delete(call)
      running.delete(wake.id)
      dispatch()
    })
    worker.calls.add(call)
  }

  async function callOnce({ advance }: Worker, wake: Wake): Promise<void> {
    try {
      // In its own turn of the event loop, whichever code woke the run.
      await Promise.resolve()
      await advance(wake.id, { signal: new AbortController().signal })
    } catch {
      enqueueAfter(wake, retryDelay)
    }
  }

  return {
    async wake(id: string, { priority = 0, delay = 0 }: WakeOptions = {}) {
      enqueueAfter({ id, priority }, delay)
    },
    async work(advance: Advance, { concurrency }): Promise<EngineWorker> {
      const worker: Worker = { advance, concurrency, calls: new Set(), isStopping: false }
      workers.add(worker)
      dispatch()
      return {
        async stop() {
          worker.isStopping = true
          workers.delete(worker)
          await Promise.all(worker.calls)
        },
      }
    },
  }
}
