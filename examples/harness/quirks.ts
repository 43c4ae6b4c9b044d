// Streams that real providers sent and that clients read wrongly, read by the official client.

import { mockModels } from '@meanwhile/harness'
import { quirkResponse, quirks } from '@meanwhile/harness/quirks'
import OpenAI from 'openai'

// Streams that stall never end, and this client has no time limit.
for (const quirk of quirks.filter(({ wire, ending }) => wire === 'openai-chat' && ending?.end !== 'stall')) {
  const mock = mockModels({ script: [quirkResponse(quirk, { slice: { random: 7 } })] })
  const client = new OpenAI({ apiKey: 'none', fetch: mock.fetch, maxRetries: 0 })
  let text = ''
  try {
    const messages = [{ role: 'user' as const, content: 'Hello' }]
    const stream = await client.chat.completions.create({ model: 'any', messages, stream: true })
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
  } catch (error) {
    console.log(error instanceof Error ? error.message : error)
  }
  // Only the text is compared here; `expected` also has the reasoning, calls and finish reason, or the error.
  console.log(`${text === (quirk.expected.text ?? '') ? 'right' : 'wrong'}  q${quirk.id} ${quirk.title}`)
}
