// One agent for many tenants. Each run gets its context, and each tool receives only the part that its schema names.

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { agentTool, contextOf, createAgent, type Middleware, tool } from '@meanwhile/core'
import { z } from 'zod'

interface Db {
  orders(tenant: string, status: string): readonly string[]
}
const db: Db = { orders: (tenant, status) => [`${tenant}-17 (${status})`, `${tenant}-23 (${status})`] }

const orders = tool({
  name: 'orders',
  description: 'Lists the orders that have this status.',
  input: z.object({ status: z.string() }),
  effect: 'read',
  context: z.object({ tenant: z.string(), db: z.custom<Db>((db) => db !== undefined) }),
  execute: ({ status }, { context }) => context.db.orders(context.tenant, status),
})

const tenancy = contextOf(z.object({ tenant: z.string() }))

const audit: Middleware = {
  name: 'audit',
  context: tenancy,
  afterModel: (_, run) => console.log(`a model call for ${tenancy(run).tenant}`),
}

const agent = createAgent({
  model: scriptedModel([
    respond(call('orders', { status: 'open' })),
    respond(say('Two: acme-17 and acme-23.')),
    respond(say('There are none.')),
  ]),
  tools: [orders],
  middleware: [audit],
  instructions: (run) => `You work for ${tenancy(run).tenant}.`,
  telemetry: { attributes: (run) => ({ 'app.tenant': tenancy(run).tenant }) },
})

const { text } = await agent.run('Which orders are open?', { context: { tenant: 'acme', db } })
console.log(text) // Two: acme-17 and acme-23.

// A context that does not match is refused before the model is called. The types know only what the program itself has made.
const session = JSON.parse('{ "user": "ada" }')
await agent
  .run('Which orders are open?', { context: { ...session, db } })
  .catch((error: Error) => console.log(error.message))

// Another agent for one request: everything else is unchanged.
const brief = agent.with({ settings: { maxTokens: 100 }, tools: [] })
console.log((await brief.run('Which orders are open?', { context: { tenant: 'beta', db } })).text) // There are none.

// A sub-agent gets the same context, or one derived from it.
const clerk = agentTool(agent, {
  name: 'clerk',
  description: 'Knows the orders.',
  context: (outer) => ({ ...z.object({ user: z.object({ tenant: z.string() }) }).parse(outer).user, db }),
  history: true,
})
const office = createAgent({
  model: scriptedModel([respond(say('I shall ask.'))]),
  tools: [clerk],
})
console.log((await office.run('Any orders?', { context: { user: { tenant: 'acme' } } })).text) // I shall ask.
