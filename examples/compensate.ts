// A tool with an undo function, in the AI SDK's own loop. Its call starts early, the response breaks off, and `compensate` undoes the call.
// No key: an endpoint of the harness answers.

import { createOpenAI } from '@ai-sdk/openai'
import { call, respond, say } from '@meanwhile/assemble/testing'
import { eager } from '@meanwhile/eager-tools/ai-sdk'
import { mockModels } from '@meanwhile/harness'
import { streamText, tool } from 'ai'
import { z } from 'zod'

const reserved = new Set<number>()

const reserve = tool({
  description: 'Reserves a seat. A reservation can be cancelled.',
  inputSchema: z.object({ seat: z.number() }),
  execute({ seat }) {
    reserved.add(seat)
    console.log(`seat ${seat} is reserved`)
    return { seat, until: '18:00' }
  },
})

const answer = respond(call('reserve', { seat: 12 }), say('I have asked for the seat by the window.'))
const { fetch } = mockModels({
  script: [{ ...answer, fault: { after: { events: 12 }, end: 'reset' } }],
  pace: { firstToken: 100, betweenTokens: 20 },
})
const model = createOpenAI({ apiKey: 'none', fetch }).responses('scripted-1')

const result = streamText(
  eager(
    { model, tools: { reserve }, prompt: 'A seat by the window.' },
    {
      reserve: {
        effect: 'reversible',
        compensate({ seat }) {
          reserved.delete(seat)
          console.log(`seat ${seat} is free again`)
        },
      },
    },
    { onWarning: ({ code, message }) => console.log(code, message) },
  ),
)
await result.consumeStream({ onError: () => console.log('the response has broken off') })
console.log(`reserved: ${reserved.size}`)
