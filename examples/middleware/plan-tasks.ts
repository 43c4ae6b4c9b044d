// The model makes a plan, starts a task, and reads which tasks still wait. The model is scripted: a real one makes its own plan.

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, textOf } from '@meanwhile/core'
import { planTasks } from '@meanwhile/middleware'

const agent = createAgent({
  model: scriptedModel([
    respond(call('task_create', { subject: 'Dig the pit' }), call('task_create', { subject: 'Lay the stones' })),
    respond(call('task_update', { id: 2, addBlockedBy: [1] }), call('task_update', { id: 1, status: 'in_progress' })),
    respond(call('task_update', { id: 2, status: 'in_progress' })),
    respond(call('task_update', { id: 1, status: 'completed' })),
    respond(call('task_list')),
    respond(say('The pit is dug; the stones are next.')),
  ]),
  middleware: [planTasks()],
})

const { messages, text } = await agent.run('Build a wall.')
for (const message of messages) if (message.role === 'tool') console.log(`${message.name}: ${textOf(message)}`)
console.log(text)
