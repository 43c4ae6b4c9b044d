// A model behind your own protocol: `assemble` makes events and one message of its pieces. The server is mocked.

import { type Assembler, assemble } from '@meanwhile/assemble'
import { createAgent, type Model, tool } from '@meanwhile/core'
import { z } from 'zod'

/** What the server sends, piece by piece. */
type Piece =
  | { readonly say: string }
  | { readonly call: number; readonly name?: string; readonly args: string }
  | { readonly end: 'stop' | 'tool-calls' }

function read(piece: Piece, to: Assembler): void {
  if ('say' in piece) to.text(piece.say)
  else if ('call' in piece) to.call(piece.call, { name: piece.name, delta: piece.args })
  else to.finish(piece.end)
}

const model: Model = {
  provider: 'own',
  id: 'own-1',
  stream: (request) => assemble(request, answers(request.messages.length), read),
}

const weather = tool({
  name: 'weather',
  description: 'The weather in a city.',
  input: z.object({ city: z.string() }),
  effect: 'read',
  execute: ({ city }) => `Sunny in ${city}.`,
})

const { text } = await createAgent({ model, tools: [weather] }).run('How is the weather in Oslo?')
console.log(text)

async function* answers(messages: number): AsyncGenerator<Piece> {
  if (messages > 1) {
    yield { say: 'It is ' }
    yield { say: 'sunny.' }
    yield { end: 'stop' }
  } else {
    yield { call: 0, name: 'weather', args: '{"city":' }
    yield { call: 0, args: '"Oslo"}' }
    yield { end: 'tool-calls' }
  }
}
