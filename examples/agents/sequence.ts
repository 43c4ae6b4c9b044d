// Agents in sequence: the answer of one is the input of the next. A sequence is plain TypeScript.

import { respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { type Agent, createAgent } from '@meanwhile/core'

const writer = (name: string, instructions: string, answer: string) =>
  createAgent({ name, instructions, model: scriptedModel([respond(say(answer))]) })

async function inSequence(agents: readonly Agent[], task: string): Promise<string> {
  let text = task
  for (const agent of agents) {
    text = (await agent.run(text)).text
    console.log(`${agent.name}: ${text}`)
  }
  return text
}

await inSequence(
  [
    writer('outline', 'Give an outline.', '1. What a flow is. 2. Why tools start early.'),
    writer('draft', 'Write it out.', 'A flow does one piece of work. Tools start when their arguments are certain.'),
    writer('editor', 'Make it shorter.', 'Tools start when their arguments are certain.'),
  ],
  'Explain eager tools in a few words.',
)
