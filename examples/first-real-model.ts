// The program of the page "Get started". With OPENAI_API_KEY set it calls the real model; without it, a mocked endpoint.

import './first-real-model/mocked-openai.ts'

import { createAgent, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { openai } from '@meanwhile/models/openai'
import OpenAI from 'openai'
import { z } from 'zod'

const weather = tool({
  name: 'weather',
  description: 'The weather in a city.',
  input: z.object({ city: z.string() }),
  effect: 'read', // it changes nothing, so it may start while the model is still streaming
  execute: async ({ city }) => `Sunny in ${city}.`,
})

const agent = createAgent({
  model: openai({ client: new OpenAI(), model: 'gpt-5.1' }),
  tools: [weather],
  middleware: [eagerTools()],
})

const { text } = await agent.run('What is the weather in Oslo and in Rome?')
console.log(text)
