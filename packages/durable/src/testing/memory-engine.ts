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

export interface MemoryEngineOptions {
  /** Milliseconds before a rejected call is made again. Default 10. */
  readonly retryDelay?: number
}

export function memoryEngine({ retryDelay = 10 }: MemoryEngineOptions = {}): Engine {
  /** In order of arrival. At most one per run, in addition to the running one. */
  const waiting = new Map<string, Wake>()
  const atWork = new Set<string>()
  const workers = new Set<Worker>()

  function put(wake: Wake): void {
    if (!waiting.has(wake.id)) waiting.set(wake.id, wake)
    takeAll()
  }

  function later(wake: Wake, delay: number): void {
    if (delay > 0) setTimeout(() => put(wake), delay)
    else put(wake)
  }

  function takeAll(): void {
    for (const worker of workers) {
      while (!worker.isStopping && worker.calls.size < worker.concurrency) {
        const next = [...waiting.values()]
          .filter(({ id }) => !atWork.has(id))
          .sort((a, b) => b.priority - a.priority)[0]
        if (!next) return
        waiting.delete(next.id)
        take(worker, next)
      }
    }
  }

  function take(worker: Worker, wake: Wake): void {
    atWork.add(wake.id)
    const call = made(worker, wake).finally(() => {
      worker.calls.delete(call)
      atWork.delete(wake.id)
      takeAll()
    })
    worker.calls.add(call)
  }

  async function made({ advance }: Worker, wake: Wake): Promise<void> {
    try {
      // In its own turn of the event loop, whichever code woke the run.
      await Promise.resolve()
      await advance(wake.id, { signal: new AbortController().signal })
    } catch {
      later(wake, retryDelay)
    }
  }

  return {
    async wake(id: string, { priority = 0, delay = 0 }: WakeOptions = {}) {
      later({ id, priority }, delay)
    },
    async work(advance: Advance, { concurrency }): Promise<EngineWorker> {
      const worker: Worker = { advance, concurrency, calls: new Set(), isStopping: false }
      workers.add(worker)
      takeAll()
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
