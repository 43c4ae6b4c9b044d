// Tests the in-memory engine against the contract of engines for durable runs: your own engine must meet it, too.

import { engineContract, memoryEngine } from '@meanwhile/durable/testing'

for (const { name, run } of engineContract(() => ({ engine: memoryEngine() })))
  await run().then(() => console.log(name))
