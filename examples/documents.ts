// Answers from documents, and names where each sentence comes from. The search only reads, so it starts while the model is still writing.

import { call, respond, say } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { z } from 'zod'
import { modelOr } from './shared/model.ts'

const passage = z.object({ id: z.string(), title: z.string(), text: z.string() })
type Passage = z.infer<typeof passage>

const passages: readonly Passage[] = [
  { id: '1', title: 'Returns', text: 'A lamp can be returned within 30 days, with its receipt.' },
  { id: '2', title: 'Delivery', text: 'Delivery takes three days, and costs nothing above 50 EUR.' },
  { id: '3', title: 'Guarantee', text: 'The guarantee for a lamp is two years.' },
]

/** The passages with the most words of the query. A full-text index or a vector store does this better: only this function changes. */
function found(query: string): readonly Passage[] {
  const words = query.toLowerCase().match(/\p{L}{3,}/gu) ?? []
  const score = ({ title, text }: Passage) =>
    words.filter((word) => `${title} ${text}`.toLowerCase().includes(word)).length
  const ranked = passages.map((hit) => ({ hit, score: score(hit) })).filter(({ score }) => score > 0)
  return ranked
    .toSorted((a, b) => b.score - a.score)
    .map(({ hit }) => hit)
    .slice(0, 3)
}

const search = tool({
  name: 'search',
  description: 'Searches the documents of the shop. Several searches may run at once.',
  input: z.object({ query: z.string() }),
  effect: 'read',
  execute: ({ query }) => found(query),
  toContent: (hits) => hits.map(({ id, title, text }) => ({ type: 'text', text: `[${id}] ${title}: ${text}` })),
})

const agent = createAgent({
  model: modelOr([
    respond(call('search', { query: 'return a lamp' }), call('search', { query: 'lamp guarantee' })),
    respond(say('You can return it within 30 days [1], and it has a guarantee of two years [3].')),
  ]),
  instructions:
    'Answer only from what the search found, with the number of the passage after each sentence: [1]. Otherwise say that you do not know.',
  tools: [search],
  middleware: [eagerTools()],
})

const { text, messages } = await agent.run('Can I return my lamp, and is there a guarantee?')
console.log(text)

// A number is shown as a source only if a search in this conversation has returned that passage.
const shown = messages.flatMap((message) =>
  message.role === 'tool' && message.name === 'search' ? z.array(passage).catch([]).parse(message.output) : [],
)
for (const [, id] of text.matchAll(/\[(\d+)\]/g))
  console.log(`[${id}] ${shown.find((one) => one.id === id)?.title ?? 'no such source'}`)
