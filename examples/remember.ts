// Remembers facts about a user across conversations: two tools and a table. Each user sees only their own facts, because the tools get the
// user from the context of the run, not from the model.

import { DatabaseSync } from 'node:sqlite'
import { call, respond, say } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { z } from 'zod'
import { modelOr } from './shared/model.ts'

const db = new DatabaseSync(':memory:') // a path keeps the facts on disk
db.exec('create table facts (user text, fact text, primary key (user, fact))')

const context = z.object({ user: z.string() })

const recall = tool({
  name: 'recall',
  description: 'What is known about the user. Call it before you ask them something they may have told you.',
  input: z.object({ about: z.string().describe('a word, or an empty text for the last 20') }),
  effect: 'read', // it changes nothing, so it may start while the model is still writing
  context,
  execute: ({ about }, { context: { user } }) =>
    db
      .prepare('select fact from facts where user = ? and instr(fact, ?) > 0 order by rowid desc limit 20')
      .all(user, about)
      .map(({ fact }) => fact),
})

const remember = tool({
  name: 'remember',
  description: 'Keeps a fact about the user for later conversations: one short sentence.',
  input: z.object({ fact: z.string().max(200) }),
  effect: 'idempotent', // the same fact twice is one row
  context,
  execute: ({ fact }, { context: { user } }) => {
    db.prepare('insert or ignore into facts values (?, ?)').run(user, fact)
    return 'Kept.'
  },
})

const agent = createAgent({
  model: modelOr([
    respond(call('remember', { fact: 'Eats no meat.' })),
    respond(say('I shall remember that.')),
    respond(call('recall', { about: '' })),
    respond(say('You told me that you eat no meat, so: risotto.')),
    respond(call('recall', { about: '' })),
    respond(say('You have not told me anything yet. What do you like?')),
  ]),
  tools: [recall, remember],
  middleware: [eagerTools()],
})

// Three conversations: none has the messages of another.
for (const [user, text] of [
  ['ada', 'I eat no meat.'],
  ['ada', 'What shall I cook tonight?'],
  ['ben', 'What shall I cook tonight?'],
] as const)
  console.log(`${user}: ${(await agent.run(text, { context: { user } })).text}`)
