import { call, respond, say, think } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import { bodyFor } from '../test/requests.ts'
import { mockModels } from './msw.ts'
import { HOSTS, type Host } from './rules.ts'

const answer = respond(think('Hm.'), say('Hi'), call('f', { a: 1 }), call('g', {}), call('f', {}, { id: 'own' }))

const URLS = {
  openai: 'https://api.openai.com/v1',
  azure: 'https://mine.openai.azure.com/openai/v1',
  mistral: 'https://api.mistral.ai/v1',
  moonshot: 'https://api.moonshot.ai/v1',
  deepseek: 'https://api.deepseek.com',
  groq: 'https://api.groq.com/openai/v1',
  cerebras: 'https://api.cerebras.ai/v1',
  gemini: 'https://generativelanguage.googleapis.com/v1beta/openai',
  xai: 'https://api.x.ai/v1',
}

/** The deltas of two answers of a host. */
async function deltas(url: string, host?: Host): Promise<readonly Record<string, unknown>[]> {
  const mock = mockModels({ script: [answer, answer], ...(host && { rules: { host } }) })
  const of = async (): Promise<Record<string, unknown>[]> => {
    const response = await mock.fetch(`${url}/chat/completions`, { method: 'POST', body: bodyFor('openai-chat') })
    const lines = (await response.text()).split('\n\n').filter((line) => line.startsWith('data: {'))
    return lines.flatMap((line) =>
      JSON.parse(line.slice('data: '.length)).choices.map(({ delta }: { delta: object }) => delta),
    )
  }
  const both = [...(await of()), ...(await of())]
  mock.assertComplete()
  return both
}

function idsIn(list: readonly Record<string, unknown>[]): unknown[] {
  return list.flatMap(({ tool_calls: calls }) => (Array.isArray(calls) ? calls.flatMap(({ id }) => id ?? []) : []))
}

test.for([
  ['openai', 'reasoning_content', ['call_1_1', 'call_1_2', 'own', 'call_2_1', 'call_2_2', 'own']],
  ['azure', 'reasoning_content', ['call_1_1', 'call_1_2', 'own', 'call_2_1', 'call_2_2', 'own']],
  ['mistral', 'content', ['m00001001', 'm00001002', 'own', 'm00002001', 'm00002002', 'own']],
  [
    'moonshot',
    'reasoning_content',
    ['functions.f:0', 'functions.g:1', 'own', 'functions.f:1000', 'functions.g:1001', 'own'],
  ],
  ['deepseek', 'reasoning_content', ['call_00_1_1', 'call_00_1_2', 'own', 'call_00_2_1', 'call_00_2_2', 'own']],
  ['groq', 'reasoning', ['fc_1_1', 'fc_1_2', 'own', 'fc_2_1', 'fc_2_2', 'own']],
  ['cerebras', 'reasoning', ['call_1_1', 'call_1_2', 'own', 'call_2_1', 'call_2_2', 'own']],
  [
    'gemini',
    'reasoning_content',
    ['function-call-0', 'function-call-1', 'own', 'function-call-1000', 'function-call-1001', 'own'],
  ],
  ['xai', 'reasoning_content', ['call_1_1', 'call_1_2', 'own', 'call_2_1', 'call_2_2', 'own']],
] as const)('at its URL, %s sends reasoning as %s, and ids of its own form (W23)', async ([host, field, ids]) => {
  const list = await deltas(URLS[host])
  expect(idsIn(list)).toEqual(ids)
  const reasoning = list.find((delta) => JSON.stringify(delta).includes('Hm.')) ?? {}
  expect(Object.keys(reasoning)).toContain(field)
})

test('vLLM has its own ids, and with the template of Mistral those of Mistral (W14, W23)', async () => {
  const ids = async (host: Host) => idsIn(await deltas('http://localhost:8000/v1', host)).slice(0, 2)
  expect(await ids('vllm')).toEqual(['chatcmpl-tool-1-1', 'chatcmpl-tool-1-2'])
  expect(await ids('vllm-mistral')).toEqual(['m00001001', 'm00001002'])
})

test('Mistral sends reasoning as a part of the content, and Gemini a signature with the first call (W23)', async () => {
  const mistral = await deltas(URLS.mistral)
  expect(mistral).toContainEqual({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] }] })
  const calls = (await deltas(URLS.gemini)).flatMap(({ tool_calls: list }) => (Array.isArray(list) ? list : []))
  const signed = calls.filter((one) => 'extra_content' in one)
  expect(signed.map(({ id }) => id)).toEqual(['function-call-0', 'function-call-1000'])
})

test('every host that a mock imitates answers, whatever the URL (W23)', async () => {
  for (const host of HOSTS) {
    const mock = mockModels({ script: [answer], rules: { host } })
    const body = bodyFor('openai-chat')
    const response = await mock.fetch('http://models.test/v1/chat/completions', { method: 'POST', body })
    expect([response.status, (await response.text()).endsWith('data: [DONE]\n\n')]).toEqual([200, true])
  }
})

test('programs that have no URL of their own answer in their form, too (W23)', async () => {
  const mock = mockModels({ script: [answer], rules: { host: 'vllm' } })
  const body = bodyFor('openai-chat')
  const response = await mock.fetch('http://models.test/v1/chat/completions', { method: 'POST', body })
  const text = await response.text()
  expect(text).toContain('"delta":{"reasoning":"Hm."}')
  expect(text).toContain('"id":"chatcmpl-tool-1-1"')
})
