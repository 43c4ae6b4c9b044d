/** An agent that records its actions outside of its process, so that a test can check them after the process was killed. */

import { call, respond, type ScriptResponse, say, scriptedModel } from '@meanwhile/assemble/testing'
import { type Agent, createAgent, interrupt, type Message, type ModelRequest, textOf, tool } from '@meanwhile/core'
import { z } from 'zod'

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

export function clerk(note: (text: string) => void): Agent {
  const look = tool({
    name: 'look',
    description: 'Looks.',
    input: z.object({}),
    effect: 'read',
    execute: () => pause(40).then(() => 'seen'),
  })
  const post = tool({
    name: 'post',
    description: 'Posts.',
    input: z.object({}),
    async execute(_, { idempotencyKey }) {
      note(`post ${idempotencyKey}`)
      await pause(60)
      return 'posted'
    },
  })
  const ask = tool({
    name: 'ask',
    description: 'Asks.',
    input: z.object({}),
    execute(_, { answers, idempotencyKey }) {
      if (answers.length === 0) interrupt('Really?', { answer: z.boolean() })
      note(`ask ${idempotencyKey}`)
      return 'asked'
    },
  })
  const reply = ({ messages }: ModelRequest): ScriptResponse => {
    const question = textOf(messages.findLast(({ role }) => role === 'user') as Message)
    if (messages.at(-1)?.role === 'tool') return respond(say('So it is, and I have nothing to add.'))
    if (question.includes('post')) return respond(say('I post.'), call('look'), call('post'))
    if (question.includes('ask')) return respond(call('post'), call('ask'), call('look'))
    return respond(say(`You said ${question}, which is fine with me.`))
  }
  const model = scriptedModel(
    Array.from({ length: 5_000 }, () => reply),
    { pace: { firstToken: 20, betweenTokens: 3 } },
  )
  return createAgent({ name: 'clerk', model, tools: [look, post, ask] })
}
