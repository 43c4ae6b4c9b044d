/** The agents inside calls: each makes one call, and answers with what it has read. */

import type { Agent, Model, Tool } from '../../src/index.ts'
import { passesThrough } from './middleware.ts'
import { callOf, textOf, textual } from './model.ts'
import type { Place } from './place.ts'
import { type Letter, MAKES } from './scenario.ts'

export function agentIn({ on, scenario }: Place, letter: Letter, tools: readonly Tool[]): Agent {
  return on.core.createAgent({
    name: letter,
    description: letter,
    model: modelOf(letter),
    tools,
    middleware: scenario.through ? [passesThrough] : [],
  })
}

function modelOf(letter: Letter): Model {
  return {
    provider: 'world',
    id: 'inner',
    async *stream({ messages: [asked, ...more] }) {
      const { n } = JSON.parse(String(asked?.content)) as { readonly n: string }
      const read = more.at(-1)
      if (read?.role === 'tool') return textual(`${letter}${n} of ${textOf(read)}`)
      const call = callOf(MAKES[letter]?.(n) ?? '', 'inner')
      yield { type: 'tool-call', call }
      return { role: 'assistant', content: [call], finishReason: 'tool-calls' }
    },
  }
}
