import { respond, say } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import { bodyFor } from '../../test/requests.ts'
import { mockModels } from '../msw.ts'
import { rawResponse } from '../raw.ts'
import { DisprovedRuleError } from './judged-rules.ts'
import { recordModels } from './record-models.ts'

const hello = respond(say('Hello'))

const ask = (fetch: typeof globalThis.fetch, url: string, more: object) =>
  fetch(`${url}/v1/chat/completions`, { method: 'POST', body: bodyFor('openai-chat', more) })

test('a provider that accepts what a rule says it refuses disproves the rule, loudly (W23)', async () => {
  const upstream = mockModels({ script: [hello, hello], rules: false }).fetch
  const recorder = recordModels({ upstream })
  await (await ask(recorder.fetch, 'https://api.openai.com', {})).text()
  await (await ask(recorder.fetch, 'https://api.openai.com', { temperature: 3 })).text()
  const closed = recorder.close()
  await expect(closed).rejects.toThrow(DisprovedRuleError)
  await expect(closed).rejects.toMatchObject({
    rules: ['chat/temperature-range'],
    message: expect.stringContaining('chat/temperature-range: temperature (Invalid'),
  })
})

test('the error of a disproved rule contains no secrets of the request (W23)', async () => {
  const key = 'a-key-of-any-form-0123456789'
  const recorder = recordModels({
    upstream: mockModels({ script: [hello], rules: false }).fetch,
    patterns: [/cust-\d+/],
  })
  const messages = [
    { role: 'sk-proj-CANARY0123456789', content: 'Hi' },
    { role: 'user', content: 'Hi' },
  ]
  const odd = { [`cust-17 ${key}`]: 1, messages }
  await recorder
    .fetch('https://api.openai.com/v1/chat/completions', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: bodyFor('openai-chat', odd),
    })
    .then((response) => response.text())
  const closed = recorder.close()
  await expect(closed).rejects.toMatchObject({ rules: ['chat/role', 'chat/unknown-member'] })
  const message = await closed.catch(String)
  expect(message).toContain("Invalid value: '[redacted]'")
  expect(message).toContain('[redacted] [redacted]')
  for (const secret of [key, 'cust-17', 'CANARY']) expect(message).not.toContain(secret)
})

test('the endpoints of hosts with another path are recorded, and judged, too (W23)', async () => {
  const recorder = recordModels({ upstream: mockModels({ script: [hello], rules: false }).fetch })
  const body = bodyFor('openai-chat', { temperature: 3 })
  await (await recorder.fetch('https://api.deepseek.com/chat/completions', { method: 'POST', body })).text()
  await expect(recorder.close()).rejects.toThrow('chat/temperature-range')
})

test('a host that is not known, and a provider that refuses what a rule says it refuses, disprove nothing (W23)', async () => {
  const unknown = recordModels({ upstream: mockModels({ script: [hello], rules: false }).fetch })
  await (await ask(unknown.fetch, 'http://gateway.test', { temperature: 3 })).text()
  await unknown.close()
  const refusing = recordModels({ upstream: mockModels({ script: [] }).fetch })
  await (await ask(refusing.fetch, 'https://api.openai.com', { temperature: 3 })).text()
  expect(refusing.drafts()).toEqual([])
  await refusing.close()
})

test('a refusal that no rule foresaw is the draft of one, without secrets (W23)', async () => {
  const error = { message: 'The moon is full for sk-proj-CANARY0123456789', type: 'invalid_request_error' }
  const script = [1, 2].map(() => rawResponse([{ bytes: JSON.stringify(error) }], { status: 422 }))
  const recorder = recordModels({ upstream: mockModels({ script }).fetch })
  for (let i = 0; i < 2; i++) await (await ask(recorder.fetch, 'https://api.mistral.ai', {})).text()
  const [draft = '', ...others] = recorder.drafts()
  expect(others).toEqual([])
  expect(draft.split('\n')).toEqual([
    '{',
    "  id: 'chat/NAME',",
    "  sure: 'likely',",
    "  hosts: ['mistral'],",
    '  status: 422,',
    '  says: "The moon is full for [redacted]",',
    expect.stringMatching(/^ {2}sources: seen\('20\d\d-\d\d', 'recorded from api\.mistral\.ai'\),$/),
    '  finds: FIND,',
    '  bad: CHANGE,',
    '},',
  ])
  await recorder.close()
})
