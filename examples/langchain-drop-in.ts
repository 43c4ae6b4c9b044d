// A LangChain agent, once unchanged and once with eager(). `weather` is declared `read`, so it starts while the model still
// streams; `book` is not declared, so LangChain starts it as usual. No key: an endpoint of the harness answers.

import { setTimeout as wait } from 'node:timers/promises'
import { ChatOpenAI } from '@langchain/openai'
import { call, respond, say } from '@meanwhile/assemble/testing'
import { eager } from '@meanwhile/eager-tools/langchain'
import { mockModels } from '@meanwhile/harness'
import { createAgent, tool } from 'langchain'
import { z } from 'zod'

let start = 0
const log = (what: string) => console.log(`${(performance.now() - start).toFixed(0).padStart(5)} ms  ${what}`)

const weather = tool(
  async ({ city }, { signal }) => {
    log(`weather in ${city} starts`)
    await wait(600, undefined, { signal })
    return `Sunny in ${city}.`
  },
  { name: 'weather', description: 'The weather in a city.', schema: z.object({ city: z.string() }) },
)

const book = tool(
  ({ to }) => {
    log(`book a train to ${to} starts`)
    return 'Booked.'
  },
  { name: 'book', description: 'Books a train.', schema: z.object({ to: z.string() }) },
)

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
  const model = new ChatOpenAI({ apiKey: 'none', model: 'scripted-1', configuration: { fetch } })
  const options = { model, tools: [weather, book] }

  console.log(isEager ? '\nwith eager()' : 'unchanged')
  start = performance.now()
  const agent = createAgent(isEager ? eager(options, { weather: 'read' }) : options)
  const input = { messages: [{ role: 'user', content: 'Send me to Oslo.' }] }
  let answer = ''
  for await (const [mode, chunk] of await agent.stream(input, { streamMode: ['messages', 'updates'] })) {
    if (mode !== 'updates') continue
    if (chunk.model_request) log('the response has ended')
    if (chunk.tools) log('LangChain has the results')
    answer = chunk.model_request?.messages?.at(-1)?.text ?? answer
  }
  log(answer)
}
