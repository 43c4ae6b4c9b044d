// Joins the parts of an answer that was cut off, and then runs your own check.

import { end, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, textOf } from '@meanwhile/core'
import { answerGuard } from '@meanwhile/middleware'

const agent = createAgent({
  model: scriptedModel([
    respond(say('We have soup, ')),
    respond(say('We have soup (5 €), '), end({ finishReason: 'length' })),
    respond(say('bread (2 €).')),
  ]),
  middleware: [
    answerGuard({ check: (answer) => (textOf(answer).includes('€') ? undefined : 'Name the price of each dish.') }),
  ],
})

const run = agent.stream('What is there to eat?')
for await (const event of run) if (event.type === 'answer-rejected') console.log('rejected:', event.feedback)
console.log((await run.result).text)
