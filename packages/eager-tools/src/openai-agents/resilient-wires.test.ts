import { call, respond, say, think } from '@meanwhile/assemble/testing'
import { mockModels } from '@meanwhile/harness'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { type Model, OpenAIChatCompletionsModel, OpenAIResponsesModel } from '@openai/agents'
import OpenAI from 'openai'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Came, type Options, run } from '../../test/broken-agents.ts'
import { cutsOf } from '../../test/cuts.ts'
import { resilient } from './index.ts'

unhandledRejections()
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const client = (fetch: typeof globalThis.fetch) => new OpenAI({ apiKey: 'none', fetch, maxRetries: 0 })

const wires = {
  'OpenAI Chat': (fetch: typeof globalThis.fetch): Model => new OpenAIChatCompletionsModel(client(fetch), 'm'),
  'OpenAI Responses': (fetch: typeof globalThis.fetch): Model => new OpenAIResponsesModel(client(fetch), 'm'),
}

/** Ids of the first response: of the harness for items of OpenAI Responses, and of the call. */
const BROKEN = /(?:rs|msg)_1_|call_1/

const answer = (id: string) =>
  respond(think('I write.'), say('I am writing.'), call('send', { to: 'ada' }, { id }), say('Soon.'))

/** The SDK's Chat model cannot send a text that it has received in the next request. */
const once = { agent: { toolUseBehavior: 'stop_on_first_tool' } }

/** Plays a run of a model whose first response is cut, for each of {@link cutsOf}. */
async function eachCut(
  modelOf: (fetch: typeof globalThis.fetch) => Model,
  options: Options,
  check: (came: Came, whole: Came, mock: ReturnType<typeof mockModels>, cut: string) => void,
) {
  const rest = options === once ? [] : [respond(say('Done.'))]
  const plain = mockModels({ script: [answer('call_2'), ...rest] })
  const whole = await run(modelOf(plain.fetch), options)
  expect([whole.ran, whole.error]).toEqual([['send ada'], undefined])
  const cuts = cutsOf(plain.responses[0]?.writes.length ?? 0)
  let failed = 0
  for (const { after, end } of cuts) {
    const broken = { ...answer('call_1'), fault: { after: { events: after }, end } }
    const mock = mockModels({ script: [broken, answer('call_2'), ...rest] })
    const before = failed
    const onAttempt = () => void failed++
    const came = await run(resilient([modelOf(mock.fetch)], { backoff: { baseDelay: 0 }, onAttempt }), options)
    // After the last event with content, some responses count as whole.
    if (failed > before) check(came, whole, mock, `cut after ${after} events by ${end}`)
  }
  expect(failed).toBeGreaterThan(cuts.length / 2)
}

test.for(Object.entries(wires))(
  '%s: cut after any event, the run is that of a whole response (RS3, RS4, RS16)',
  async ([, modelOf]) => {
    await eachCut(modelOf, once, (came, whole, mock, cut) => {
      expect([came.shown, came.ran, came.output, came.error], `${cut}`).toEqual([
        whole.shown,
        whole.ran,
        whole.output,
        undefined,
      ])
      mock.assertComplete()
    })
  },
)

test('OpenAI Responses: no later request names what was broken (RS4)', async () => {
  await eachCut(wires['OpenAI Responses'], {}, (came, whole, mock, cut) => {
    expect([came.output, came.ran, came.error], `${cut}`).toEqual([whole.output, whole.ran, undefined])
    expect(JSON.stringify(mock.requests.at(-1)?.body)).not.toMatch(BROKEN)
  })
})

test('a second model of another wire continues the text (RS4, RS6)', async () => {
  const broken = { ...answer('call_1'), fault: { after: { events: 24 }, end: 'reset' as const } }
  const first = mockModels({ script: [broken] })
  const second = mockModels({ script: [answer('call_2')] })
  const over = resilient([wires['OpenAI Responses'](first.fetch), wires['OpenAI Chat'](second.fetch)])
  const came = await run(over, once)
  expect([came.shown, came.ran, came.error]).toEqual(['I am writing.Soon.|', ['send ada'], undefined])
  second.assertComplete()
})
