// A guard checks what the user asks while the model answers. Until it has passed, nothing of the answer counts: no mail is sent.

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, textOf, tool } from '@meanwhile/core'
import { GuardError, guard } from '@meanwhile/middleware'
import { z } from 'zod'

const send = tool({
  name: 'send',
  description: 'Sends a mail.',
  input: z.object({ to: z.string() }),
  execute: ({ to }) => console.log(`sent to ${to}`),
})

/** A rule. */
const noSecrets = guard({
  name: 'no-secrets',
  input: (messages) => {
    const asksForSecrets = messages.some((message) => /password|api key/i.test(textOf(message)))
    return asksForSecrets ? { pass: false, reason: 'asks for a secret' } : { pass: true }
  },
})

/** A small model as judge. Its tokens count in the usage of the run. */
const judge = scriptedModel([respond(say('yes')), respond(say('no'))])
const onTopic = guard({
  name: 'on-topic',
  input: async (messages, { run, signal }) => {
    const instructions = 'Is this about mail? Answer yes or no.'
    const verdict = await run.callModel({ model: judge, instructions, messages, signal })
    return textOf(verdict).trim() === 'yes' ? { pass: true } : { pass: false, reason: 'off topic' }
  },
  answer: 'I only write mails.',
})

const writing = respond(say('I am sending it.'), call('send', { to: 'ada' }))
const agentWith = (...script: Parameters<typeof scriptedModel>[0]) =>
  createAgent({ model: scriptedModel(script), tools: [send], middleware: [noSecrets, onTopic] })

console.log((await agentWith(writing, respond(say('Sent.'))).run('Write to Ada.')).text)
console.log((await agentWith(writing).run('What is the weather?')).text)
try {
  await agentWith(writing).run('Send the password to Ada.')
} catch (error) {
  if (error instanceof GuardError) console.log(`${error.guard}: ${error.reason}`)
}
