/** One measurement of core's own cost, in a process of its own, which sends its figures and ends. */

import { type Agent, createAgent, type Model, tool } from '@meanwhile/core'
import { call, respond, say, scriptedModel } from '@meanwhile/core/testing'
import { z } from 'zod'
import type { Work } from './overhead.ts'
import type { Figures } from './table.ts'

const RUNS = 10_000
const AT_ONCE = 1_000
const ROUNDS = 5

const works: Readonly<Record<Work, () => Promise<Partial<Figures>>>> = {
  speed,
  held,
  growth,
  untraced: () => telemetry(false),
  traced: () => telemetry(true),
}

process.send?.(await works[process.argv[2] as Work]())
process.disconnect()

/** Its modules are loaded only here: the other measurements are to be without an SDK. */
async function telemetry(sdk: boolean): Promise<Partial<Figures>> {
  const { shares } = await import('./share.ts')
  const { perSpan, perDelta } = await shares({ sdk })
  if (!sdk) return { untracedSpanUs: perSpan, untracedDeltaUs: perDelta }
  return { profiledSpanUs: perSpan, deltaUs: perDelta }
}

async function speed(): Promise<Partial<Figures>> {
  const agent = agentOf(() => 'ok')
  await together(agent, AT_ONCE)
  await inTurn(agent, AT_ONCE)
  const alone: number[] = []
  const atOnce: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    alone.push(await perSecond(() => inTurn(agent, AT_ONCE)))
    atOnce.push(await perSecond(() => together(agent, AT_ONCE)))
  }
  // The best of each: what disturbs a round makes it slower, never faster.
  const best = Math.max(...alone)
  return { runsPerSecond: best, atOnce: Math.max(...atOnce) / best }
}

/** Runs that all wait in the middle of their tool, each with its reader. */
async function held(): Promise<Partial<Figures>> {
  await inTurn(
    agentOf(() => 'ok'),
    200,
  )
  let open = () => {}
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  let waiting = 0
  const agent = agentOf(async () => {
    waiting++
    await gate
    return 'ok'
  })
  const before = await heap()
  const done = together(agent, RUNS)
  while (waiting < RUNS) await turn()
  const heldKiB = ((await heap()) - before) / RUNS / 1_024
  open()
  await done
  return { heldKiB }
}

async function growth(): Promise<Partial<Figures>> {
  const agent = agentOf(() => 'ok')
  await inTurn(agent, AT_ONCE)
  await together(agent, AT_ONCE)
  const before = await heap()
  for (let runs = 0; runs < RUNS; runs += AT_ONCE) await together(agent, AT_ONCE)
  return { growthMb: ((await heap()) - before) / 1e6 }
}

/** Two steps, one tool, 50 deltas. */
function agentOf(execute: () => unknown): Agent {
  const asks = respond(say(words(20)), call('look', { city: 'Turin', days: 3 }, { deltas: 5 }))
  const answers = respond(say(words(25)))
  const model: Model = {
    provider: 'none',
    id: 'none',
    stream: (request) => scriptedModel([request.messages.length === 1 ? asks : answers]).stream(request),
  }
  const input = z.object({ city: z.string(), days: z.number() })
  return createAgent({ model, tools: [tool({ name: 'look', description: 'Looks.', input, execute })] })
}

function words(count: number): string {
  return Array.from({ length: count }, () => 'word').join(' ')
}

async function inTurn(agent: Agent, runs: number): Promise<void> {
  for (let run = 0; run < runs; run++) await read(agent)
}

async function together(agent: Agent, runs: number): Promise<void> {
  await Promise.all(Array.from({ length: runs }, () => read(agent)))
}

/** With a reader, as an application has one. */
async function read(agent: Agent): Promise<void> {
  let deltas = 0
  for await (const event of agent.stream('How is the weather?')) if ('delta' in event) deltas++
  if (deltas !== 50) throw new Error(`${deltas} deltas`)
}

/** Per second of the processor's time: what else the machine does is no cost of ours. */
async function perSecond(work: () => Promise<void>): Promise<number> {
  const start = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(start)
  return (AT_ONCE / (user + system)) * 1e6
}

/** What is only weakly held goes between turns. */
async function heap(): Promise<number> {
  for (let time = 0; time < 5; time++) {
    globalThis.gc?.()
    await turn()
  }
  return process.memoryUsage().heapUsed
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
