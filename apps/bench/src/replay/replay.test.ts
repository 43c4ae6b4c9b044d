import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { call, fail, respond, type ScriptResponse, say } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { serveModels, type WireName } from '@meanwhile/harness/server'
import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { modelOf, ourselves } from '../agents.ts'
import { main } from '../main.ts'
import { measure } from '../measure.ts'
import { record } from '../record.ts'
import { openTransport } from '../transport.ts'
import { replayScenarios } from './replay-scenarios.ts'
import type { ToolFacts } from './tool-facts.ts'

const KEY = 'sk-canary-0123456789abcdef'

const script = [
  respond(say('Let me look.'), call('search', { query: 'kettle "blue"' }), call('rates', {}), say('One moment.')),
  respond(call('search', { query: 'lid' })),
  respond(say('It is here.')),
  respond(say('Nothing to look up.')),
]

interface Session {
  readonly script: readonly ScriptResponse[]
  readonly runs: number
  readonly exchanges: number
}

/** Once with tools, and once without. */
const SHOP: Session = { script, runs: 2, exchanges: 4 }

const FACTS: ReadonlyMap<string, ToolFacts> = new Map([
  ['search', { ms: 3, effect: 'read' }],
  ['rates', { ms: 1, effect: 'external' }],
])

test.each(['openai-chat', 'openai-responses', 'anthropic'] as const)(
  'the requests of your own client on %s are recorded without the key, and replayed eager and waiting with the recorded times',
  async (wire) => {
    const text = await recorded(wire, SHOP)
    expect(text).not.toContain(KEY)

    const { scenarios, remarks } = await replayScenarios(text, FACTS, 'shop.recording.json')
    expect(scenarios).toMatchObject([
      {
        id: 'shop-1',
        shape: '2 turns with calls: search 3 ms (read) × 2, rates 1 ms (external); as recorded',
        timing: 'recorded',
        wires: [wire],
        answer: 'It is here.',
      },
    ])
    expect(remarks.join('\n')).toContain('1 response without calls not played')
    const [scenario] = scenarios
    if (!scenario) throw new Error('no scenario')
    const { signal } = new AbortController()
    await using transport = await openTransport('msw', signal)
    for (const mode of ['parallel', 'eager', 'floor'] as const) {
      const { timeline, boundMs, wallMs } = await measure({ scenario, wire, mode }, ourselves, transport, signal)
      const [first] = timeline.streams
      expect(timeline.streams).toHaveLength(3)
      expect(timeline.calls).toHaveLength(3)
      // A busy machine may have joined the words that follow them to the arguments.
      expect(timeline.calls[0]?.argsDone).toBeLessThanOrEqual(first?.tokens.at(-1) ?? 0)
      expect(boundMs).toBeLessThanOrEqual(wallMs)
    }
  },
)

test('tools that the user has not described are an error, which suggests the times in the recording', async () => {
  const text = await recorded('openai-chat', SHOP)
  const missing = replayScenarios(text, new Map([['rates', { ms: 1, effect: 'read' } as const]]), 'shop.json')
  await expect(missing).rejects.toThrow(expect.objectContaining({ name: 'UsageError' }))
  await expect(missing).rejects.toThrow(/^shop\.json: describe how long its tools take .*: --tool search=\d+:EFFECT \(/)
})

test('calls without a recorded answer get one; failed and broken responses are reported and not played', async () => {
  // The request with the results is refused.
  const text = await recorded('anthropic', { script: [respond(fail()), ...script.slice(0, 1)], runs: 2, exchanges: 3 })
  const { scenarios, remarks } = await replayScenarios(text, FACTS, 'a.json')
  expect(scenarios).toMatchObject([{ id: 'a-1', answer: 'Done.', script: [{}, {}] }])
  expect(remarks).toContain('a: 1 conversation ended with calls: an answer of one word was added.')
  expect(remarks.slice(-2)).toEqual([
    'a: response 1 not played: it has the status 500.',
    'a: response 3 not played: it has the status 500.',
  ])
})

test.each([
  ['{}', 'a.json: this is not a recording: its format is not'],
  ['{"format":"meanwhile recording","version":1,"exchanges":[]}', 'a.json: no response in it calls a tool'],
])('a file with nothing to play is refused: %j', async (text, message) => {
  await expect(replayScenarios(text, FACTS, 'a.json')).rejects.toThrow(message)
  await expect(replayScenarios(text, FACTS, 'a.json')).rejects.toThrow(expect.objectContaining({ name: 'UsageError' }))
})

test('a recording is played only on its own wire: another wire ends with exit code 2 and one line', async () => {
  const error = vi.spyOn(console, 'error').mockReturnValue()
  const file = join(await temporary(), 'shop.json')
  await writeFile(file, await recorded('openai-chat', SHOP))
  const line = ['--replay', file, '--tool', 'search=1', '--tool', 'rates=1', '--wire', 'anthropic']
  expect(await main(line)).toBe(2)
  expect(error.mock.calls).toEqual([
    ['error: --wire: shop-1 was recorded on openai-chat, and can only be played there'],
  ])
  error.mockRestore()
})

test('an existing recording is not overwritten, and an empty one is not written', async () => {
  const folder = await temporary()
  const options = { upstream: 'http://127.0.0.1:9', signal: AbortSignal.abort(), say: () => undefined }
  expect(await record({ ...options, file: join(folder, 'a.json') })).toBe(0)
  await expect(readFile(join(folder, 'a.json'))).rejects.toThrow('ENOENT')
  await expect(record({ ...options, file: import.meta.filename })).rejects.toThrow('already exists')
})

/** A user's own agent sends its requests through the recorder. */
async function recorded(wire: WireName, { script, runs, exchanges }: Session): Promise<string> {
  const file = join(await temporary(), 'shop.recording.json')
  await using server = await serveModels({ script, pace: { firstToken: 1, betweenTokens: 2 } })
  const stop = new AbortController()
  const said: string[] = []
  const say = (text: string) => void said.push(text)
  const recording = record({ upstream: `${server.url}/v1`, file, signal: stop.signal, say })
  await vi.waitFor(() => expect(said).toHaveLength(1), { timeout: 60_000 })
  const [url = ''] = /http:\S+(?=\/v1 \(OpenAI\))/.exec(said[0] ?? '') ?? []
  const agent = createAgent({
    model: modelOf(wire, { url }, { model: 'theirs', apiKey: KEY }),
    tools: ['search', 'rates'].map((name) =>
      tool({ name, description: 'Looks.', input: z.record(z.string(), z.unknown()), execute: () => 'found' }),
    ),
  })
  for (let run = 0; run < runs; run++) await agent.run('Go').catch(() => undefined)
  stop.abort()
  expect(await recording).toBe(exchanges)
  expect(said.at(-1)).toContain(`Written: ${file}`)
  return await readFile(file, 'utf8')
}

async function temporary(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}
