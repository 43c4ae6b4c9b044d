/** The agent of the chat, with three tools: one that only reads, one that needs approval, and one that runs in the page. */

import { setTimeout as wait } from 'node:timers/promises'
import { createAgent, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { approve, retryModel } from '@meanwhile/middleware'
import { z } from 'zod'
import { demoModel } from '../shared/demo-model.ts'

const weather = tool({
  name: 'weather',
  description: 'The weather in a city.',
  input: z.object({ city: z.string() }),
  effect: 'read', // it may start while the model is still streaming
  async *execute({ city }, { signal }) {
    if (city === 'Atlantis') throw new Error('connect ECONNREFUSED weather-db.internal:5432')
    for (const station of [1, 2, 3, 4]) {
      await wait(400, undefined, { signal })
      yield { progress: station / 4, message: `Station ${station} of 4` }
    }
    return `${city}: sunny, 24 °C.`
  },
})

const sendMail = tool({
  name: 'send_mail',
  description: 'Sends a mail.',
  input: z.object({ to: z.string(), text: z.string() }),
  async execute({ to }, { signal }) {
    console.log(`  a mail to ${to}`)
    await wait(1_000, undefined, { signal })
    return `The mail to ${to} is sent.`
  },
})

const choose = tool({
  name: 'choose',
  description: 'Lets the user choose one of some options.',
  input: z.object({ question: z.string(), options: z.array(z.string()) }),
  output: z.object({ chosen: z.string() }),
})

export const agent = createAgent({
  name: 'chat',
  instructions:
    'Be brief. Look up weather with the tool, send mails with the tool, and let the user choose with the tool.',
  model: demoModel(),
  tools: [weather, sendMail, choose],
  middleware: [retryModel(), approve({ tools: ['send_mail'] }), eagerTools()],
})
