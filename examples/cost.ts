// What a run costs: its tokens times the prices of your provider. No price is built in.

import { end, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, type Usage } from '@meanwhile/core'

/** Dollars per million tokens. These are examples: use those of your provider. */
const price = { input: 1.25, cacheRead: 0.125, cacheWrite: 1.25, output: 10 }

function dollars({ inputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0, outputTokens = 0 }: Usage): number {
  const fullPrice = inputTokens - cacheReadTokens - cacheWriteTokens // both are included in inputTokens
  const cached = cacheReadTokens * price.cacheRead + cacheWriteTokens * price.cacheWrite
  return (fullPrice * price.input + cached + outputTokens * price.output) / 1e6
}

// A scripted model reports the usage of its script. A real model reports that of its provider.
const usage = { inputTokens: 12_000, cacheReadTokens: 8_000, outputTokens: 400, reasoningTokens: 150 }
const agent = createAgent({ model: scriptedModel([respond(say('Sunny.'), end({ usage }))]) })

const result = await agent.run('How is the weather?')
console.log(result.usage)
console.log(`${dollars(result.usage)} dollars`) // 0.01 dollars
