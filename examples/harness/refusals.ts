// Requests that providers refuse: checked by themselves, without a mock endpoint.

import { refusals } from '@meanwhile/harness/rules'

const messages = [
  { role: 'user', content: 'Hello' },
  { role: 'assistant', content: [{ type: 'thinking', thinking: 'A greeting.', signature: 'EqQB' }] },
  { role: 'user', content: 'And now?' },
]
for (const { rule, path, message } of refusals('anthropic', { model: 'claude-sonnet-4-5', max_tokens: 1024, messages }))
  console.log(rule, path, message)
// messages/thinking-last-block messages.1 messages.1: The final block in an assistant message cannot be `thinking`.
