// A tool with an undo function, in an agent. Its call starts early, the response breaks off, and `compensate` undoes the call.

import { call, cut, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { z } from 'zod'

const reserved = new Set<number>()

const reserve = tool({
  name: 'reserve',
  description: 'Reserves a seat. A reservation can be cancelled.',
  input: z.object({ seat: z.number() }),
  effect: 'reversible',
  execute({ seat }) {
    reserved.add(seat)
    console.log(`seat ${seat} is reserved`)
    return { seat, until: '18:00' }
  },
  compensate({ seat }) {
    reserved.delete(seat)
    console.log(`seat ${seat} is free again`)
  },
})

const model = scriptedModel([respond(call('reserve', { seat: 12 }), say('I have reserved the seat'), cut())], {
  pace: { firstToken: 100, betweenTokens: 20 },
})
const agent = createAgent({ model, tools: [reserve], middleware: [eagerTools()] })
await agent.run('A seat by the window.').catch((error: Error) => console.log(`the run has failed: ${error.message}`))
console.log(`reserved: ${reserved.size}`)
