// A scripted response may state what its request must contain; another request gets a status 500 that shows the difference.

import { respond, say } from '@meanwhile/assemble/testing'
import { mockModels } from '@meanwhile/harness'

const sunny = respond(say('Sunny.'))
const expect = { body: { model: /^gpt/, messages: [{}, {}, { role: 'tool', content: 'sunny' }] } }
const mock = mockModels({ script: [{ ...sunny, expect }] })

const call = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } }
const messages = [
  { role: 'user', content: 'Hello' },
  { role: 'assistant', tool_calls: [call] },
  { role: 'tool', tool_call_id: 'call_1', content: 'rainy' },
]
const body = JSON.stringify({ model: 'gpt-5.1', stream: true, messages })
const response = await mock.fetch('http://localhost/v1/chat/completions', { method: 'POST', body })
console.log(response.status, await response.text()) // 500, and in it:
// … is not what response 1 of the script (say) expects: body.messages[2].content: expected "sunny", got "rainy"
