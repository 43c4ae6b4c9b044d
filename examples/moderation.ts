// OpenAI's moderation endpoint as a guard: it checks the message of the user while the model answers. With OPENAI_API_KEY set it runs.

import { createAgent, textOf } from '@meanwhile/core'
import { GuardError, guard } from '@meanwhile/middleware'
import { openai } from '@meanwhile/models/openai'
import OpenAI from 'openai'

async function asked(client: OpenAI, question: string): Promise<string> {
  const moderated = guard({
    name: 'moderation',
    input: async (messages, { signal }) => {
      const input = messages.map(textOf).join('\n')
      const { results } = await client.moderations.create({ model: 'omni-moderation-latest', input }, { signal })
      return results.some(({ flagged }) => flagged) ? { pass: false, reason: 'flagged' } : { pass: true }
    },
  })
  const agent = createAgent({ model: openai({ client, model: 'gpt-5.1' }), middleware: [moderated] })
  return (await agent.run(question)).text
}

if (process.env.OPENAI_API_KEY)
  try {
    console.log(await asked(new OpenAI(), 'Say hello.'))
  } catch (error) {
    if (!(error instanceof GuardError)) throw error
    console.log(`${error.guard}: ${error.reason}`)
  }
else console.log('without a key there is no endpoint to ask')
