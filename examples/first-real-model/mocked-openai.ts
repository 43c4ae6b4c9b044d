/** Without OPENAI_API_KEY: an endpoint that replaces OpenAI's for all requests of the global `fetch`. */

import { call, respond, say } from '@meanwhile/assemble/testing'
import { mockModels } from '@meanwhile/harness'

if (!process.env.OPENAI_API_KEY) {
  process.env.OPENAI_API_KEY = 'none'
  const both = [call('weather', { city: 'Oslo' }), call('weather', { city: 'Rome' })]
  mockModels({ script: [respond(...both), respond(say('It is sunny in both.'))] }).listen()
}
