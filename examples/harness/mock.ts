// A mocked endpoint, called by the official client: it first answers with a busy status, and records every write.

import { call, fail, respond, say } from '@meanwhile/assemble/testing'
import { mockModels } from '@meanwhile/harness'
import OpenAI from 'openai'

const mock = mockModels({
  script: [
    respond(say('Let me look.'), call('weather', { city: 'Zürich' })),
    respond(fail({ status: 429, code: 'rate_limit_exceeded', retryAfter: 50 })), // milliseconds
    respond(say('Sunny.')),
  ],
  pace: { firstToken: 100, betweenTokens: 20 },
})

// The code under test. The client repeats the 429 by itself: with `maxRetries: 0` it would throw.
const client = new OpenAI({ apiKey: 'none', fetch: mock.fetch })
for (const content of ['How is the weather?', 'And now?']) {
  const messages = [{ role: 'user' as const, content }]
  const stream = await client.chat.completions.create({ model: 'any', messages, stream: true })
  for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? '')
  process.stdout.write('\n')
}

console.log(mock.requests.length) // 3: method, URL, headers without secrets, parsed body of each
console.log(mock.responses[0]?.writes.length) // every write: when it was due, and when it was sent
mock.assertComplete() // throws if there were unexpected requests, or unused responses
