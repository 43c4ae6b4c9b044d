/** An engine that is set up before its first use. */

import type { Engine } from './engine.ts'

/** If `setUp` fails, the next use of the engine calls it again. `retry` repeats a wake whose connection is lost. */
export function preparedEngine(engine: Engine, retry: <Result>(act: () => Promise<Result>) => Promise<Result>): Engine {
  let isReady: Promise<void> | undefined

  async function prepare(): Promise<void> {
    isReady ??= (async () => await engine.setUp?.())()
    try {
      await isReady
    } catch (error) {
      isReady = undefined
      throw error
    }
  }

  return {
    async wake(id, options) {
      await prepare()
      await retry(() => engine.wake(id, options))
    },
    async work(advance, options) {
      await prepare()
      return await engine.work(advance, options)
    },
  }
}
