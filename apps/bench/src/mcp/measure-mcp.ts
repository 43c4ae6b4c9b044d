/**
 * Measures scenarios with our own tools and with the same tools of a trusted MCP server, by turns, with eager tools.
 */

import { createAgent, type ToolMessage } from '@meanwhile/core'
import { clock } from '@meanwhile/harness/server'
import { mcp } from '@meanwhile/mcp'
import { modelOf, ourselves } from '../agents.ts'
import { type Contestant, PROMPT } from '../contestant.ts'
import { measure } from '../measure.ts'
import { MODE_OPTIONS } from '../modes.ts'
import type { Sample } from '../sample.ts'
import { SCENARIOS, type ScenarioId } from '../scenarios.ts'
import { median } from '../stats.ts'
import type { ToolRun } from '../tools.ts'
import { openTransport } from '../transport.ts'

/** A slow call first, and one that may not start early. */
const MEASURED: readonly ScenarioId[] = ['f', 'g']

const PROGRAM = new URL('./work-process.ts', import.meta.url).pathname

function overMcp(id: ScenarioId): Contestant & AsyncDisposable {
  const args = ['--conditions=@meanwhile/source', PROGRAM, id]
  const servers = mcp({ servers: { work: { command: process.execPath, args } }, trust: 'annotations' })
  const contestant: Contestant = async ({ wire }, place, signal) => {
    const middleware = [servers, ...(MODE_OPTIONS.eager.middleware ?? [])]
    const agent = createAgent({ name: `bench-${id}`, model: modelOf(wire, place), middleware })
    const cpu = process.cpuUsage()
    const began = clock()
    const { text, messages, savings } = await agent.run(PROMPT, { signal })
    const ended = clock()
    const results = messages.filter((message): message is ToolMessage => message.role === 'tool')
    const tools = results.map(({ output }) => (output as Answer).structuredContent.run)
    return { text, ...(savings && { savings }), tools, began, ended, cpuUserMs: process.cpuUsage(cpu).user / 1000 }
  }
  return Object.assign(contestant, { [Symbol.asyncDispose]: () => servers.close() })
}

interface Answer {
  readonly structuredContent: { readonly run: ToolRun }
}

const runs = Number(process.argv[2] ?? 15)
const { signal } = new AbortController()
await using transport = await openTransport('server', signal)
for (const id of MEASURED) {
  await using server = overMcp(id)
  const samples: Record<'own' | 'mcp', Sample[]> = { own: [], mcp: [] }
  // The first round connects, and V8 compiles the code.
  for (let round = 0; round <= runs; round++)
    for (const [name, contestant] of [
      ['own', ourselves],
      ['mcp', server],
    ] as const) {
      const sample = await measure(
        { scenario: SCENARIOS[id], wire: 'openai-chat', mode: 'eager' },
        contestant,
        transport,
        signal,
      )
      if (round > 0) samples[name].push(sample)
    }
  const ratio = (name: 'own' | 'mcp') =>
    median(samples[name].map(({ wallMs, boundMs = Number.NaN }) => wallMs / boundMs)) ?? Number.NaN
  const early = (name: 'own' | 'mcp') => Math.max(...samples[name].map(({ early }) => early))
  const shown = (name: 'own' | 'mcp') => `${name} ${ratio(name).toFixed(4)} (${early(name)} early)`
  const difference = (ratio('mcp') - ratio('own')).toFixed(4)
  process.stdout.write(
    `${id}: wall / bound, median of ${runs}: ${shown('own')}, ${shown('mcp')}; difference ${difference}\n`,
  )
}
