// A conversation that was stored while a call had no result. Providers refuse it unless it is completed.

import { respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, HistoryError, type Message, textOf } from '@meanwhile/core'
import { patchToolCalls } from '@meanwhile/middleware'

const stored: readonly Message[] = [
  { role: 'user', content: 'What is the weather in Oslo?' },
  {
    role: 'assistant',
    content: [{ type: 'tool-call', id: 'call_1', name: 'weather', input: { city: 'Oslo' } }],
    finishReason: 'tool-calls',
  },
  { role: 'user', content: 'Are you still there?' },
]

const model = () => scriptedModel([respond(say('Yes. I could not look up the weather.'))])

const refused = await createAgent({ model: model() })
  .run(stored)
  .catch((error: unknown) => error)
console.log(refused instanceof HistoryError ? refused.message : refused)

const { messages } = await createAgent({ model: model(), middleware: [patchToolCalls()] }).run(stored)
for (const message of messages) console.log(`${message.role}: ${textOf(message)}`)
