// The model sees the description of a skill that fits its task, reads the skill, and follows it.

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent } from '@meanwhile/core'
import { memoryBackend, skills } from '@meanwhile/middleware'

const backend = memoryBackend({
  'skills/greet/SKILL.md': `---
name: greet
description: How guests are greeted in this house.
---
Bow first. Then say "Welcome under our roof".
`,
})

const model = scriptedModel([respond(call('skill', { name: 'greet' })), respond(say('(bows) Welcome under our roof.'))])
const agent = createAgent({ model, instructions: 'You are the host.', middleware: [skills({ backend })] })

const result = await agent.run('A guest comes in.')
console.log(model.requests[0]?.instructions)
for (const message of result.messages) if (message.role === 'tool') console.log(message.content)
console.log(result.text)
