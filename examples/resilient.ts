// A response that breaks off in the middle, in the AI SDK's own loop, without and with resilient(). The second model begins with the same
// words and goes on: the reader gets one text, and the mail is sent once. No key: endpoints of the harness answer.

import { createOpenAI } from '@ai-sdk/openai'
import { call, respond, say } from '@meanwhile/assemble/testing'
import { resilient } from '@meanwhile/eager-tools/ai-sdk'
import { mockModels } from '@meanwhile/harness'
import { isStepCount, streamText, tool } from 'ai'
import { z } from 'zod'

const send = tool({
  description: 'Sends a mail.',
  inputSchema: z.object({ to: z.string() }),
  execute({ to }) {
    console.log(`\na mail to ${to} is sent`)
    return 'Sent.'
  },
})

for (const isResilient of [false, true]) {
  console.log(isResilient ? '\nwith resilient()' : 'unchanged')
  const answer = respond(say('I am writing to Ada now.'), call('send', { to: 'Ada' }))
  // The connection of the first model is lost in the middle of its call.
  const broken = { ...answer, fault: { after: { events: 9 }, end: 'reset' as const } }
  const atFirst = mockModels({ script: [broken, respond(say('The mail is sent.'))] })
  const atSecond = mockModels({ script: [answer] })
  const first = createOpenAI({ apiKey: 'none', fetch: atFirst.fetch }).chat('scripted-1')
  const second = createOpenAI({ apiKey: 'none', fetch: atSecond.fetch }).chat('scripted-2')

  const over = resilient([first, second], {
    onAttempt: ({ attempt, model, shown }) =>
      console.log(`\nattempt ${attempt} of ${model.modelId} failed after ${shown} characters`),
  })
  const result = streamText({
    model: isResilient ? over : first,
    tools: { send },
    stopWhen: isStepCount(5),
    prompt: 'Write to Ada.',
    onError: () => undefined,
  })
  try {
    for await (const piece of result.textStream) process.stdout.write(piece)
    console.log()
  } catch {
    console.log('\nthe run has failed')
  }
}
