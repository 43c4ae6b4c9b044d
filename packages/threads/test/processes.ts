/** Simulates processes that share a store, inside one process. Each can be killed at any moment. */

import type { ThreadStore } from '../src/index.ts'

export interface Process {
  readonly store: ThreadStore
  readonly isDead: boolean
  /** From now on, no call of the process reaches the store. `after`: this many writes still do, and the last of them never resolves. */
  kill(after?: number): void
  /** Calls of the store wait until `wake` is called. */
  pause(): void
  wake(): void
}

export function processOf(shared: ThreadStore): Process {
  let dies = Number.POSITIVE_INFINITY
  let awake: Promise<void> | undefined
  let wake = () => {}
  const never = new Promise<never>(() => {})
  const reach = async <Result>(work: () => Promise<Result>, isWrite: boolean): Promise<Result> => {
    await awake
    if (dies <= 0) return await never
    if (isWrite) dies--
    const result = await work()
    return dies <= 0 && isWrite ? await never : result
  }
  const { checkpoints } = shared
  return {
    get isDead() {
      return dies <= 0
    },
    kill(after = 0) {
      dies = Math.min(dies, after)
    },
    pause() {
      awake ??= new Promise((resolve) => {
        wake = resolve
      })
    },
    wake() {
      awake = undefined
      wake()
    },
    store: {
      checkpoints: {
        load: (id) => reach(() => checkpoints.load(id), false),
        save: (...given) => reach(() => checkpoints.save(...given), true),
        delete: (id) => reach(() => checkpoints.delete(id), true),
        prune: (options) => reach(() => checkpoints.prune(options), true),
      },
      load: (...given) => reach(() => shared.load(...given), false),
      change: (...given) => reach(() => shared.change(...given), true),
      events: (...given) => reach(() => shared.events(...given), false),
      turns: (id) => reach(() => shared.turns(id), false),
      list: (options) => reach(() => shared.list(options), false),
      renewLeases: (...given) => reach(() => shared.renewLeases(...given), true),
      due: (...given) => reach(() => shared.due(...given), false),
      ...(shared.now && { now: () => reach(async () => (await shared.now?.()) ?? 0, false) }),
    },
  }
}
