// Half a minute that takes no time: the clock advances only when you move it.

import { setImmediate } from 'node:timers/promises'
import { respond, say } from '@meanwhile/assemble/testing'
import { mockModels, virtualClock } from '@meanwhile/harness'
import OpenAI from 'openai'

const clock = virtualClock()
const script = [respond(say('This takes half a minute.'))]
const mock = mockModels({ script, pace: { firstToken: 10_000, betweenTokens: 5_000 }, clock })

const client = new OpenAI({ apiKey: 'none', fetch: mock.fetch })
const answer = client.chat.completions.stream({ model: 'any', messages: [{ role: 'user', content: 'Hello' }] })
while (mock.requests.length === 0) await setImmediate() // before its first request the client loads modules
await clock.advance(30_000) // takes no time: the same events, in the same order
console.log(await answer.finalContent()) // your tools may `clock.sleep(250)` too
