// A connection that breaks, raw bytes, and an answer that is not a stream.

import { respond, say } from '@meanwhile/assemble/testing'
import { mockModels, rawResponse } from '@meanwhile/harness'

const mock = mockModels({
  script: [
    { ...respond(say('Half an answer')), fault: { after: { events: 3 }, end: 'reset' } },
    rawResponse([{ event: { type: 'ping' } }, { after: 100, bytes: 'data: {"cut' }, { end: 'fin' }]),
    rawResponse([{ bytes: '<h1>Bad Gateway</h1>' }], { status: 502, headers: { 'content-type': 'text/html' } }),
  ],
})

const body = JSON.stringify({ model: 'any', stream: true, messages: [{ role: 'user', content: 'Hello' }] })
for (let request = 1; request <= 3; request++) {
  const response = await mock.fetch('http://localhost/v1/chat/completions', { method: 'POST', body })
  console.log(response.status, await response.text().catch((error: Error) => error.message))
}
