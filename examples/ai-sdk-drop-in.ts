// The AI SDK's own loop, once unchanged and once with eager(). `weather` is declared `read`, so it starts while the model still
// streams; `book` is not declared, so the AI SDK starts it as usual. No key: an endpoint of the harness answers.

import { setTimeout as wait } from 'node:timers/promises'
import { createOpenAI } from '@ai-sdk/openai'
import { call, respond, say } from '@meanwhile/assemble/testing'
import { eager } from '@meanwhile/eager-tools/ai-sdk'
import { mockModels } from '@meanwhile/harness'
import { isStepCount, streamText, tool } from 'ai'
import { z } from 'zod'

let start = 0
const log = (what: string) => console.log(`${(performance.now() - start).toFixed(0).padStart(5)} ms  ${what}`)

const weather = tool({
  description: 'The weather in a city.',
  inputSchema: z.object({ city: z.string() }),
  async execute({ city }, { abortSignal }) {
    log(`weather in ${city} starts`)
    await wait(600, undefined, { signal: abortSignal })
    return `Sunny in ${city}.`
  },
})

const book = tool({
  description: 'Books a train.',
  inputSchema: z.object({ to: z.string() }),
  execute({ to }) {
    log(`book a train to ${to} starts`)
    return 'Booked.'
  },
})

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
  const model = createOpenAI({ apiKey: 'none', fetch }).chat('scripted-1')
  const options = { model, tools: { weather, book }, stopWhen: isStepCount(5), prompt: 'Send me to Oslo.' }

  console.log(isEager ? '\nwith eager()' : 'unchanged')
  start = performance.now()
  const result = streamText(isEager ? eager(options, { weather: 'read' }) : options)
  for await (const part of result.fullStream) {
    if (part.type === 'text-end') log('the model has finished streaming')
    if (part.type === 'tool-result') log(`the AI SDK has the result of ${part.toolName}`)
  }
  log(await result.text)
}
