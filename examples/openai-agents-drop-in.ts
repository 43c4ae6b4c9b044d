// A run of the OpenAI Agents SDK, once unchanged and once with eager(). `weather` is declared `read`, so it starts while the model
// still streams; `book` is not declared, so the SDK starts it as usual. No key: an endpoint of the harness answers.

import { setTimeout as wait } from 'node:timers/promises'
import { call, respond, say } from '@meanwhile/assemble/testing'
import { eager } from '@meanwhile/eager-tools/openai-agents'
import { mockModels } from '@meanwhile/harness'
import { Agent, OpenAIProvider, Runner, tool } from '@openai/agents'
import OpenAI from 'openai'
import { z } from 'zod'

let start = 0
const log = (what: string) => console.log(`${(performance.now() - start).toFixed(0).padStart(5)} ms  ${what}`)

const weather = tool({
  name: 'weather',
  description: 'The weather in a city.',
  parameters: z.object({ city: z.string() }),
  async execute({ city }, _context, details) {
    log(`weather in ${city} starts`)
    await wait(600, undefined, { signal: details?.signal })
    return `Sunny in ${city}.`
  },
})

const book = tool({
  name: 'book',
  description: 'Books a train.',
  parameters: z.object({ to: z.string() }),
  async execute({ to }) {
    log(`book a train to ${to} starts`)
    return 'Booked.'
  },
})

const agent = new Agent({ name: 'Travel', model: 'scripted-1', tools: [weather, book] })

const script = [
  respond(
    call('weather', { city: 'Oslo' }),
    call('book', { to: 'Oslo' }),
    say('I am looking up the weather in Oslo, and I am booking a seat on the train for you.'),
  ),
  respond(say('It is sunny in Oslo, and your train is booked.')),
]

for (const isEager of [false, true]) {
  const { fetch } = mockModels({ script, pace: { firstToken: 200, betweenTokens: 40 } })
  const modelProvider = new OpenAIProvider({ openAIClient: new OpenAI({ apiKey: 'none', fetch }) })
  const runner = new Runner({ modelProvider, tracingDisabled: true })

  console.log(isEager ? '\nwith eager()' : 'unchanged')
  start = performance.now()
  const used = isEager ? eager(runner, { weather: 'read' }) : runner
  const result = await used.run(agent, 'Send me to Oslo.', { stream: true })
  for await (const event of result) {
    if (event.type === 'raw_model_stream_event' && event.data.type === 'response_done') log('the response has ended')
    if (event.type === 'run_item_stream_event' && event.name === 'tool_output') log('the SDK has a result')
  }
  log(String(result.finalOutput))
}
