import { call, end, respond, type ScriptResponse, say, think } from '@meanwhile/assemble/testing'
import { createAgent, type FilePart, type Middleware, type Model, tool } from '@meanwhile/core'
import { sized } from '@meanwhile/tests/size'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { HOSTED_MODELS, type HostedModel, hostedModel } from './hosts.ts'

// What one model has written goes to another in the middle of a run, and back. Each mock refuses what its host refuses.

const image: FilePart = { type: 'file', mediaType: 'image/png', data: 'iVBORw0KGgo=' }
const look = tool({
  name: 'look',
  description: 'Looks.',
  input: z.object({ at: z.string() }),
  execute: ({ at }) => (at.includes('map') ? { seen: at, image } : { seen: at }),
  toContent: ({ seen, ...rest }: { seen: string; image?: FilePart }) => [
    { type: 'text', text: `Seen: ${seen}` },
    ...(rest.image ? [rest.image] : []),
  ],
})

const usage = end({ usage: { inputTokens: 1, outputTokens: 1 } })
const answers = respond(think('Done.'), say('Here.'), usage)

/** The responses of a model. No two of its calls are equal, and no call equals one of another model. */
function repliesOf({ title }: HostedModel) {
  const looks = (at: string) => call('look', { at: `${at} by ${title}` })
  return {
    thinksAndCalls: respond(think('Hm.'), say('Let me look.'), looks('a map'), usage),
    calls: respond(looks('a tree'), looks('another map'), usage),
    thinksAgain: respond(think('So.'), looks('a lake'), usage),
  }
}

/** Makes each request with the next of these models, as a fallback does. */
function inTurn(turns: readonly (readonly [HostedModel, ScriptResponse])[]): Middleware {
  const left = [...turns]
  return {
    name: 'in-turn',
    async *wrapModel(request, next) {
      const [hosted, reply] = left.shift() ?? []
      if (!hosted || !reply) throw new Error('the run needs more replies')
      hosted.reply(reply)
      return yield* next({ ...request, model: hosted.model, omitsFiles: true })
    },
  }
}

const settings = {
  maxTokens: 8_000,
  seed: 7,
  providerOptions: {
    anthropic: { thinking: { type: 'enabled', budget_tokens: 2_000, budgetTokens: 2_000 } },
    adaptive: { thinking: { type: 'adaptive' } },
  },
}

function agentOf(model: Model, turns: Parameters<typeof inTurn>[0]) {
  return createAgent({ model, tools: [look], settings, middleware: [inTurn(turns)] })
}

const pairs = HOSTED_MODELS.flatMap((from) => HOSTED_MODELS.flatMap((to) => (from === to ? [] : [{ from, to }])))
/** Coprime to the number of models, so that a part of the pairs has all of them on both sides. */
const step = sized({ small: 13, middle: 7, whole: 1 })

test.each(pairs.filter((_, place) => place % step === 0))(
  'from $from to $to in the middle of a run, and back: no request is refused (W13, W14, W15, W16, W18, W19)',
  async ({ from, to }) => {
    const [one, other] = [hostedModel(from), hostedModel(to)]
    const [ofOne, ofOther] = [repliesOf(one), repliesOf(other)]
    const { messages } = await agentOf(one.model, [
      [one, ofOne.thinksAndCalls],
      [other, ofOther.thinksAndCalls],
      [one, ofOne.calls],
      [other, ofOther.calls],
      [one, ofOne.thinksAgain],
      [other, answers],
    ]).run('Go')
    const { text } = await agentOf(other.model, [
      [other, ofOther.thinksAgain],
      [one, answers],
    ]).run([...messages, { role: 'user', content: 'And back?' }])
    expect(text).toBe('Here.')
    expect([one.checked(), other.checked()]).toEqual([4, 4])
  },
)
