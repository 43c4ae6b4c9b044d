// A wrap that reads each event of a model call and passes it on: it measures the time to the first text, and counts the deltas. With a
// key in the environment it calls the real model; without a key, a mocked endpoint.

import { respond, say } from '@meanwhile/assemble/testing'
import { createAgent, type Middleware, map } from '@meanwhile/core'
import { modelOr } from './shared/model.ts'

const stopwatch: Middleware = {
  name: 'stopwatch',
  async *wrapModel(request, next) {
    const start = performance.now()
    let deltas = 0
    const message = yield* map(next(request), (event) => {
      if (event.type === 'text-delta' && deltas++ === 0) console.log(`${Math.round(performance.now() - start)} ms`)
      return event
    })
    console.log(`${deltas} deltas, finished: ${message.finishReason}`)
    return message
  },
}

const model = modelOr([respond(say('As short as that.'))], { firstToken: 50, betweenTokens: 10 })
console.log((await createAgent({ model, middleware: [stopwatch] }).run('Be short.')).text)
