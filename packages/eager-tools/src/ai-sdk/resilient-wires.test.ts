import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { call, respond, say, think } from '@meanwhile/assemble/testing'
import { mockModels } from '@meanwhile/harness'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { type LanguageModel, streamText } from 'ai'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { run } from '../../test/broken-models.ts'
import { cutsOf } from '../../test/cuts.ts'
import { ResilientError, resilient } from './index.ts'

unhandledRejections()
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const wires: Readonly<Record<string, (fetch: typeof globalThis.fetch) => LanguageModel>> = {
  'OpenAI Chat': (fetch) => createOpenAI({ apiKey: 'none', fetch }).chat('m'),
  'OpenAI Responses': (fetch) => createOpenAI({ apiKey: 'none', fetch }).responses('m'),
  'Anthropic Messages': (fetch) => createAnthropic({ apiKey: 'none', fetch })('m'),
}

/** Ids of the first response: of the harness for items of OpenAI Responses, and of the call. */
const BROKEN = /(?:rs|msg)_1_|call_1/

const answer = (id: string) =>
  respond(think('I write.'), say('I am writing.'), call('send', { to: 'ada' }, { id }), say('Soon.'))

test.for(Object.entries(wires))('%s: text is shown while the response streams (RS2)', async ([, modelOf]) => {
  const plain = mockModels({ script: [respond(say('I am writing.'))] })
  await run({ model: modelOf(plain.fetch) })
  const events = plain.responses[0]?.writes.length ?? 0
  // It stays silent until the test has the text.
  const silent = { ...respond(say('I am writing.')), fault: { after: { events: events - 2 }, end: 'stall' as const } }
  const mock = mockModels({ script: [silent] })
  const limits = { idle: Number.POSITIVE_INFINITY, firstOutput: Number.POSITIVE_INFINITY }
  const controller = new AbortController()
  const model = resilient([modelOf(mock.fetch)], limits)
  const result = streamText({ model, prompt: 'go', abortSignal: controller.signal })
  let shown = ''
  for await (const piece of result.textStream) {
    shown += piece
    if (shown === 'I am writing.') controller.abort()
  }
  expect(shown).toBe('I am writing.')
})

test.for(Object.entries(wires))(
  '%s: cut after any event, the answer is that of a whole response, and no later request names what was broken (RS3, RS4)',
  async ([, modelOf]) => {
    const plain = mockModels({ script: [answer('call_2'), respond(say('Done.'))] })
    const whole = await run({ model: modelOf(plain.fetch) })
    expect(whole.ran).toEqual(['send ada'])
    const cuts = cutsOf(plain.responses[0]?.writes.length ?? 0)
    let failed = 0
    for (const { after, end } of cuts) {
      const broken = { ...answer('call_1'), fault: { after: { events: after }, end } }
      const mock = mockModels({ script: [broken, answer('call_2'), respond(say('Done.'))] })
      const before = failed
      const onAttempt = () => void failed++
      const over = resilient([modelOf(mock.fetch)], { backoff: { baseDelay: 0 }, onAttempt })
      const came = await run({ model: over })
      // After the last event with content, some responses count as whole.
      if (failed === before) continue
      expect([came.shown, came.ran, came.errors], `cut after ${after} events`).toEqual([whole.shown, whole.ran, []])
      mock.assertComplete()
      expect(JSON.stringify(mock.requests.at(-1)?.body)).not.toMatch(BROKEN)
    }
    expect(failed).toBeGreaterThan(cuts.length / 2)
  },
)

test.for(Object.entries(wires))(
  '%s: a warning and the error say what the provider hides in the cause of its error (RS7, RS10)',
  async ([, modelOf]) => {
    const broken = { ...respond(say('I am writing.')), fault: { after: { events: 1 }, end: 'reset' as const } }
    const plain = await run({ model: modelOf(mockModels({ script: [broken] }).fetch), maxRetries: 0 })
    expect(plain.errors).toMatchObject([
      { message: 'Failed to process successful response', cause: { message: 'terminated' } },
    ])
    const over = (script: readonly (typeof broken)[]) =>
      resilient([modelOf(mockModels({ script: [...script, respond(say('Done.'))] }).fetch)], {
        backoff: { baseDelay: 0 },
        retries: 1,
      })
    const said = /: Failed to process successful response: terminated: (?:other side closed|read ECONNRESET)$/
    expect((await run({ model: over([broken]) })).warnings).toContainEqual(expect.stringMatching(said))
    const { errors } = await run({ model: over([broken, broken]) })
    expect(errors).toEqual([expect.any(ResilientError)])
    expect(errors).toMatchObject([{ message: expect.stringMatching(said) }])
  },
)

test('an answer that says something else keeps text of the broken one, and names none of its items (RS4)', async () => {
  const other = respond(think('Rather this.'), say('Here it is.'), call('send', { to: 'ada' }, { id: 'call_2' }))
  const broken = { ...answer('call_1'), fault: { after: { events: 24 }, end: 'reset' as const } }
  const mock = mockModels({ script: [broken, other, respond(say('Done.'))] })
  const model = createOpenAI({ apiKey: 'none', fetch: mock.fetch }).responses('m')
  const came = await run({ model: resilient([model], { backoff: { baseDelay: 0 } }) })
  expect(came.shown).toBe('I am writing.Here it is.|Done.|')
  const request = JSON.stringify(mock.requests.at(-1)?.body)
  expect(request).toContain('rs_2_0')
  expect(request).toContain('I am writing.')
  expect(request).not.toMatch(BROKEN)
  mock.assertComplete()
})
