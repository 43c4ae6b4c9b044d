// Requests that providers refuse: a mock answers with their words, and the test fails; a script may expect it.

import { respond, say } from '@meanwhile/assemble/testing'
import { mockModels, refused } from '@meanwhile/harness'
import { refusals } from '@meanwhile/harness/rules'
import OpenAI from 'openai'

const mock = mockModels({ script: [refused('chat/temperature-range'), respond(say('Hello'))] })
const client = new OpenAI({ apiKey: 'none', fetch: mock.fetch })

async function ask(temperature: number): Promise<string | null> {
  const messages = [{ role: 'user' as const, content: 'Hello' }]
  return await client.chat.completions.stream({ model: 'gpt-4.1', messages, temperature }).finalContent()
}

console.log(await ask(3).catch(String)) // Error: 400 Invalid 'temperature': decimal above maximum value. …
console.log(await ask(1)) // Hello
mock.assertComplete()

// Without a mock: the same check of any request.
const hello = [{ role: 'user', content: 'Hello' }]
const thought = [{ type: 'thinking', thinking: 'A greeting.', signature: 'EqQB' }]
const body = {
  model: 'claude-sonnet-4-5',
  max_tokens: 1024,
  messages: [...hello, { role: 'assistant', content: thought }, ...hello],
}
for (const { rule, message } of refusals('anthropic', body)) console.log(rule, message)
// messages/thinking-last-block messages.1: The final block in an assistant message cannot be `thinking`.
