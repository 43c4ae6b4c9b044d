import { call, fail, respond, type ScriptResponse, say } from '@meanwhile/assemble/testing'
import { serveModels, type WireName } from '@meanwhile/harness/server'
import { afterEach, expect, test, vi } from 'vitest'
import { cellsOf } from '../cells.ts'
import { environment } from '../environment.ts'
import { main } from '../main.ts'
import { runsOf } from '../run-plan.ts'
import { runPlan } from '../runner.ts'
import { tableOf } from '../table.ts'
import { liveOf } from './live.ts'
import { LIVE_PROMPTS } from './prompts.ts'

const KEY = 'sk-canary-0123456789abcdef'

/** The prompts, with tools that take no time. */
const PROMPTS = LIVE_PROMPTS.map((prompt) => ({ ...prompt, toolMs: {} }))

afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

test.each(['openai-chat', 'openai-responses', 'anthropic'] as const)(
  'an endpoint on %s receives our prompts and tools, and the notes state what it cannot measure',
  async (wire) => {
    const { text, entries, requests } = await asked(wire, turns)
    expect(entries.map(({ scenario, mode, runs, failed }) => [scenario, mode, runs, failed])).toEqual(
      PROMPTS.flatMap(({ scenario: { id } }) => [
        [id, 'parallel', 1, []],
        [id, 'eager', 1, []],
      ]),
    )
    for (const entry of entries) {
      expect(entry).toMatchObject({ timing: 'live', wallMs: expect.any(Number), boundMs: null, dispatchLagMs: null })
    }
    // Seven runs of two requests: the first of them opens the connection.
    expect(requests).toBe(14)
    expect(text).toContain('So there is no bound, no dispatch lag')
    expect(text).toContain('theirs was called 14 times')
    expect(text).not.toContain(KEY)
  },
)

test('a run in which the model calls other tools is reported and not counted', async () => {
  const { entries } = await asked('openai-chat', (id) =>
    id === 'several' ? [respond(call('weather', { city: 'Oslo' })), respond(say('Cold.'))] : turns(id),
  )
  const failed = ['the model called weather, not weather, weather, weather in one response']
  expect(entries.filter(({ scenario }) => scenario === 'several')).toMatchObject([
    { runs: 0, failed },
    { runs: 0, failed },
  ])
  expect(entries.filter(({ runs }) => runs === 1)).toHaveLength(4)
})

test('an endpoint’s message about the key is not passed on', async () => {
  const { entries } = await asked('openai-chat', () => [respond(fail({ status: 401, message: `wrong key ${KEY}` }))])
  expect(entries[0]?.failed[0]).toContain('wrong key [key]')
  expect(JSON.stringify(entries)).not.toContain(KEY)
})

test('a missing key ends with exit code 2 and one line', async () => {
  const error = vi.spyOn(console, 'error').mockReturnValue()
  const line = '--base-url http://127.0.0.1:9 --model theirs --key-env BENCH_NO_KEY --wire anthropic'
  expect(await main(line.split(' '))).toBe(2)
  expect(error.mock.calls).toEqual([['error: --key-env: the environment has no BENCH_NO_KEY']])
})

/** What a model does after one of our prompts. */
function turns(prompt: string): readonly ScriptResponse[] {
  const live = LIVE_PROMPTS.find(({ scenario }) => scenario.id === prompt)
  const calls = (live?.scenario.turns.flat() ?? []).map(({ tool }) => call(tool, INPUTS[tool]))
  return [respond(...calls), respond(say('All done.'))]
}

const INPUTS: Readonly<Record<string, object>> = {
  search: { query: 'harbour fees' },
  save_note: { title: 'Harbours', text: 'Towns grew where ships could lie.' },
  weather: { city: 'Oslo' },
}

async function asked(wire: WireName, answers: (id: string) => readonly ScriptResponse[]) {
  await using server = await serveModels({
    script: ({ body }) => {
      const text = JSON.stringify(body)
      const live = PROMPTS.find(({ prompt }) => text.includes(JSON.stringify(prompt).slice(1, -1)))
      const isSecond = /"(tool_call_id|function_call_output|tool_result)"/.test(text)
      return answers(live?.scenario.id ?? '')[isSecond ? 1 : 0]
    },
  })
  vi.stubEnv('BENCH_KEY', KEY)
  const options = { url: `${server.url}/v1/`, model: 'theirs', keyEnv: 'BENCH_KEY' }
  const live = liveOf(options, { wires: [wire], modes: ['parallel', 'eager'], runs: runsOf(1) }, PROMPTS)
  const { plan, warmUp, measure } = live
  const made = await runPlan(plan, { warmUp, measure, signal: new AbortController().signal })
  const entries = cellsOf(made).map(({ entry }) => entry)
  const about = { transportLagMs: null, environment: environment(), remarks: live.remarks() }
  return { entries, text: tableOf(entries, about), requests: (await server.requests()).length }
}
