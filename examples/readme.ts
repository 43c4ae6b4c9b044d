// The lines of the README in a program: the AI SDK's own loop, once with tools that wait and once with early tools. No key: a script plays
// the model.

import { setTimeout as wait } from 'node:timers/promises'
import { createOpenAI } from '@ai-sdk/openai'
import { call, respond, say } from '@meanwhile/assemble/testing'
import { eager } from '@meanwhile/eager-tools/ai-sdk'
import { mockModels } from '@meanwhile/harness'
import { isStepCount, streamText, tool } from 'ai'
import { z } from 'zod'

const weather = tool({
  description: 'The weather in a city.',
  inputSchema: z.object({ city: z.string() }),
  async execute({ city }) {
    await wait(600)
    return `Sunny in ${city}.`
  },
})

const script = [
  respond(
    call('weather', { city: 'Oslo' }),
    say('Let me look that up for you: it may take me a moment, because I ask a station.'),
  ),
  respond(say('It is sunny in Oslo.')),
]

for (const isEarly of [false, true]) {
  const { fetch } = mockModels({ script, pace: { firstToken: 200, betweenTokens: 40 } })
  const model = createOpenAI({ apiKey: 'none', fetch }).chat('scripted-1')
  const options = { model, tools: { weather }, stopWhen: isStepCount(5), prompt: 'How is the weather in Oslo?' }

  const start = performance.now()
  const result = isEarly ? streamText(eager(options, { weather: 'read' })) : streamText(options)
  const text = await result.text
  console.log(
    `${isEarly ? 'early tools' : 'tools wait '}: ${((performance.now() - start) / 1_000).toFixed(1)} s. ${text}`,
  )
}
