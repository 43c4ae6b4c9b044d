import { describe } from 'vitest'
import { askedBehaviours } from '../test/asked-behaviours.ts'
import { memoryEngine, tables } from '../test/runs.ts'
import { createThreads, type Threads } from './index.ts'

const database = tables()

describe('durable runs', () => {
  askedBehaviours({
    newStore: database.newStore,
    opened(store, agent) {
      const runs = database.runsOf(agent, memoryEngine())
      database.work(runs)
      return createThreads({ runs, store }) as Threads<never>
    },
  })
})
