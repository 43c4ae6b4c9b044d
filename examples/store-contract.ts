// Tests a checkpoint store against the contract of stores: here the one in memory; use it for your own.

import { test } from 'node:test'
import { memoryStore } from '@meanwhile/core'
import { storeContract } from '@meanwhile/stores/contract'

for (const { name, run } of storeContract(() => ({ store: memoryStore() }))) await test(name, run)
