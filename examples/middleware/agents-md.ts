// Instructions of a project, read from its root folder down to the working folder.

import { respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, textOf } from '@meanwhile/core'
import { agentsMd, memoryBackend } from '@meanwhile/middleware'

const backend = memoryBackend({
  'AGENTS.md': 'Write plain English.\n@docs/style.md\n',
  'docs/style.md': 'No semicolons.\n',
  'packages/core/AGENTS.md': 'Core imports nothing.\n',
})

const model = scriptedModel([respond(say('Understood.'))])
const agent = createAgent({ model, middleware: [agentsMd({ backend, folder: 'packages/core' })] })

const { messages } = await agent.run('What are the rules here?')
console.log(model.requests[0]?.messages.map(textOf).join('\n---\n'))
console.log(`${messages.length} messages in the history`)
