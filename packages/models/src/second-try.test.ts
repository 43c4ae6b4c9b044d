import { call, end, fail, respond, say } from '@meanwhile/assemble/testing'
import { createAgent, type Model, ModelError } from '@meanwhile/core'
import { type MockModelsOptions, mockModels } from '@meanwhile/harness'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { realModels } from '../test/real-models.ts'
import { claude, wires } from '../test/wires.ts'
import { aiSdk } from './ai-sdk.ts'

const output = z.object({ city: z.string() })

/** AI SDK 5 reads no end of a response without usage. */
const usage = end({ usage: { inputTokens: 1, outputTokens: 1 } })
const byFormat = respond(say('{"city":"Bern"}'), usage)
const byCall = respond(call('final_answer', { city: 'Bern' }), usage)

const GRAMMAR =
  'The compiled grammar is too large, which would cause performance issues. Simplify your tool schemas or reduce the number of strict tools.'

const tooLarge = (message = GRAMMAR) => respond(fail({ status: 400, code: 'invalid_request_error', message }))

/** Whether each request asks for the output by a call. */
function areByCall(requests: readonly { readonly body: unknown }[]): boolean[] {
  return requests.map(({ body }) => JSON.stringify(body).includes('Gives the final answer'))
}

async function outputsOf(model: Model, times = 1, schema = output): Promise<readonly unknown[]> {
  const agent = createAgent({ model, output: schema })
  const runs = Array.from({ length: times }, async () => (await agent.run('Where to?')).output)
  return Promise.all(runs)
}

test.each(wires)('$name: a schema that is too large to enforce is asked for by a call (W17)', async (wire) => {
  const { fetch, requests } = mockModels({ script: [tooLarge(), byCall, byCall] })
  const agent = createAgent({ model: wire.model(fetch), output })
  for (const _ of [1, 2]) expect((await agent.run('Where to?')).output).toEqual({ city: 'Bern' })
  expect(areByCall(requests)).toEqual([false, true, true])
})

test.each(realModels)('$title: through the AI SDK, too (W17)', async ({ model }) => {
  const { fetch, requests } = mockModels({ script: [tooLarge(), byCall] })
  expect(await outputsOf(aiSdk(model(fetch), { structuredOutput: true }))).toEqual([{ city: 'Bern' }])
  expect(areByCall(requests)).toEqual([false, true])
})

test.each([
  'Schema is too complex for compilation. Try reducing the number of tools or simplifying tool schemas.',
  'The specified schema produces a constraint that has too many states for serving.',
  'Schemas contains too many optional parameters (30), which would make grammar compilation inefficient.',
])('a provider may say: %s (W17)', async (message) => {
  const { fetch, requests } = mockModels({ script: [tooLarge(message), byCall] })
  expect(await outputsOf(claude.model(fetch))).toEqual([{ city: 'Bern' }])
  expect(areByCall(requests)).toEqual([false, true])
})

test('each of two runs at once makes its second try, and another schema is still enforced (W17)', async () => {
  const mock = mockModels({ script: [tooLarge(), tooLarge(), byCall, byCall, byFormat] })
  let release = () => {}
  const both = new Promise<void>((resolve) => {
    release = resolve
  })
  const model = claude.model(async (...asked) => {
    const answer = await mock.fetch(...asked)
    if (mock.requests.length === 2) release()
    await both
    return answer
  })
  expect(await outputsOf(model, 2)).toEqual([{ city: 'Bern' }, { city: 'Bern' }])
  const other = output.extend({ days: z.number().optional() })
  expect(await outputsOf(model, 1, other)).toEqual([{ city: 'Bern' }])
  expect(areByCall(mock.requests)).toEqual([false, false, true, true, false])
})

const others: readonly (readonly [string, NonNullable<MockModelsOptions['script']>])[] = [
  ['of another kind', [tooLarge('output_config.format.schema: $ref is not supported')]],
  ['with another status', [respond(fail({ status: 500, message: GRAMMAR }))]],
  [
    'inside a response that has begun',
    [respond(say('{"ci'), fail({ code: 'invalid_request_error', message: GRAMMAR }))],
  ],
  ['of the second try', [tooLarge(), tooLarge()]],
]

test.each(others)('an error %s is thrown as it is (W17)', async (_, script) => {
  const { fetch, requests } = mockModels({ script })
  await expect(outputsOf(claude.model(fetch))).rejects.toBeInstanceOf(ModelError)
  expect(requests).toHaveLength(script.length)
})
