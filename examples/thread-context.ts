// The context of a thread's run: passed with the message, and made again in a process that does not have it.

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { approve } from '@meanwhile/middleware'
import { createThreads, memoryThreads } from '@meanwhile/threads'
import { z } from 'zod'

const pay = tool({
  name: 'pay',
  description: 'Pays a bill.',
  input: z.object({ bill: z.string() }),
  context: z.object({ tenant: z.string() }),
  execute: ({ bill }, { context }) => {
    console.log(`  ${context.tenant} pays ${bill}`)
    return 'Paid.'
  },
})

const tenants = new Map([['ada', 'acme']])
const tenantOf = async (userId: string) => tenants.get(userId) ?? 'nobody'

const store = memoryThreads()
const model = scriptedModel([respond(call('pay', { bill: 'bill-1' })), respond(say('Done.'))])
const agent = createAgent({ model, tools: [pay], middleware: [approve({ tools: ['pay'] })] })

/** The code that a server runs at start. */
function start() {
  const threads = createThreads({
    agent,
    store,
    context: async ({ metadata }) => {
      const { userId } = z.object({ userId: z.string() }).parse(metadata)
      return { tenant: await tenantOf(userId) }
    },
  })
  return threads
}

const threads = start()
const context = { tenant: await tenantOf('ada') }
const turn = await threads.send('thread-7', 'Pay my bill.', { context, metadata: { userId: 'ada' } })
const { interrupts = [] } = await turn.result
await threads.close()

const restarted = start()
await restarted.answer('thread-7', { [interrupts[0]?.id ?? '']: { decision: 'allow' } }) // acme pays bill-1
const paid = await restarted.turn('thread-7')
console.log((await paid?.result)?.text) // Done.
