import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, onTestFinished } from 'vitest'
import { askedBehaviours } from '../test/asked-behaviours.ts'
import { createThreads, memoryThreads, type Threads } from './index.ts'
import { sqliteThreads } from './sqlite.ts'

const scratch = await mkdtemp(join(tmpdir(), 'meanwhile-threads-'))

describe.each(['memory', 'sqlite'])('%s', (kind) => {
  let files = 0
  askedBehaviours({
    newStore() {
      if (kind === 'memory') return memoryThreads()
      const folder = join(scratch, String(++files))
      const store = sqliteThreads(`${folder}.db`)
      onTestFinished(async () => {
        store.close()
        await rm(`${folder}.db`, { force: true })
      })
      return store
    },
    opened: (store, agent) => createThreads({ agent, store }) as Threads<never>,
  })
})
