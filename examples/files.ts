// Images in a message of the user, and in the result of a tool.

import { call, respond, say } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { z } from 'zod'
import { modelOr } from './shared/model.ts'

/** A PNG of one pixel. A program reads its own: `(await readFile('photo.png')).toString('base64')`. */
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const photo = { type: 'file', mediaType: 'image/png', data: pixel } as const
const map = { type: 'file', mediaType: 'image/png', data: { url: 'https://example.com/map.png' } } as const

const screenshot = tool({
  name: 'screenshot',
  description: 'A picture of the page as it is now.',
  input: z.object({}),
  effect: 'read',
  execute: () => ({ mediaType: 'image/png', data: pixel }),
  toContent: (image) => [
    { type: 'text', text: 'The page, 1 by 1 pixels:' },
    { type: 'file', ...image },
  ],
})

const agent = createAgent({
  model: modelOr([
    respond(say('One red pixel.')),
    respond(call('screenshot', {})),
    respond(say('The page shows the same pixel; the map shows a city.')),
  ]),
  tools: [screenshot],
})

const { text } = await agent.run([
  { role: 'user', content: [{ type: 'text', text: 'What is in this picture?' }, photo] },
])
console.log(text)

const compared = await agent.run([
  { role: 'user', content: [{ type: 'text', text: 'Does the page show it, and what is on this map?' }, map] },
])
console.log(compared.text)
