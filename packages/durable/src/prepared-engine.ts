/** An engine that is set up before its first use. */

import type { Database } from './database.ts'
import type { Engine } from './engine.ts'

/** If `setUp` fails, the next use of the engine calls it again. A wake whose connection is lost is repeated. */
export function preparedEngine(engine: Engine, database: Pick<Database, 'retry' | 'withNamedErrors'>): Engine {
  let isReady: Promise<void> | undefined

  async function prepare(): Promise<void> {
    isReady ??= database.withNamedErrors(async () => await engine.setUp?.())
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
      await database.retry(() => database.withNamedErrors(() => engine.wake(id, options)))
    },
    async work(advance, options) {
      await prepare()
      return await engine.work(advance, options)
    },
  }
}
