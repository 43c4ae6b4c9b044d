// A tool that only calls other tools starts as early as a tool that only reads, with `effect: 'calls'`. Here it queries three shops at once
// while the model still streams. Its order, an external effect, waits until the response has ended.

import { setTimeout as wait } from 'node:timers/promises'
import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { z } from 'zod'

const PRICES = new Map([
  ['Harbour', 30],
  ['Mill', 20],
  ['Market', 25],
])
const shopping = z.object({ shop: z.string(), product: z.string() })
const starts: { readonly what: string; readonly at: number }[] = []

const price = tool({
  name: 'price',
  description: 'The price of a product in a shop.',
  input: shopping,
  effect: 'read',
  execute({ shop }, { signal }) {
    starts.push({ what: `price in ${shop}`, at: performance.now() })
    return wait(300, PRICES.get(shop), { signal })
  },
})

const order = tool({
  name: 'order',
  description: 'Orders a product in a shop.',
  input: shopping,
  effect: 'external',
  execute({ shop, product }) {
    starts.push({ what: `order in ${shop}`, at: performance.now() })
    return `a ${product} from the ${shop} shop`
  },
})

const buy = tool({
  name: 'buy_cheapest',
  description: 'Orders a product where it is cheapest.',
  input: z.object({ product: z.string() }),
  effect: 'calls',
  async execute({ product }, { run, callId }) {
    const ask = async (name: string, shop: string) => {
      const id = `${callId}/${name}/${shop}` // the same ids each time, so that a resumed run finds the calls of the first one
      return (await run?.callTool({ type: 'tool-call', id, name, input: { shop, product } }))?.output
    }
    const offers = await Promise.all(
      [...PRICES.keys()].map(async (shop) => ({ shop, price: Number(await ask('price', shop)) })),
    )
    const [cheapest] = offers.toSorted((a, b) => a.price - b.price)
    return cheapest && ask('order', cheapest.shop)
  },
})

const script = [
  respond(
    call('buy_cheapest', { product: 'lamp' }),
    say('I look at what the shops ask for it, and order the cheapest.'),
  ),
  respond(say('Your lamp is ordered.')),
]
const model = scriptedModel(script, { pace: { firstToken: 200, betweenTokens: 50 } })
const agent = createAgent({ model, tools: [buy, price, order], middleware: [eagerTools()] })

let end = 0
for await (const event of agent.stream('I need a lamp.')) {
  if (event.type === 'tool-committed') end ||= performance.now() // of the first call, which makes the others
  if (event.type === 'tool-end') console.log(`${event.message.name}: ${String(event.message.output)}`)
}
console.log('\nrelative to the end of the response')
for (const { what, at } of starts) console.log(`${(at - end).toFixed(0).padStart(6)} ms  ${what} starts`)
