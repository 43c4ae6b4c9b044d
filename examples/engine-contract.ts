// The contract of an engine for durable runs, tried on the one in memory: an engine of your own must pass it, too.

import { engineContract, memoryEngine } from '@meanwhile/durable/testing'

for (const { name, run } of engineContract(() => ({ engine: memoryEngine() })))
  await run().then(() => console.log(name))
