import { ChatAnthropic } from '@langchain/anthropic'
import type { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { ChatOpenAI } from '@langchain/openai'
import { call, respond, say, think } from '@meanwhile/assemble/testing'
import { mockModels } from '@meanwhile/harness'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { outline, run } from '../../test/broken-chat-models.ts'
import { cutsOf } from '../../test/cuts.ts'
import { resilient } from './index.ts'

unhandledRejections()
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }))
afterEach(() => void vi.useRealTimers())

type Fetch = typeof globalThis.fetch

const openai = (fetch: Fetch, useResponsesApi: boolean): BaseChatModel =>
  new ChatOpenAI({ apiKey: 'none', model: 'm', useResponsesApi, maxRetries: 0, configuration: { fetch } })

const wires = {
  'OpenAI Chat': (fetch: Fetch) => openai(fetch, false),
  'OpenAI Responses': (fetch: Fetch) => openai(fetch, true),
  'Anthropic Messages': (fetch: Fetch): BaseChatModel =>
    new ChatAnthropic({ apiKey: 'none', model: 'm', maxRetries: 0, clientOptions: { fetch } }),
}

/** Ids of the first response: of the harness for items of OpenAI Responses, and of the call. */
const BROKEN = /(?:rs|msg)_1_|call_1/

const answer = (id: string) =>
  respond(think('I write.'), say('I am writing.'), call('send', { to: 'ada' }, { id }), say('Soon.'))

test.for(Object.entries(wires))(
  '%s: cut after any event, the run is that of a whole response, and no later request names what was broken (RS3, RS4, RS17)',
  async ([, modelOf]) => {
    const plain = mockModels({ script: [answer('call_2'), respond(say('Done.'))] })
    const whole = await run(resilient([modelOf(plain.fetch)]))
    expect([whole.ran, whole.error]).toEqual([['send ada'], undefined])
    const cuts = cutsOf(plain.responses[0]?.writes.length ?? 0)
    let failed = 0
    for (const { after, end } of cuts) {
      const broken = { ...answer('call_1'), fault: { after: { events: after }, end } }
      const mock = mockModels({ script: [broken, answer('call_2'), respond(say('Done.'))] })
      const before = failed
      const onAttempt = () => void failed++
      const came = await run(resilient([modelOf(mock.fetch)], { backoff: { baseDelay: 0 }, onAttempt }))
      // After the last event with content, some responses count as whole.
      if (failed === before) continue
      expect([came.shown, came.ran, came.error], `cut after ${after} events by ${end}`).toEqual([
        whole.shown,
        whole.ran,
        undefined,
      ])
      expect(outline(came.messages)).toEqual(outline(whole.messages))
      mock.assertComplete()
      expect(JSON.stringify(mock.requests.at(-1)?.body)).not.toMatch(BROKEN)
    }
    expect(failed).toBeGreaterThan(cuts.length / 2)
  },
)

test.for(Object.entries(wires))('%s: without a fault the message is that of the model (RS1)', async ([, modelOf]) => {
  const script = () => [answer('call_1'), respond(say('Done.'))]
  const plain = await run(modelOf(mockModels({ script: script() }).fetch))
  const came = await run(resilient([modelOf(mockModels({ script: script() }).fetch)]))
  const written = ({ messages }: typeof plain) =>
    messages.slice(1, 2).map(({ content, additional_kwargs, id }) => ({ content, additional_kwargs, id }))
  expect([came.ran, came.shown, written(came)]).toEqual([plain.ran, plain.shown, written(plain)])
})

test.for(Object.entries(wires))(
  '%s, read in content blocks: each call once, and a text that was cut once (RS1, RS3)',
  async ([, modelOf]) => {
    const script = () => [answer('call_2'), respond(say('Done.'))]
    const plain = await run(modelOf(mockModels({ script: script() }).fetch), { inBlocks: true })
    for (const events of [0, 4, 8]) {
      const broken = { ...answer('call_1'), fault: { after: { events }, end: 'reset' as const } }
      const mock = mockModels({ script: [broken, ...script()] })
      const came = await run(resilient([modelOf(mock.fetch)], { backoff: { baseDelay: 0 } }), { inBlocks: true })
      const texts = (of: typeof came) => of.messages.map(({ text }) => text)
      expect([came.ran, texts(came)]).toEqual([plain.ran, texts(plain)])
      mock.assertComplete()
    }
  },
)

test('a second model of another vendor continues the text, and reads the messages of the first (RS4, RS6)', async () => {
  const broken = { ...answer('call_1'), fault: { after: { events: 24 }, end: 'reset' as const } }
  const first = mockModels({ script: [broken] })
  const second = mockModels({ script: [answer('call_2'), respond(say('Done.'))] })
  const down = () => Promise.resolve(new Response('{}', { status: 503 }))
  let requests = 0
  const fetch: Fetch = (...asked) => (requests++ === 0 ? first.fetch(...asked) : down())
  const over = resilient([wires['OpenAI Responses'](fetch), wires['Anthropic Messages'](second.fetch)])
  const came = await run(over)
  expect([came.ran, came.text, came.error]).toEqual([['send ada'], 'Done.', undefined])
  second.assertComplete()
})
