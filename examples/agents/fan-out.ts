// Several agents work on one question at once, and another agent combines their answers. One signal stops them all.

import { respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { createAgent } from '@meanwhile/core'

const expert = (name: string, ms: number, answer: string) =>
  createAgent({
    name,
    instructions: `You are the ${name} expert.`,
    model: scriptedModel([respond(wait(ms), say(answer))]),
  })

const experts = [
  expert('cost', 60, 'It is cheap.'),
  expert('safety', 40, 'It is safe, if its effects are declared.'),
  expert('speed', 20, 'It saves about a third of a step.'),
]
const judge = createAgent({
  name: 'judge',
  instructions: 'Weigh what the experts say.',
  model: scriptedModel([respond(say('Do it, and declare the effects.'))]),
})

const { signal } = new AbortController()
const opinions = await Promise.all(
  experts.map(async (agent) => {
    const { text } = await agent.run('Shall we start tools early?', { signal })
    console.log(`${agent.name}: ${text}`)
    return `${agent.name}: ${text}`
  }),
)
const { text } = await judge.run(opinions.join('\n'), { signal })
console.log(`judge: ${text}`)
