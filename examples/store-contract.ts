// What every checkpoint store must do, run against one of your own: here, the one in memory.

import { test } from 'node:test'
import { memoryStore } from '@meanwhile/core'
import { storeContract } from '@meanwhile/core/testing'

for (const { name, run } of storeContract(() => ({ store: memoryStore() }))) await test(name, run)
